//! How tasks come into queues and from one to another (Linux 7.3, kernel/sched/ext.c).

use super::abi::{
    DSQ_BUILTIN, DSQ_GLOBAL, DSQ_INVALID, DSQ_LOCAL, DSQ_LOCAL_ON, EEXIST, EINVAL, ENOENT, ENQ_DSQ_PRIQ,
    ENQ_HEAD, ENQ_PREEMPT, OPS_ENQ_EXITING, PF_EXITING, SLICE_DFL_NS,
};
use super::core::{Context, Core, Dispatched, NONE, call};
use super::dsq::{Dsq, DsqPosition};
use super::instructions::{BY_VTIME, THROUGH_A_GLOBAL_QUEUE, THROUGH_A_QUEUE};
use crate::kernel::{Kernel, RunState};
use std::collections::BTreeMap;

impl Core {
    /// The table's place of a scheduler's queue.
    #[inline]
    pub(super) fn user_dsq(&self, id: u64) -> Option<u32> {
        match self.small_dsq_ids.get(id as usize) {
            Some(place) if id < self.small_dsq_ids.len() as u64 => (*place != NONE).then_some(*place),
            _ => self.dsq_ids.get(&id).copied(),
        }
    }

    /// `scx_bpf_create_dsq`.
    pub(super) fn create_dsq(&mut self, id: u64) -> i32 {
        if id & DSQ_BUILTIN != 0 {
            return -EINVAL;
        }
        if self.user_dsq(id).is_some() {
            return -EEXIST;
        }
        self.dsqs.push(Dsq::new(id));
        let place = self.dsqs.len() as u32 - 1;
        match self.small_dsq_ids.get_mut(id as usize) {
            Some(small) => *small = place,
            None => drop(self.dsq_ids.insert(id, place)),
        }
        0
    }

    /// `scx_bpf_destroy_dsq`. Its place in the table stays empty.
    pub(super) fn destroy_dsq(&mut self, id: u64) {
        let Some(place) = self.user_dsq(id) else { return };
        if self.dsqs[place as usize].len() > 0 {
            self.fail(format!("attempting to destroy in-use dsq {id:#018x}"));
            return;
        }
        match self.small_dsq_ids.get_mut(id as usize) {
            Some(small) => *small = NONE,
            None => drop(self.dsq_ids.remove(&id)),
        }
    }

    /// The queue that an id means for a CPU (`find_dsq_for_dispatch`), or an error.
    #[inline]
    pub(super) fn find_dsq(&mut self, id: u64, local_cpu: u32) -> Option<u32> {
        if id == DSQ_LOCAL {
            return Some(local_cpu);
        }
        if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            let cpu = id as u32;
            if !self.is_cpu(cpu) {
                self.fail(format!("invalid CPU {}", cpu as i32));
                return None;
            }
            return Some(cpu);
        }
        if id == DSQ_GLOBAL {
            return Some(self.global_dsq(local_cpu));
        }
        let found = self.user_dsq(id);
        if found.is_none() {
            self.fail(format!("non-existent DSQ {id:#x}"));
        }
        found
    }

    fn global_dsq(&self, cpu: u32) -> u32 {
        self.cpus.len() as u32 + self.cpus[cpu as usize].node
    }

    /// How many tasks wait in a queue (`scx_bpf_dsq_nr_queued`).
    #[inline]
    pub(super) fn dsq_nr_queued(&self, id: u64) -> i32 {
        let place = if id == DSQ_LOCAL {
            Some(self.this_cpu)
        } else if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            Some(id as u32).filter(|cpu| self.is_cpu(*cpu))
        } else if id == DSQ_GLOBAL {
            Some(self.global_dsq(self.this_cpu))
        } else {
            self.user_dsq(id)
        };
        place.map_or(-ENOENT, |place| self.dsqs[place as usize].len() as i32)
    }

    /// Takes a task out of its queue, if it is in one (`dispatch_dequeue`).
    #[inline]
    pub(super) fn leave_dsq(&mut self, task: u32) {
        let state = &mut self.tasks[task as usize];
        let dsq = std::mem::replace(&mut state.dsq, NONE);
        if dsq != NONE {
            let place = state.place;
            self.dsqs[dsq as usize].remove(place);
        }
    }

    /// Puts a task into a queue (`dispatch_enqueue`).
    pub(super) fn join_dsq(&mut self, task: u32, dsq: u32, flags: u64, vtime: u64) {
        let is_local = (dsq as usize) < self.cpus.len();
        let queue = &mut self.dsqs[dsq as usize];
        if !is_local {
            let is_own = queue.id & DSQ_BUILTIN == 0;
            self.instructions += if is_own { THROUGH_A_QUEUE } else { THROUGH_A_GLOBAL_QUEUE };
        }
        let place = if flags & ENQ_DSQ_PRIQ != 0 {
            if queue.id & DSQ_BUILTIN != 0 {
                self.fail("cannot use vtime ordering for built-in DSQs".to_owned());
                return self.join_dsq(task, dsq, flags & !ENQ_DSQ_PRIQ, 0);
            }
            if queue.is_fifo() {
                let id = queue.id;
                self.fail(format!("DSQ ID {id:#018x} already had FIFO-enqueued tasks"));
            }
            self.shown_mut(task).scx.dsq_vtime = vtime;
            self.instructions += BY_VTIME;
            self.dsqs[dsq as usize].insert_by_vtime(task, vtime)
        } else {
            if queue.is_by_vtime() {
                let id = queue.id;
                self.fail(format!("DSQ ID {id:#018x} already had PRIQ-enqueued tasks"));
            }
            let queue = &mut self.dsqs[dsq as usize];
            if flags & (ENQ_HEAD | ENQ_PREEMPT) == 0 { queue.push_back(task) } else { queue.push_front(task) }
        };
        let state = &mut self.tasks[task as usize];
        state.dsq = dsq;
        state.place = place;
        state.ddsp_dsq = DSQ_INVALID;
        state.in_custody = false;
        if is_local {
            self.joined_local(task, dsq, flags);
        }
    }

    /// A task has come into a CPU's own queue. The CPU looks at once if it is idle, or if the task is to take its place.
    #[inline]
    fn joined_local(&mut self, task: u32, cpu: u32, flags: u64) {
        self.shown_mut(task).cpu = cpu;
        let curr = self.cpus[cpu as usize].curr;
        if curr == NONE {
            self.resched(cpu);
        } else if flags & ENQ_PREEMPT != 0 && curr != task {
            self.shown_mut(curr).scx.slice = 0;
            self.resched(cpu);
        }
    }

    /// Makes a CPU look again (`resched_curr`).
    #[inline]
    pub(super) fn resched(&mut self, cpu: u32) {
        let state = &mut self.cpus[cpu as usize];
        if !std::mem::replace(&mut state.resched, true) {
            self.kicks.push((cpu, 0));
        }
    }

    /// Queues a task that can run (`do_enqueue_task`).
    pub(super) fn enqueue_task(&mut self, task: u32, cpu: u32, flags: u64) {
        if self.tasks[task as usize].ddsp_dsq != DSQ_INVALID {
            return self.direct_dispatch(task, cpu, flags);
        }
        let exits = self.shown(task).flags & PF_EXITING != 0 && self.ops.flags & OPS_ENQ_EXITING == 0;
        let shown = self.tasks[task as usize].shown;
        if self.error.is_some() || exits {
            self.shown_mut(task).scx.slice = SLICE_DFL_NS;
            return self.join_dsq(task, cpu, flags, 0);
        }
        let context = std::mem::replace(&mut self.context, Context::Enqueue(task));
        let had_it = call!(self, enqueue, shown, flags).is_some();
        self.context = context;
        if self.tasks[task as usize].ddsp_dsq != DSQ_INVALID {
            self.direct_dispatch(task, cpu, flags);
        } else if self.error.is_some() {
            // What has failed meanwhile keeps no task.
            self.shown_mut(task).scx.slice = SLICE_DFL_NS;
            self.join_dsq(task, cpu, 0, 0);
        } else if had_it {
            self.tasks[task as usize].in_custody = true;
        } else {
            self.shown_mut(task).scx.slice = SLICE_DFL_NS;
            let global = self.global_dsq(cpu);
            self.join_dsq(task, global, flags & !ENQ_PREEMPT, 0);
        }
    }

    fn direct_dispatch(&mut self, task: u32, cpu: u32, flags: u64) {
        let state = &mut self.tasks[task as usize];
        let (id, vtime) = (state.ddsp_dsq, state.ddsp_vtime);
        let flags = flags | state.ddsp_flags;
        state.ddsp_dsq = DSQ_INVALID;
        let dsq = self.find_dsq(id, cpu).filter(|dsq| self.can_be_local_to(task, *dsq, cpu));
        let dsq = dsq.unwrap_or(self.global_dsq(cpu));
        self.join_dsq(task, dsq, flags, vtime);
    }

    /// Whether a task may come into a queue; it must be allowed on another CPU's own (`task_can_run_on_remote_rq`).
    fn can_be_local_to(&mut self, task: u32, dsq: u32, from: u32) -> bool {
        if dsq as usize >= self.cpus.len() || dsq == from || self.may_use(task, dsq) {
            return true;
        }
        let pid = self.shown(task).pid;
        self.fail(format!("SCX_DSQ_LOCAL[_ON] cannot move task {pid} from CPU {from} to {dsq}"));
        false
    }

    /// `scx_bpf_dsq_insert` and `scx_bpf_dsq_insert_vtime`.
    #[inline]
    pub(super) fn insert(&mut self, task: u32, dsq: u64, slice: u64, flags: u64, vtime: u64) -> bool {
        let shown = self.shown_mut(task);
        if slice != 0 {
            shown.scx.slice = slice;
        } else if shown.scx.slice == 0 {
            shown.scx.slice = 1;
        }
        match self.context {
            Context::SelectCpu(own) | Context::Enqueue(own) => {
                if own != task || self.tasks[task as usize].ddsp_dsq != DSQ_INVALID {
                    let pid = self.shown(task).pid;
                    let what = if own == task { "already direct-dispatched" } else { "not the task at hand" };
                    self.fail(format!("scx_bpf_dsq_insert: task {pid} is {what}"));
                    return false;
                }
                let state = &mut self.tasks[task as usize];
                state.ddsp_dsq = dsq;
                state.ddsp_flags = flags;
                state.ddsp_vtime = vtime;
                true
            }
            Context::Dispatch(_) => {
                if self.dispatched.len() >= self.most_dispatched() {
                    self.fail("dispatch buffer overflow".to_owned());
                    return false;
                }
                self.dispatched.push(Dispatched { task, dsq, flags, vtime });
                true
            }
            Context::Other => {
                self.fail("scx_bpf_dsq_insert may not be called from this callback".to_owned());
                false
            }
        }
    }

    /// How many tasks `dispatch` may put somewhere at once.
    pub(super) fn most_dispatched(&self) -> usize {
        if self.ops.dispatch_max_batch == 0 { 32 } else { self.ops.dispatch_max_batch as usize }
    }

    /// Puts the tasks where `dispatch` wanted them (`flush_dispatch_buf`).
    pub(super) fn flush_dispatched(&mut self, cpu: u32) {
        let mut at = 0;
        while let Some(entry) = self.dispatched.get(at).copied() {
            at += 1;
            self.dispatches += 1;
            // A task that is not the scheduler's any more, or is named twice, is left alone.
            if !self.tasks[entry.task as usize].in_custody {
                continue;
            }
            let from = self.shown(entry.task).cpu;
            let dsq =
                self.find_dsq(entry.dsq, cpu).filter(|dsq| self.can_be_local_to(entry.task, *dsq, from));
            let dsq = dsq.unwrap_or(self.global_dsq(from));
            self.join_dsq(entry.task, dsq, entry.flags, entry.vtime);
        }
        self.dispatched.clear();
    }

    /// Moves the first task of a queue that may run on a CPU to the CPU's own (`consume_dispatch_q`).
    pub(super) fn consume(&mut self, dsq: u32, cpu: u32, flags: u64) -> bool {
        let mut place = None;
        loop {
            let queue = &self.dsqs[dsq as usize];
            let found = match place {
                None => queue.first(),
                after => queue.next(after, queue.end_seq(), false),
            };
            let Some((at, task)) = found else { return false };
            if self.may_use(task, cpu) {
                self.leave_dsq(task);
                self.join_dsq(task, cpu, flags & (ENQ_HEAD | ENQ_PREEMPT), 0);
                return true;
            }
            place = Some(at);
        }
    }

    /// Moves a task from the global queue of a CPU's node (`consume_global_dsq`).
    pub(super) fn consume_global(&mut self, cpu: u32) -> bool {
        let dsq = self.global_dsq(cpu);
        self.dsqs[dsq as usize].len() > 0 && self.consume(dsq, cpu, 0)
    }

    /// `scx_bpf_dsq_move_to_local`.
    pub(super) fn move_to_local(&mut self, id: u64, flags: u64) -> bool {
        let Context::Dispatch(cpu) = self.context else {
            self.fail("scx_bpf_dsq_move_to_local may only be called from dispatch".to_owned());
            return false;
        };
        self.flush_dispatched(cpu);
        let Some(dsq) = self.user_dsq(id) else {
            self.fail(format!("invalid DSQ ID {id:#018x}"));
            return false;
        };
        let moved = self.consume(dsq, cpu, flags);
        self.dispatches += usize::from(moved);
        moved
    }

    /// `scx_bpf_dsq_move` and `scx_bpf_dsq_move_vtime` of a task that an iteration over `from` has come to.
    pub(super) fn move_between(
        &mut self,
        task: u32,
        from: u32,
        end_seq: i64,
        to: u64,
        flags: u64,
        vtime: Option<u64>,
    ) -> bool {
        let state = &self.tasks[task as usize];
        if state.dsq != from || state.place.seq >= end_seq {
            return false;
        }
        let cpu = self.shown(task).cpu;
        let Some(dsq) = self.find_dsq(to, self.this_cpu) else { return false };
        if !self.can_be_local_to(task, dsq, cpu) {
            return false;
        }
        let flags = flags & !ENQ_DSQ_PRIQ | if vtime.is_some() { ENQ_DSQ_PRIQ } else { 0 };
        self.leave_dsq(task);
        self.join_dsq(task, dsq, flags, vtime.unwrap_or(0));
        true
    }

    /// The task after a place of a queue.
    pub(super) fn after(
        &self,
        dsq: u32,
        place: Option<DsqPosition>,
        end_seq: i64,
        backwards: bool,
    ) -> Option<(DsqPosition, u32)> {
        self.dsqs[dsq as usize].next(place, end_seq, backwards)
    }

    /// Where runnable tasks are that no CPU takes: in no queue, or in one of the scheduler's that idle CPUs pass by.
    pub(super) fn lost_tasks(&self, kernel: &Kernel) -> Option<String> {
        let runnable = (0..self.tasks.len()).filter(|task| kernel.state(*task) == RunState::Queued);
        let (mut nowhere, mut queued) = (0_u64, BTreeMap::new());
        for task in runnable {
            match self.tasks[task].dsq {
                NONE => nowhere += 1,
                dsq => *queued.entry(dsq).or_insert(0_u64) += 1,
            }
        }
        if nowhere > 0 {
            let are = tasks_are(nowhere);
            return Some(format!(
                "{are} in no dispatch queue: neither ops.enqueue() nor ops.dispatch() put them into one"
            ));
        }
        let idle = self.ids.iter().any(|id| self.cpus[*id as usize].curr == NONE);
        let own = queued.into_iter().find(|(dsq, _)| self.dsqs[*dsq as usize].id & DSQ_BUILTIN == 0 && idle);
        own.map(|(dsq, count)| {
            let (are, id) = (tasks_are(count), self.dsqs[dsq as usize].id);
            format!("{are} in dispatch queue {id:#x}, from which ops.dispatch() takes none for an idle CPU")
        })
    }
}

fn tasks_are(count: u64) -> String {
    if count == 1 { "1 runnable task is".to_owned() } else { format!("{count} runnable tasks are") }
}
