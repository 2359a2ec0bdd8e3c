//! What runs, and for how long (Linux 7.3, kernel/sched/ext.c: `balance_one`, `pick_task_scx`, `put_prev_task_scx` and those next to them).

use super::abi::{
    CgroupInitArgs, DEQ_SLEEP, ENQ_CPU_SELECTED, ENQ_HEAD, ENQ_LAST, ENQ_WAKEUP, EXIT_ERROR_BPF, EXIT_UNREG,
    EXIT_UNREG_BPF, ExitInfo, ExitTaskArgs, InitTaskArgs, OPS_ENQ_LAST, PF_EXITING, SLICE_DFL_NS, SLICE_INF,
    TASK_DEQD_FOR_SLEEP, TASK_QUEUED, WAKE_FORK,
};
use super::core::{Context, Core, NONE, call};
use std::ffi::CString;

/// How often `dispatch` may be called until it gives something (`SCX_DSP_MAX_LOOPS`).
const DISPATCH_LOOPS: u32 = 32;

/// Timers that may ring at the same nanosecond. Thousands of CPUs may each have one.
const MOST_RINGS: u32 = 1 << 20;

/// What a CPU is to do next.
enum Next {
    Keep,
    Task(u32),
    Nothing,
}

impl Core {
    /// The scheduler starts (`ops.init`).
    pub(super) fn init(&mut self) {
        if let Some(status) = call!(self, init)
            && status != 0
        {
            self.fail(format!("ops.init() failed ({status})"));
        }
        let cgroup = self.root_cgroup();
        // The weight and the period that a group has by itself.
        let mut arguments =
            CgroupInitArgs { weight: 100, bw_period_us: 100_000, bw_quota_us: u64::MAX, bw_burst_us: 0 };
        let arguments = &raw mut arguments;
        if let Some(status) = call!(self, cgroup_init, cgroup, arguments)
            && status != 0
        {
            self.fail(format!("ops.cgroup_init() failed ({status})"));
        }
    }

    /// The scheduler ends (`ops.exit`).
    pub(super) fn exit(&mut self) {
        if std::mem::replace(&mut self.exited, true) {
            return;
        }
        let Some(exit) = self.ops.exit else { return };
        let text = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
        let kind = if self.exit_kind == 0 { EXIT_UNREG } else { self.exit_kind };
        let reason = text(match kind {
            EXIT_ERROR_BPF => "scx_bpf_error",
            EXIT_UNREG_BPF => "unregistered from BPF",
            _ => "unregistered from user space",
        });
        let (message, dump) = (text(self.error.as_deref().unwrap_or("")), CString::default());
        let mut info = ExitInfo {
            kind,
            exit_cpu: self.this_cpu as i32,
            exit_code: self.exit_code,
            reason: reason.as_ptr(),
            bt: std::ptr::null_mut(),
            bt_len: 0,
            msg: message.as_ptr().cast_mut(),
            dump: dump.as_ptr().cast_mut(),
        };
        self.context = Context::Other;
        let info = &raw mut info;
        // SAFETY: the object has this layout; the texts outlive the call, and nothing here uses the core before it returns.
        let _ = unsafe { self.guarded("ops.exit", || exit(info)) };
    }

    /// The scheduler hears of a task (`scx_init_task`, `scx_enable_task`). `fork`: it was made while the scheduler ran.
    pub(super) fn introduce(&mut self, task: u32, fork: bool) {
        let shown = self.tasks[task as usize].shown;
        let mut arguments = InitTaskArgs { fork, cgroup: self.root_cgroup() };
        let arguments = &raw mut arguments;
        if let Some(status) = call!(self, init_task, shown, arguments)
            && status != 0
        {
            let pid = self.shown(task).pid;
            self.fail(format!("ops.init_task() failed ({status}) for task {pid}"));
        }
        call!(self, enable, shown);
        let weight = self.shown(task).scx.weight;
        call!(self, set_weight, shown, weight);
        if !fork {
            let allowed = self.shown(task).cpus_ptr;
            call!(self, set_cpumask, shown, allowed);
        }
    }

    /// Chooses a CPU (`select_task_rq`, `select_task_rq_scx`).
    pub(super) fn select_cpu(&mut self, task: u32, prev_cpu: u32, wake_flags: u64) -> u32 {
        self.tasks[task as usize].ddsp_dsq = super::abi::DSQ_INVALID;
        self.shown_mut(task).scx.selected_cpu = -1;
        let mut chosen = prev_cpu;
        if self.shown(task).nr_cpus_allowed > 1 && self.error.is_none() {
            let shown = self.tasks[task as usize].shown;
            self.shown_mut(task).scx.selected_cpu = prev_cpu as i32;
            self.context = Context::SelectCpu(task);
            let answer = call!(self, select_cpu, shown, prev_cpu as i32, wake_flags);
            self.context = Context::Other;
            match answer {
                Some(cpu) if cpu >= 0 && self.is_cpu(cpu as u32) => chosen = cpu as u32,
                Some(cpu) => self.fail(format!("invalid CPU {cpu} from ops.select_cpu()")),
                None if self.error.is_none() => {
                    if let Ok(cpu) = self.select_cpu_dfl(task, prev_cpu as i32, wake_flags, None, 0) {
                        self.shown_mut(task).scx.slice = SLICE_DFL_NS;
                        self.tasks[task as usize].ddsp_dsq = super::abi::DSQ_LOCAL;
                        self.tasks[task as usize].ddsp_flags = 0;
                        chosen = cpu;
                    }
                }
                None => {}
            }
            self.shown_mut(task).scx.selected_cpu = chosen as i32;
        }
        if !self.may_use(task, chosen) {
            // select_fallback_rq, Linux kernel/sched/core.c.
            let allowed = |cpu: &u32| self.is_cpu(*cpu) && self.may_use(task, *cpu);
            chosen = (0..self.cpus.len() as u32).find(allowed).unwrap_or(chosen);
        }
        let shown = self.shown_mut(task);
        shown.cpu = chosen;
        shown.wake_cpu = chosen as i32;
        chosen
    }

    /// A task that starts or wakes comes to a CPU (`enqueue_task_scx`).
    pub(super) fn wake_up(&mut self, task: u32, cpu: u32, wake_flags: u64) {
        let selected = self.shown(task).scx.selected_cpu >= 0;
        let flags = if wake_flags & WAKE_FORK != 0 {
            0
        } else {
            ENQ_WAKEUP | if selected { ENQ_CPU_SELECTED } else { 0 }
        };
        let shown = self.shown_mut(task);
        shown.cpu = cpu;
        shown.state = 0;
        shown.on_rq = 1;
        shown.scx.flags = shown.scx.flags & !TASK_DEQD_FOR_SLEEP | TASK_QUEUED;
        self.begin_to_wait(task);
        self.count_running(cpu, 1);
        let shown = self.tasks[task as usize].shown;
        call!(self, runnable, shown, flags);
        self.enqueue_task(task, cpu, flags);
    }

    /// The running or queued task of a CPU sleeps or ends (`dequeue_task_scx`).
    pub(super) fn sleep(&mut self, task: u32, ends: bool) {
        let cpu = self.shown(task).cpu;
        let shown = self.tasks[task as usize].shown;
        if ends {
            self.shown_mut(task).flags |= PF_EXITING;
            self.ended.push(task);
        }
        if std::mem::take(&mut self.tasks[task as usize].in_custody) {
            call!(self, dequeue, shown, DEQ_SLEEP);
        }
        if self.cpus[cpu as usize].curr == task {
            self.charge(cpu);
            call!(self, stopping, shown, false);
        }
        call!(self, quiescent, shown, DEQ_SLEEP);
        self.end_of_wait(task, self.now_ns);
        self.leave_dsq(task);
        self.count_running(cpu, -1);
        let shown = self.shown_mut(task);
        shown.scx.flags = shown.scx.flags & !TASK_QUEUED | TASK_DEQD_FOR_SLEEP;
        shown.on_rq = 0;
        shown.state = if ends { 0x80 } else { 1 };
    }

    /// `sched_info_enqueue`, Linux kernel/sched/stats.h.
    fn begin_to_wait(&mut self, task: u32) {
        let now_ns = self.now_ns;
        let info = &mut self.shown_mut(task).sched_info;
        if info.last_queued == 0 {
            info.last_queued = now_ns;
        }
    }

    /// `sched_info_dequeue`.
    fn end_of_wait(&mut self, task: u32, now_ns: u64) {
        let info = &mut self.shown_mut(task).sched_info;
        if info.last_queued != 0 {
            info.run_delay += now_ns.saturating_sub(std::mem::take(&mut info.last_queued));
        }
    }

    fn count_running(&mut self, cpu: u32, change: i32) {
        let rq = &mut self.rqs[cpu as usize];
        rq.nr_running = rq.nr_running.saturating_add_signed(change);
        rq.scx_nr_running = rq.nr_running;
    }

    /// Charges the running task of a CPU for its time (`update_curr_scx`).
    pub(super) fn charge(&mut self, cpu: u32) {
        let curr = self.cpus[cpu as usize].curr;
        if curr == NONE {
            return;
        }
        // It may still be about to start.
        let now_ns = self.now_ns.max(self.tasks[curr as usize].exec_start_ns);
        let ran_ns = now_ns - std::mem::replace(&mut self.tasks[curr as usize].exec_start_ns, now_ns);
        let shown = self.shown_mut(curr);
        shown.se.exec_start = now_ns;
        shown.se.sum_exec_runtime += ran_ns;
        shown.utime += ran_ns;
        if shown.scx.slice != SLICE_INF {
            shown.scx.slice = shown.scx.slice.saturating_sub(ran_ns);
        }
    }

    /// A tick (`task_tick_scx`). Whether the slice is over.
    pub(super) fn tick(&mut self, cpu: u32, task: u32) -> bool {
        self.charge(cpu);
        let shown = self.tasks[task as usize].shown;
        call!(self, tick, shown);
        self.shown(task).scx.slice == 0
    }

    /// The running task lets others run (`yield_task_scx`).
    pub(super) fn yield_now(&mut self, task: u32) {
        let shown = self.tasks[task as usize].shown;
        if call!(self, yield_, shown, std::ptr::null_mut()).is_none() {
            self.shown_mut(task).scx.slice = 0;
        }
    }

    /// Chooses what runs next; what ran before has been put into `prev` of the CPU. `None` is nothing. The choice comes `delay_ns` after the event.
    /// So a slice of five ticks that began behind a tick ends with the sixth.
    pub(super) fn pick(&mut self, cpu: u32, delay_ns: u64) -> Option<u32> {
        let prev = std::mem::replace(&mut self.cpus[cpu as usize].prev, NONE);
        self.cpus[cpu as usize].resched = false;
        let prev_queued = prev != NONE && self.shown(prev).scx.flags & TASK_QUEUED != 0;
        let next = match self.balance(cpu, prev, prev_queued) {
            Next::Keep => {
                let shown = self.shown_mut(prev);
                if shown.scx.slice == 0 {
                    shown.scx.slice = SLICE_DFL_NS;
                }
                self.set_curr(cpu, prev);
                return Some(prev);
            }
            Next::Task(task) => task,
            Next::Nothing => NONE,
        };
        if prev_queued {
            self.put_prev(cpu, prev, next == NONE);
            self.begin_to_wait(prev);
        }
        self.set_curr(cpu, next);
        if next == NONE {
            self.become_idle(cpu);
        } else {
            self.set_next(cpu, next, delay_ns);
        }
        if prev != NONE && prev != next {
            // `switch_count` of `__schedule`, after the choice.
            let shown = self.shown_mut(prev);
            *(if prev_queued { &mut shown.nivcsw } else { &mut shown.nvcsw }) += 1;
        }
        self.bury();
        (next != NONE).then_some(next)
    }

    /// Finds what a CPU can run (`balance_one`).
    fn balance(&mut self, cpu: u32, prev: u32, prev_queued: bool) -> Next {
        if prev != NONE {
            self.charge(cpu);
            if prev_queued && self.shown(prev).scx.slice != 0 && self.error.is_none() {
                return Next::Keep;
            }
        }
        let prev_shown = match prev {
            NONE => std::ptr::null_mut(),
            prev => self.tasks[prev as usize].shown,
        };
        if let Some(task) = self.first_local(cpu) {
            return Next::Task(task);
        }
        for turn in 1.. {
            self.context = Context::Dispatch(cpu);
            self.dispatches = 0;
            let had_it = call!(self, dispatch, cpu as i32, prev_shown).is_some();
            self.flush_dispatched(cpu);
            self.context = Context::Other;
            if !had_it {
                break;
            }
            if prev_queued && self.shown(prev).scx.slice != 0 {
                return Next::Keep;
            }
            if let Some(task) = self.first_local(cpu) {
                return Next::Task(task);
            }
            if turn == DISPATCH_LOOPS {
                self.kicks.push((cpu, 0));
                break;
            }
            // Tasks that were dispatched went elsewhere: ask again, unless there were none.
            if self.dispatches == 0 {
                break;
            }
        }
        if prev_queued && self.ops.flags & OPS_ENQ_LAST == 0 { Next::Keep } else { Next::Nothing }
    }

    /// The first task of a CPU's own queue, or else of the global one.
    #[inline]
    fn first_local(&mut self, cpu: u32) -> Option<u32> {
        if self.dsqs[cpu as usize].len() == 0 && !self.consume_global(cpu) {
            return None;
        }
        self.dsqs[cpu as usize].first().map(|(_, task)| task)
    }

    /// The task before goes back into a queue (`put_prev_task_scx`).
    fn put_prev(&mut self, cpu: u32, prev: u32, nothing_else: bool) {
        let shown = self.tasks[prev as usize].shown;
        call!(self, stopping, shown, true);
        if self.shown(prev).scx.slice != 0 && self.error.is_none() {
            return self.join_dsq(prev, cpu, ENQ_HEAD, 0);
        }
        self.enqueue_task(prev, cpu, if nothing_else { ENQ_LAST } else { 0 });
    }

    /// A task begins to run (`set_next_task_scx`).
    fn set_next(&mut self, cpu: u32, task: u32, delay_ns: u64) {
        self.leave_dsq(task);
        if self.cpus[cpu as usize].is_idle {
            self.cpus[cpu as usize].is_idle = false;
            self.tell_idle(cpu, false);
        }
        let start_ns = self.now_ns + delay_ns;
        self.tasks[task as usize].exec_start_ns = start_ns;
        let shown = self.shown_mut(task);
        if shown.scx.slice == 0 {
            shown.scx.slice = SLICE_DFL_NS;
        }
        shown.se.exec_start = start_ns;
        shown.cpu = cpu;
        let shown = self.tasks[task as usize].shown;
        call!(self, running, shown);
        // `sched_info_arrive`, as the CPU switches.
        self.end_of_wait(task, start_ns);
        let info = &mut self.shown_mut(task).sched_info;
        info.pcount += 1;
        info.last_arrival = start_ns;
    }

    fn become_idle(&mut self, cpu: u32) {
        if self.cpus[cpu as usize].is_idle {
            // It was claimed, and then there was nothing for it.
            if self.idle.is_kept {
                self.idle.update(cpu, true);
            }
        } else {
            self.cpus[cpu as usize].is_idle = true;
            self.tell_idle(cpu, true);
        }
    }

    /// Calls the timers that ring now.
    pub(super) fn ring(&mut self) {
        let mut rung = 0;
        while let Some(timer) = self.timers.take(self.now_ns) {
            let (callback, map, mut key, value) = (timer.callback, timer.map, timer.key.clone(), timer.value);
            self.this_cpu = timer.cpu;
            let Some(callback) = callback.filter(|_| self.error.is_none()) else { continue };
            rung += 1;
            if rung > MOST_RINGS {
                self.fail("a bpf_timer starts itself again and again without any time between".to_owned());
                return;
            }
            let key = key.as_mut_ptr().cast();
            // SAFETY: the scheduler has set it, with this type; nothing here uses the core before it returns.
            let _ = unsafe { self.guarded("a bpf_timer's callback", || callback(map, key, value.cast())) };
            // It may have changed slices, which end at other ticks then.
            let running = |cpu: &u32| self.cpus[*cpu as usize].curr != NONE;
            let running: Vec<u32> = (0..self.cpus.len() as u32).filter(running).collect();
            self.rearm.extend(running);
        }
    }

    /// `__scx_update_idle`.
    fn tell_idle(&mut self, cpu: u32, idle: bool) {
        if self.idle.is_kept {
            self.idle.update(cpu, idle);
        }
        call!(self, update_idle, cpu as i32, idle);
    }

    /// The scheduler hears of tasks that have ended (`sched_ext_free`).
    fn bury(&mut self) {
        while let Some(task) = self.ended.pop() {
            let shown = self.tasks[task as usize].shown;
            call!(self, disable, shown);
            let mut arguments = ExitTaskArgs { cancelled: false };
            let arguments = &raw mut arguments;
            call!(self, exit_task, shown, arguments);
            for map in self.maps.clone() {
                // SAFETY: maps live as long as the core, and the scheduler's code does not run now.
                unsafe { (*map).forget_task(task as usize) };
            }
        }
    }
}
