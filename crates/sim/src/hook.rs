//! The hooks of scheduling classes, as far as their calls and times are counted.

use serde::Deserialize;

/// A hook, for counting calls and their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    /// `select_task_rq`.
    SelectCpu,
    /// `enqueue_task`.
    Enqueue,
    /// `dequeue_task`.
    Dequeue,
    /// `pick_next_task`.
    PickNext,
    /// `put_prev_task`.
    PutPrev,
    /// `wakeup_preempt` (`check_preempt_curr` before 6.6).
    WakeupPreempt,
    /// `task_tick`.
    Tick,
    /// `yield_task`.
    Yield,
    /// `balance` and the balancing among domains.
    Balance,
}

/// How many hooks there are.
pub const HOOKS: usize = 9;

impl Hook {
    /// All hooks, in the order of their numbers.
    pub const ALL: [Self; HOOKS] = [
        Self::SelectCpu,
        Self::Enqueue,
        Self::Dequeue,
        Self::PickNext,
        Self::PutPrev,
        Self::WakeupPreempt,
        Self::Tick,
        Self::Yield,
        Self::Balance,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::SelectCpu => "select_cpu",
            Self::Enqueue => "enqueue",
            Self::Dequeue => "dequeue",
            Self::PickNext => "pick_next",
            Self::PutPrev => "put_prev",
            Self::WakeupPreempt => "wakeup_preempt",
            Self::Tick => "tick",
            Self::Yield => "yield",
            Self::Balance => "balance",
        }
    }
}

/// Scheduling classes whose hooks cost alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// CFS and EEVDF: trees, accounting, groups.
    Fair,
    /// FIFO, RR and what is as simple.
    RealTime,
    /// Without locks and accounting of its own, as FLSCHED.
    Lockless,
}

impl Family {
    /// How many families there are.
    pub const COUNT: usize = 3;
}
