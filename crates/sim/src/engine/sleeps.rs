//! Tasks that sleep until a time.

use super::Engine;
use super::execute::{StepOutcome, between};
use crate::policy::Policy;
use crate::program::Op;
use crate::sink::Sink;

/// Where a task's period is kept, behind the four timers that programs name.
const PERIOD_TIMER: usize = 4;

/// What a task does whose timer's next time has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenLate {
    /// It does not sleep.
    GoOn,
    /// Nor does it here, and the timer counts from now.
    CountFromNow,
    /// It sleeps until the next time that is still to come.
    Skip,
}

impl<P: Policy, S: Sink> Engine<P, S> {
    /// The steps that sleep.
    pub(super) fn sleep_step(&mut self, cpu: usize, task: usize, op: Op) -> StepOutcome {
        match op {
            Op::Sleep { ns } => self.sleep(cpu, task, ns),
            Op::SleepBetween { low_ns, high_ns } => {
                let ns = between(&mut self.kernel, low_ns, high_ns);
                self.sleep(cpu, task, ns)
            }
            Op::SleepUntilPeriod { ns } => {
                self.sleep_until_timer(cpu, task, PERIOD_TIMER, ns, WhenLate::GoOn)
            }
            Op::SleepUntilNextPeriod { ns } => {
                self.sleep_until_timer(cpu, task, PERIOD_TIMER, ns, WhenLate::Skip)
            }
            Op::Timer { timer, ns, relative } => {
                let when_late = if relative { WhenLate::CountFromNow } else { WhenLate::GoOn };
                self.sleep_until_timer(cpu, task, usize::from(timer), ns, when_late)
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
        when_late: WhenLate,
    ) -> StepOutcome {
        let now_ns = self.kernel_ns(cpu);
        let started_ns = self.stats.tasks[task].started_ns;
        let last_ns = &mut self.task_states[task].timers_ns.get_or_insert_default()[timer];
        let next_ns = last_ns.unwrap_or(started_ns) + ns;
        let is_late = next_ns <= now_ns;
        let (due_ns, sleeps) = match when_late {
            WhenLate::Skip => (next_ns + now_ns.saturating_sub(next_ns).div_ceil(ns) * ns, true),
            WhenLate::CountFromNow if is_late => (now_ns, false),
            WhenLate::CountFromNow | WhenLate::GoOn => (next_ns, !is_late),
        };
        *last_ns = Some(due_ns);
        if !sleeps {
            return StepOutcome::Next;
        }
        self.set_timer(task, due_ns);
        StepOutcome::Wait { again: false }
    }
}
