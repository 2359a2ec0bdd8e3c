//! The hooks of scheduling classes, as far as their calls and times are counted.

use serde::Deserialize;
use swtch_units::words;

words! {
    /// A hook, for counting calls and their time.
    pub enum Hook("hook") {
        /// `select_task_rq`.
        SelectCpu = "select_cpu",
        /// `enqueue_task`.
        Enqueue = "enqueue",
        /// `dequeue_task`.
        Dequeue = "dequeue",
        /// `pick_next_task`.
        PickNext = "pick_next",
        /// `put_prev_task`.
        PutPrev = "put_prev",
        /// `wakeup_preempt` (`check_preempt_curr` before 6.6).
        WakeupPreempt = "wakeup_preempt",
        /// `task_tick`.
        Tick = "tick",
        /// `yield_task`.
        Yield = "yield",
        /// `balance` and the balancing among domains.
        Balance = "balance",
    }
}

/// How many hooks there are.
pub const HOOKS: usize = Hook::ALL.len();

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
    /// The core of sched_ext alone; what a scheduler's callbacks take is counted and comes on top of it.
    SchedExt,
}

impl Family {
    /// How many families there are.
    pub const COUNT: usize = 4;
}
