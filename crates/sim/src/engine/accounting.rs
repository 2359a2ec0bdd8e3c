//! Time: what each CPU did with it, and when its next event is.

use super::Engine;
use super::events::NEVER;
use crate::kernel::NONE;
use crate::policy::{Hook, Policy};
use crate::sink::Sink;

/// A run queue's lock: from when until when somebody has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueLock {
    from_ns: u64,
    until_ns: u64,
}

impl QueueLock {
    /// Takes the lock at a moment, for a time. How long one had to wait for it, ns.
    ///
    /// Events are handled in the order of their beginnings, so one may come here before another that is already entered: it finds the
    /// lock free.
    fn take_ns(&mut self, at_ns: u64, hold_ns: u64) -> u64 {
        if at_ns >= self.until_ns {
            *self = Self { from_ns: at_ns, until_ns: at_ns + hold_ns };
            return 0;
        }
        if at_ns < self.from_ns {
            return 0;
        }
        let wait_ns = self.until_ns - at_ns;
        self.until_ns += hold_ns;
        wait_ns
    }
}

impl<P: Policy, S: Sink> Engine<P, S> {
    /// A CPU begins to handle an event: its time is counted up to now.
    #[inline]
    pub(super) fn begin(&mut self, cpu: usize) {
        self.elapsed_ns = 0;
        self.spun_ns = 0;
        self.give_way = false;
        self.advance(cpu);
    }

    /// Counts a CPU's time and its task's work up to now.
    #[inline]
    pub(super) fn advance(&mut self, cpu: usize) {
        let now_ns = self.kernel.now_ns;
        let state = &mut self.kernel.cpus[cpu];
        if now_ns <= state.work_since_ns {
            return;
        }
        let passed_ns = now_ns - state.work_since_ns;
        let times = &mut self.tally.cpus[cpu];
        if state.current == NONE {
            times.idle_ns += passed_ns;
        } else {
            let stolen_ns = self.ticks.stolen_ns(state.work_since_ns, now_ns);
            times.tick_ns += stolen_ns;
            let useful_ns = passed_ns - stolen_ns;
            if state.spinning {
                times.barrier_ns += useful_ns;
            } else {
                times.run_ns += useful_ns;
                let task = &mut self.kernel.tasks[state.current as usize];
                let work = useful_ns * u64::from(state.speed);
                let done = work.min(task.remaining);
                task.remaining -= done;
                task.work += done;
            }
        }
        state.work_since_ns = now_ns;
    }

    /// When the handling CPU's kernel is at its present point, ns.
    #[inline]
    pub(super) fn kernel_ns(&self, cpu: usize) -> u64 {
        self.kernel.cpus[cpu].work_since_ns + self.elapsed_ns
    }

    /// The handling CPU has done with its event: what that took is charged, and its next event is set.
    #[inline]
    pub(super) fn settle(&mut self, cpu: usize) {
        if self.elapsed_ns > 0 {
            self.kernel.cpus[cpu].work_since_ns += self.elapsed_ns;
            let times = &mut self.tally.cpus[cpu];
            times.switch_ns += self.elapsed_ns - self.spun_ns;
            times.spin_ns += self.spun_ns;
            self.elapsed_ns = 0;
            self.spun_ns = 0;
        }
        self.arm(cpu);
    }

    /// Charges a hook of the scheduling class that works on the queue of `queue_cpu`.
    #[inline]
    pub(super) fn charge(&mut self, handler: usize, queue_cpu: usize, hook: Hook) {
        let family = self.policy.family();
        let ns = self.kernel.costs.hook_ns(family, hook);
        let tally = &mut self.tally.hooks[hook as usize];
        tally.calls += 1;
        if ns == 0 {
            return;
        }
        let hold_ns = ns * u64::from(self.kernel.costs.locked_per_mille[family as usize]) / 1000;
        let mut wait_ns = 0;
        if hold_ns > 0 {
            let at_ns = self.kernel.cpus[handler].work_since_ns + self.elapsed_ns;
            wait_ns = self.locks[queue_cpu].take_ns(at_ns, hold_ns);
        }
        tally.ns += ns + wait_ns;
        tally.spin_ns += wait_ns;
        self.elapsed_ns += ns + wait_ns;
        self.spun_ns += wait_ns;
    }

    /// Sets when the CPU's next event is.
    pub(super) fn arm(&mut self, cpu: usize) {
        let state = &self.kernel.cpus[cpu];
        let mut at_ns = state.kicked_at_ns.max(state.work_since_ns);
        if state.kicked_at_ns == NEVER {
            at_ns = NEVER;
        }
        if state.current != NONE {
            at_ns = at_ns.min(self.next_tick_ns(cpu));
            if !state.spinning {
                let remaining = self.kernel.tasks[state.current as usize].remaining;
                let need_ns = match state.speed {
                    1024 => remaining.div_ceil(1024),
                    speed => remaining.div_ceil(u64::from(speed)),
                };
                // Ticks only make it later.
                if state.work_since_ns.saturating_add(need_ns) < at_ns {
                    at_ns = at_ns.min(self.ticks.end_ns(state.work_since_ns, need_ns));
                }
            }
        }
        self.queue.set(cpu, at_ns);
    }

    /// The CPU's first tick that may decide something, ns.
    #[inline]
    fn next_tick_ns(&self, cpu: usize) -> u64 {
        let state = &self.kernel.cpus[cpu];
        let wanted_ns = if self.options.every_tick {
            0
        } else {
            let policy = self.policy.decision_at(&self.kernel, cpu, state.current as usize).unwrap_or(NEVER);
            policy.min(state.balance_at_ns)
        };
        if wanted_ns == NEVER {
            return NEVER;
        }
        let from_ns = wanted_ns.max(self.kernel.now_ns).max(state.work_since_ns);
        let at_ns = self.kernel.tick_at_or_after_ns(from_ns);
        if at_ns == state.last_tick_ns { at_ns + self.ticks.period.ns() } else { at_ns }
    }

    /// Charges what the running task's core does now at its present speed, for its other threads.
    pub(super) fn change_speeds(&mut self, cpu: usize) {
        if self.only_speed.is_some() {
            return;
        }
        if !self.smt {
            self.kernel.cpus[cpu].speed = self.speed_on(cpu);
            return;
        }
        for thread in self.kernel.machine.core(cpu) {
            if thread != cpu && self.kernel.cpus[thread].current != NONE {
                self.advance(thread);
            }
            let speed = self.speed_on(thread);
            if self.kernel.cpus[thread].speed != speed {
                self.kernel.cpus[thread].speed = speed;
                if thread != cpu {
                    self.arm(thread);
                }
            }
        }
    }
}
