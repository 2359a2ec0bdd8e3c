//! From one task to the next.

use super::Engine;
use super::events::NEVER;
use crate::hook::Hook;
use crate::kernel::{NONE, RunState};
use crate::machine::Distance;
use crate::policy::{Departure, Policy};
use crate::sink::{Sink, SwitchEvent};

impl<P: Policy, S: Sink> Engine<P, S> {
    /// The running task leaves the handling CPU, if any; the next one comes. `leaving` is why it cannot go on, if it cannot.
    pub(super) fn schedule(&mut self, cpu: usize, leaving: Option<Departure>) {
        let prev = self.kernel.current(cpu);
        let throttled = prev.is_some_and(|task| self.put_prev(cpu, task, leaving));
        self.need_resched = false;
        let mut next = self.pick(cpu);
        if next.is_none() && self.new_idle_balance(cpu) {
            next = self.pick(cpu);
        }
        // A policy that moves tasks itself may have kicked others.
        self.take_kicks();
        if let Some(task) = next {
            self.set_next(cpu, task, prev);
        }
        if prev == next {
            return;
        }
        let direct_ns = self.direct_ns(prev, next);
        self.elapsed_ns += direct_ns;
        match (prev, leaving) {
            (None, _) => self.stats.from_idle += 1,
            (Some(task), None) => {
                self.stats.involuntary += 1;
                self.kernel.tasks[task].involuntary += 1;
            }
            (Some(task), Some(_)) => {
                self.stats.voluntary += 1;
                self.kernel.tasks[task].voluntary += 1;
            }
        }
        self.sink.switch(SwitchEvent {
            at_ns: self.kernel.now_ns,
            cpu,
            prev,
            next,
            prev_runnable: leaving.is_none(),
            prev_throttled: throttled && leaving.is_none(),
            cost_ns: direct_ns,
        });
        if let Some(task) = next {
            self.refill(cpu, task);
        }
        self.change_speeds(cpu);
    }

    fn pick(&mut self, cpu: usize) -> Option<usize> {
        self.charge(cpu, cpu, Hook::PickNext);
        self.kernel.pick_delay_ns = self.elapsed_ns + self.ticks.left_ns(self.kernel.now_ns);
        let next = self.policy.pick_next(&mut self.kernel, cpu);
        self.charge_callbacks(Hook::PickNext);
        next
    }

    /// Whether a quota stops it.
    fn put_prev(&mut self, cpu: usize, task: usize, leaving: Option<Departure>) -> bool {
        // A quota that is used up binds the others of the group, too.
        let is_throttled = self.charge_quota(cpu, task) && self.throttle(cpu, task);
        let leaving = leaving.or(is_throttled.then_some(Departure::Throttle));
        if let Some(why) = leaving {
            self.charge(cpu, cpu, Hook::Dequeue);
            self.policy.dequeue(&mut self.kernel, cpu, task, why);
            self.charge_callbacks(Hook::Dequeue);
        }
        self.charge(cpu, cpu, Hook::PutPrev);
        self.policy.put_prev(&mut self.kernel, cpu, task, leaving.is_none());
        self.charge_callbacks(Hook::PutPrev);
        self.close_run(cpu, task);
        let state = &mut self.kernel.cpus[cpu];
        state.current = NONE;
        state.last_task = task as u32;
        if std::mem::take(&mut state.spinning) {
            // It will look again when it comes back.
            self.kernel.tasks[task].remaining = 0;
        }
        let state = &mut self.kernel.tasks[task];
        state.last_ran_ns = self.kernel.now_ns;
        state.queued_since_ns = self.kernel.now_ns;
        state.state = match leaving {
            None => RunState::Queued,
            Some(Departure::Exit) => RunState::Ended,
            Some(Departure::Throttle) => RunState::Throttled,
            Some(_) => RunState::Blocked,
        };
        if leaving.is_some() {
            self.count_runnable(cpu, -1);
            self.count_in_groups(task, false);
            self.return_quota(cpu, task);
        }
        is_throttled
    }

    fn set_next(&mut self, cpu: usize, task: usize, prev: Option<usize>) {
        let from = self.kernel.cpu_of(task);
        if from != cpu {
            self.count_runnable(from, -1);
            self.count_runnable(cpu, 1);
            self.kernel.tasks[task].cpu = cpu as u32;
        }
        let state = &mut self.kernel.cpus[cpu];
        state.current = task as u32;
        let comes_ns = self.kernel.now_ns;
        state.run_start_ns = comes_ns;
        self.begin_charging(cpu);
        let state = &mut self.kernel.tasks[task];
        state.state = RunState::Running;
        if prev != Some(task) {
            let waited_ns = comes_ns.saturating_sub(state.queued_since_ns);
            state.wait_ns += waited_ns;
            self.stats.waits.add(waited_ns);
            state.longest_wait_ns = state.longest_wait_ns.max(waited_ns);
        }
    }

    /// What the switch itself takes, ns.
    fn direct_ns(&self, prev: Option<usize>, next: Option<usize>) -> u64 {
        let costs = &self.kernel.costs;
        match (prev, next) {
            (Some(prev), Some(next)) => {
                if self.kernel.tasks[prev].process == self.kernel.tasks[next].process {
                    costs.thread_switch_ns
                } else {
                    costs.process_switch_ns
                }
            }
            _ => costs.idle_switch_ns,
        }
    }

    /// The caches are cold where another task has run meanwhile, or where the task has not been.
    fn refill(&mut self, cpu: usize, task: usize) {
        let state = &mut self.kernel.tasks[task];
        let before = std::mem::replace(&mut state.ran_on, cpu as u32);
        let moved = before != NONE && before as usize != cpu;
        if before != NONE && !moved && self.kernel.cpus[cpu].last_task == task as u32 {
            return;
        }
        let refills = state.refills;
        let mut ns =
            if refills { self.kernel.costs.refill_ns(self.task_states[task].working_set_bytes) } else { 0 };
        if moved {
            let distance = self.kernel.machine.distance(before as usize, cpu);
            debug_assert_ne!(distance, Distance::Same);
            self.stats.migrations[distance as usize] += 1;
            self.stats.tasks[task].migrations += 1;
            ns += self.kernel.costs.migration_ns(distance);
        }
        if ns > 0 {
            self.kernel.cpus[cpu].work_since_ns += ns;
            self.stats.cpus[cpu].refill_ns += ns;
        }
    }

    /// Counts a runnable task of a CPU more or less, and what follows from it.
    #[inline]
    pub(super) fn count_runnable(&mut self, cpu: usize, change: i32) {
        let kernel = &mut self.kernel;
        let runnable = kernel.cpus[cpu].runnable.wrapping_add_signed(change);
        kernel.cpus[cpu].runnable = runnable;
        match runnable {
            0 => {
                kernel.idle.insert(cpu);
                kernel.cpus[cpu].idle_since_ns = kernel.now_ns;
            }
            1 if change > 0 => {
                kernel.idle.remove(cpu);
                let state = &mut kernel.cpus[cpu];
                let idle_ns = kernel.now_ns.saturating_sub(state.idle_since_ns);
                // update_avg, Linux kernel/sched/core.c.
                let change = (idle_ns as i64 - state.average_idle_ns as i64) / 8;
                state.average_idle_ns = state.average_idle_ns.wrapping_add_signed(change);
            }
            _ => {}
        }
        if runnable >= 2 {
            kernel.overloaded.insert(cpu);
        } else {
            kernel.overloaded.remove(cpu);
        }
    }

    /// CPUs that the policy wants to look again.
    #[inline]
    pub(super) fn take_kicks(&mut self) {
        while let Some(cpu) = self.kernel.redecided.pop() {
            self.arm(cpu as usize);
        }
        if self.kernel.kicked.is_empty() {
            return;
        }
        let at_ns = self.kernel.now_ns + self.elapsed_ns + self.kernel.costs.ipi_ns;
        for place in 0..self.kernel.kicked.len() {
            let cpu = self.kernel.kicked[place] as usize;
            self.kick_at(cpu, at_ns);
        }
        self.kernel.kicked.clear();
    }

    /// An interrupt reaches a CPU at a time: it looks again for what to run.
    pub(super) fn kick_at(&mut self, cpu: usize, at_ns: u64) {
        let state = &mut self.kernel.cpus[cpu];
        if at_ns < state.kicked_at_ns {
            state.kicked_at_ns = at_ns;
            self.arm(cpu);
        }
    }

    /// Sets the next look for a better balance by ticks, where idle CPUs and full queues stand side by side.
    pub(super) fn want_idle_balance(&mut self) {
        let wanted = self.idle_balance_ns == NEVER
            && !self.kernel.overloaded.is_empty()
            && !self.kernel.idle.is_empty()
            && self.policy.balancing().periodic;
        if wanted {
            self.idle_balance_ns = self.kernel.tick_at_or_after_ns(self.kernel.now_ns + 1);
        }
    }
}
