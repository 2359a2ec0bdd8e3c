//! Stacks of switches and wake-ups.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::{column_of_words, table};
use swtch_units::words;

table! {
    /// A stack at which tasks of one name gave up their CPU, lost it, or woke other tasks. Times off a CPU that had not ended at the end of the
    /// recording are not in it.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct StackRow in "stacks" of FORMATS;
    {
        /// What happened there.
        pub reason: StackReason [none, Key],
        /// Name of the tasks; `[interrupt]` for wake-ups that an interrupt did.
        pub task: String [none, Key],
        /// Functions, the outermost first, divided by `;`. Those of the kernel end in `_[k]`; one without a name is `FILE+OFFSET [build id ID]`.
        pub frames: String [none, Key],
        /// The innermost of them that is the program's own: not its C library's, nor its language's runtime.
        pub function: String [none, Last],
        /// Switches away from a CPU; wake-ups of other tasks, if that is the reason.
        pub switches: u64 [count, Sum],
        /// Time until the task had a CPU again, waiting for one included, ns; for wake-ups, the same of the tasks that were woken.
        pub off_cpu_ns: u64 [ns, Sum],
        /// Of it, the time ready in a run queue, ns.
        pub wait_ns: u64 [ns, Sum],
        /// Direct cost of the switches, ns: their number, times the mean measured cost of a switch of the tasks of this name.
        pub cost_ns: Option<u64> [ns, Sum],
    }
}

words! {
    /// What happened at a stack.
    pub enum StackReason("reason") {
        /// The task blocked or slept.
        Voluntary = "voluntary",
        /// The task was preempted, or its slice was over.
        Involuntary = "involuntary",
        /// The task woke another task that was off its CPU.
        Wake = "wake",
    }
}
column_of_words!(StackReason);
