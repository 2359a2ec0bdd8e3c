//! Waits in run queues by what had the CPU meanwhile.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::{column_of_words, table};
use swtch_units::words;

table! {
    /// A part of a task's waiting: what ran meanwhile on the CPU that it waited for. The parts of a task add up to its `wait_ns`. Only a source
    /// that sees single switches has this table.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct WaitRow in "waits" of FORMATS;
    {
        /// The task that waited.
        pub of_tid: u32 [id, Key],
        /// How these waits began.
        pub began: WaitStart [none, Key],
        /// What had the CPU.
        pub behind: InFront [none, Key],
        /// The name (`comm`) of the tasks that had it; empty where it was not a task.
        pub program: String [none, Key],
        /// Waits with such a part.
        pub waits: u64 [count, Sum],
        /// How long it had the CPU during those waits, ns.
        pub ns: u64 [ns, Sum],
    }
}

words! {
    /// How a wait in a run queue began.
    pub enum WaitStart("start of a wait") {
        /// The task was woken, or had just been made.
        Woken = "woken",
        /// The task was preempted, its slice was over, it yielded, or a quota stopped it.
        Preempted = "preempted",
    }
}
column_of_words!(WaitStart);

words! {
    /// What has the CPU that a task waits for.
    pub enum InFront("thing in front") {
        /// Other tasks.
        Task = "task",
        /// None: the CPU was idle and came out of idle, or the task waited in the run queue of another CPU.
        Idle = "idle",
        /// Interrupts, hard and soft ones.
        Interrupt = "interrupt",
        /// Whatever had it: the quota of the task's cgroup, or of one above it, stopped the task. It lasts until a task of the cgroup comes to
        /// the CPU. Only a source that sees why a task was stopped tells it from the others.
        Quota = "quota",
        /// Not known: the switches of that time were not recorded or are lost.
        Unseen = "unseen",
    }
}
column_of_words!(InFront);
