//! Time: what each CPU did with it, and when its next event is.

use super::Engine;
use super::events::NEVER;
use crate::hook::Hook;
use crate::kernel::NONE;
use crate::policy::Policy;
use crate::sink::Sink;

/// A spin lock: the intervals in which it is held, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct SpinLock {
    taken: Vec<(u64, u64)>,
}

impl SpinLock {
    /// Takes the lock at a moment, for a time. How long one had to wait for it, ns.
    ///
    /// Events are handled in the order of their beginnings, so what comes here may be earlier than what is already entered. It takes the
    /// first gap that is long enough. Nothing comes any more before `now_ns`.
    fn take_ns(&mut self, now_ns: u64, at_ns: u64, hold_ns: u64) -> u64 {
        self.taken.retain(|(_, until_ns)| *until_ns > now_ns);
        let mut from_ns = at_ns;
        let mut place = 0;
        while let Some((begins_ns, until_ns)) = self.taken.get(place).copied() {
            if from_ns + hold_ns <= begins_ns {
                break;
            }
            from_ns = from_ns.max(until_ns);
            place += 1;
        }
        // A CPU's hooks follow one another: one stretch.
        if place > 0 && self.taken[place - 1].1 == from_ns {
            self.taken[place - 1].1 += hold_ns;
        } else {
            self.taken.insert(place, (from_ns, from_ns + hold_ns));
        }
        from_ns - at_ns
    }
}

impl<P: Policy, S: Sink> Engine<P, S> {
    /// A CPU begins to handle an event: its time is counted up to now.
    #[inline]
    pub(super) fn begin(&mut self, cpu: usize) {
        self.elapsed_ns = 0;
        self.spun_ns = 0;
        self.need_resched = false;
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
        let times = &mut self.stats.cpus[cpu];
        if state.current == NONE {
            times.idle_ns += passed_ns;
        } else {
            let stolen_ns = self.ticks.stolen_ns(state.work_since_ns, now_ns);
            times.tick_ns += stolen_ns;
            let useful_ns = passed_ns - stolen_ns;
            if state.spinning {
                times.barrier_ns += useful_ns;
            } else {
                let task = &mut self.kernel.tasks[state.current as usize];
                let work = useful_ns * u64::from(state.speed);
                let done = work.min(task.remaining);
                task.remaining -= done;
                // Messages from afar count as a refill: the work itself is the same wherever others ran.
                let mut distant = 0;
                if self.any_distant {
                    let left = &mut self.task_states[state.current as usize].distant;
                    distant = done.min(*left);
                    *left -= distant;
                }
                task.work += done - distant;
                let distant_ns = distant / u64::from(state.speed.max(1));
                times.run_ns += useful_ns - distant_ns;
                times.refill_ns += distant_ns;
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
    pub(super) fn update_curr(&mut self, cpu: usize) {
        if self.elapsed_ns > 0 {
            self.kernel.cpus[cpu].work_since_ns += self.elapsed_ns;
            let times = &mut self.stats.cpus[cpu];
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
        self.stats.hooks[hook as usize].calls += 1;
        if ns == 0 {
            return;
        }
        let hold_ns = ns * u64::from(self.kernel.costs.locked_per_mille[family as usize]) / 1000;
        let mut wait_ns = 0;
        if hold_ns > 0 {
            let at_ns = self.kernel_ns(handler);
            wait_ns = self.locks[queue_cpu].take_ns(self.kernel.now_ns, at_ns, hold_ns);
        }
        let stats = &mut self.stats.hooks[hook as usize];
        stats.ns += ns + wait_ns;
        stats.spin_ns += wait_ns;
        self.elapsed_ns += ns + wait_ns;
        self.spun_ns += wait_ns;
    }

    /// Charges what the policy's callbacks took in a hook, more than the hook itself.
    #[inline]
    pub(super) fn charge_callbacks(&mut self, hook: Hook) {
        let instructions = std::mem::take(&mut self.kernel.callback_instructions);
        if instructions > 0 {
            let ns = self.kernel.costs.instructions_ns(instructions);
            self.stats.hooks[hook as usize].ns += ns;
            self.elapsed_ns += ns;
        }
    }

    /// Sets when the CPU's next event is.
    pub(super) fn arm(&mut self, cpu: usize) {
        let state = &self.kernel.cpus[cpu];
        let mut at_ns = state.kicked_at_ns.max(state.work_since_ns);
        if state.kicked_at_ns == NEVER {
            at_ns = NEVER;
        }
        let mut is_tick = false;
        if state.current != NONE {
            let tick_ns = self.next_tick_ns(cpu);
            is_tick = tick_ns <= at_ns && tick_ns != NEVER;
            at_ns = at_ns.min(tick_ns);
            if !state.spinning {
                let remaining = self.kernel.tasks[state.current as usize].remaining;
                let need_ns = match state.speed {
                    1024 => remaining.div_ceil(1024),
                    speed => remaining.div_ceil(u64::from(speed)),
                };
                // Ticks only make it later.
                if state.work_since_ns.saturating_add(need_ns) < at_ns {
                    let end_ns = self.ticks.end_ns(state.work_since_ns, need_ns);
                    if end_ns < at_ns {
                        at_ns = end_ns;
                        is_tick = false;
                    }
                }
            }
        }
        self.queue.set(cpu, at_ns, is_tick);
    }

    /// The CPU's first tick that may decide something, ns.
    #[inline]
    fn next_tick_ns(&self, cpu: usize) -> u64 {
        let state = &self.kernel.cpus[cpu];
        let wanted_ns = if self.options.every_tick {
            0
        } else {
            let policy = self.policy.decision_at(&self.kernel, cpu, state.current as usize).unwrap_or(NEVER);
            policy.min(state.balance_at_ns).min(self.quota_ends_ns(cpu))
        };
        let timer_ns = self.policy.slice_timer_at(cpu).unwrap_or(NEVER);
        if wanted_ns.min(timer_ns) == NEVER {
            return NEVER;
        }
        // The ticks of this moment are done.
        let earliest_ns = (self.kernel.now_ns + 1).max(state.work_since_ns);
        let tick_ns = match wanted_ns {
            NEVER => NEVER,
            _ => self.kernel.tick_at_or_after_ns(wanted_ns.max(earliest_ns)),
        };
        tick_ns.min(timer_ns.max(earliest_ns))
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
        for thread in self.kernel.machine.sharing(cpu) {
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

#[cfg(test)]
mod tests {
    use super::SpinLock;

    #[test]
    fn who_finds_the_lock_taken_waits_and_who_is_early_takes_a_gap() {
        let mut lock = SpinLock::default();
        assert_eq!(lock.take_ns(0, 100, 10), 0);
        assert_eq!(lock.take_ns(0, 105, 10), 5, "until 110, then until 120");
        assert_eq!(lock.take_ns(0, 50, 10), 0, "before them");
        assert_eq!(lock.take_ns(0, 55, 45), 65, "the gap until 100 is too short");
        assert_eq!(lock.take_ns(0, 60, 40), 0, "and this one just fits");
        assert_eq!(lock.take_ns(165, 165, 7), 0, "all is over");
        assert_eq!(lock.taken, [(165, 172)]);
    }
}
