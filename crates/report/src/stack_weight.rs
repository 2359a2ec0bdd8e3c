//! What stacks are weighed by.

use swtch_trace::tables::{StackReason, StackRow};
use swtch_units::words;

words! {
    /// What stacks are weighed by.
    pub enum StackWeight("weight") {
        /// Time until the task had a CPU again, ns.
        OffCpu = "off-cpu",
        /// Switches away from a CPU.
        Switches = "switches",
        /// Time ready in a run queue, ns.
        Wait = "wait",
        /// Direct cost of the switches, ns.
        Cost = "cost",
        /// Wake-ups of other tasks, by the stack of the task that woke them.
        Wakes = "wakes",
    }
}

impl StackWeight {
    /// What it is, for people, and whether it is a time in ns.
    pub(crate) fn label(self) -> (&'static str, bool) {
        match self {
            Self::OffCpu => ("time off the CPU", true),
            Self::Switches => ("switches", false),
            Self::Wait => ("waiting for a CPU", true),
            Self::Cost => ("cost of the switches", true),
            Self::Wakes => ("wake-ups of others", false),
        }
    }

    /// The weight of a stack; 0 when it has none of this kind.
    ///
    /// ```
    /// use swtch_report::stack_weight::StackWeight;
    /// use swtch_trace::tables::{StackReason, StackRow};
    /// let row = StackRow { reason: StackReason::Wake, switches: 3, off_cpu_ns: 9, ..StackRow::default() };
    /// // The time off a CPU is that of the tasks that were woken, and counts there.
    /// assert_eq!((StackWeight::Wakes.of(&row), StackWeight::OffCpu.of(&row)), (3, 0));
    /// ```
    pub fn of(self, row: &StackRow) -> u64 {
        match (self, row.reason == StackReason::Wake) {
            (Self::Wakes, true) | (Self::Switches, false) => row.switches,
            (Self::OffCpu, false) => row.off_cpu_ns,
            (Self::Wait, false) => row.wait_ns,
            (Self::Cost, false) => row.cost_ns.unwrap_or(0),
            _ => 0,
        }
    }
}
