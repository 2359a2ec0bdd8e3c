//! Tasks that sleep until a time.

use super::Engine;
use super::execute::{StepOutcome, between};
use crate::policy::Policy;
use crate::program::Op;
use crate::sink::Sink;

/// Where a task's period is kept, behind the four timers that programs name.
const PERIOD_TIMER: usize = 4;

impl<P: Policy, S: Sink> Engine<P, S> {
    /// The steps that sleep.
    pub(super) fn sleep_step(&mut self, cpu: usize, task: usize, op: Op) -> StepOutcome {
        match op {
            Op::Sleep { ns } => self.sleep(cpu, task, ns),
            Op::SleepBetween { low_ns, high_ns } => {
                let ns = between(&mut self.kernel, low_ns, high_ns);
                self.sleep(cpu, task, ns)
            }
            Op::SleepUntilPeriod { ns } => self.sleep_until_timer(cpu, task, PERIOD_TIMER, ns, false),
            Op::SleepUntilNextPeriod { ns } => self.sleep_until_next_period(cpu, task, ns),
            Op::Timer { timer, ns, relative } => {
                self.sleep_until_timer(cpu, task, usize::from(timer), ns, relative)
            }
            _ => StepOutcome::Next,
        }
    }

    /// A task sleeps for some time.
    fn sleep(&mut self, cpu: usize, task: usize, ns: u64) -> StepOutcome {
        let due_ns = self.kernel_ns(cpu).saturating_add(ns);
        self.set_timer(task, due_ns);
        StepOutcome::Wait { again: false }
    }

    fn set_timer(&mut self, task: usize, due_ns: u64) {
        let slack_ns = if self.kernel.is_kernel_thread(task) { 0 } else { self.timer_slack_ns() };
        self.task_states[task].due_ns = due_ns;
        self.timers.add(due_ns.saturating_add(slack_ns), task);
    }

    /// The same until one of its timers' next time.
    fn sleep_until_timer(
        &mut self,
        cpu: usize,
        task: usize,
        timer: usize,
        ns: u64,
        relative: bool,
    ) -> StepOutcome {
        let now_ns = self.kernel_ns(cpu);
        let started_ns = self.stats.tasks[task].started_ns;
        let last_ns = &mut self.task_states[task].timers_ns.get_or_insert_default()[timer];
        let due_ns = last_ns.unwrap_or(started_ns) + ns;
        let late = due_ns <= now_ns;
        *last_ns = Some(if late && relative { now_ns } else { due_ns });
        if late {
            return StepOutcome::Next;
        }
        self.set_timer(task, due_ns);
        StepOutcome::Wait { again: false }
    }

    /// The same until the next multiple of a period that is still to come.
    fn sleep_until_next_period(&mut self, cpu: usize, task: usize, ns: u64) -> StepOutcome {
        let now_ns = self.kernel_ns(cpu);
        let started_ns = self.stats.tasks[task].started_ns;
        let last_ns = &mut self.task_states[task].timers_ns.get_or_insert_default()[PERIOD_TIMER];
        let next_ns = last_ns.unwrap_or(started_ns) + ns;
        let due_ns = next_ns + now_ns.saturating_sub(next_ns).div_ceil(ns) * ns;
        *last_ns = Some(due_ns);
        self.set_timer(task, due_ns);
        StepOutcome::Wait { again: false }
    }
}
