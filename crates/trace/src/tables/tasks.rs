//! Tasks: threads, and what each did and paid.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::rules::Merge;
use swtch_columns::{Column, Columns, column, column_of_words, table};
use swtch_units::words;

table! {
    /// A thread over the whole run.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct TaskRow in "tasks" of FORMATS, earlier earlier;
    {
        /// The thread.
        pub tid: u32 [id, Key],
        /// Its process.
        pub pid: u32 [id, Last],
        /// The process that created that process.
        pub parent_pid: Option<u32> [id, Last],
        /// Its name (`comm`), the last one it had.
        pub comm: String [none, Last],
        /// Path of its cgroup, the last one it was in.
        pub cgroup: Option<String> [none, Last],
        /// Whether it is a thread of the kernel.
        pub kernel_thread: bool [none, Last],
        /// Its scheduling policy, the last one it had.
        pub policy: Option<SchedPolicy> [none, Last],
        /// Its nice value, the last one it had.
        pub nice: Option<i32> [none, Last],
        /// Its real-time priority, from 1 to 99, in the policies `fifo` and `rr`.
        pub realtime_priority: Option<u32> [none, Last],
        /// The CPUs that it may use, such as `0-3`, as far as known. They were last read when it was made, executed a program or ended, or
        /// at the end.
        pub cpus_allowed: Option<String> [none, Last],
        /// Whether it was to be recorded. The others are here only to be named: they preempted or woke one that was, or ran
        /// before it while it waited. They have no figures.
        pub in_scope: bool [none, Last],
        /// When it was first seen, ns since the start.
        pub first_ns: u64 [ns, Key],
        /// When it was last seen, ns since the start.
        pub last_ns: u64 [ns, Max],
        /// Switches it asked for, by blocking or sleeping.
        pub voluntary: u64 [count, Sum],
        /// Switches it did not ask for.
        pub involuntary: u64 [count, Sum],
        /// Of the involuntary ones, those at which it did not work but wait on its CPU: in a loop with an instruction that tells the CPU
        /// so, or by `sched_yield`.
        pub spinning: Option<u64> [count, Sum],
        /// Time on a CPU until those, since it last came to one: it waited at the end of that time, and not always for all of it.
        pub spinning_ns: Option<u64> [ns, Sum],
        /// Of `spinning`, those by `sched_yield`.
        pub yields: Option<u64> [count, Sum],
        /// Times it was woken.
        pub wakeups: u64 [count, Sum],
        /// Time on a CPU, ns.
        pub run_ns: u64 [ns, Sum],
        /// Time in run queues, ns.
        pub wait_ns: u64 [ns, Sum],
        /// Times it waited in a run queue.
        pub waits: u64 [count, Sum],
        /// Of `wait_ns`, time in which another CPU was idle that it may use; of all CPUs where those that it may use are not known.
        pub idle_elsewhere_ns: Option<u64> [ns, Sum],
        /// Median of one wait, ns.
        pub wait_p50_ns: Option<u64> [ns, Quantile],
        /// Nine waits of ten were at most this long, ns.
        pub wait_p90_ns: Option<u64> [ns, Quantile],
        /// 99 waits of 100 were at most this long, ns.
        pub wait_p99_ns: Option<u64> [ns, Quantile],
        /// Longest wait, ns.
        pub wait_max_ns: Option<u64> [ns, Max],
        /// Median time on a CPU without a switch, ns.
        pub slice_p50_ns: Option<u64> [ns, Quantile],
        /// Longest time on a CPU without a switch, ns.
        pub slice_max_ns: Option<u64> [ns, Max],
        /// Moves to a CPU that shares its level 2 cache.
        pub migrations_same_l2: Option<u64> [count, Sum],
        /// Moves to a CPU that shares its level 3 cache, not level 2.
        pub migrations_same_l3: Option<u64> [count, Sum],
        /// Moves to a CPU that shares neither.
        pub migrations_across: Option<u64> [count, Sum],
        /// Times it came back to a CPU where another task had run meanwhile, or came to another CPU: only then can its caches be cold.
        pub cold_switch_ins: Option<u64> [count, Sum],
        /// Direct cost of the switches from this task, and of those from idle to it, measured in place and summed, ns.
        pub switch_cost_ns: Option<u64> [ns, Sum],
        /// Where `switch_cost_ns` is an estimate from windows: the lower end of its confidence interval (95 %, clustered by window), ns.
        pub switch_cost_ci_low_ns: Option<u64> [ns, Sum],
        /// The upper end likewise.
        pub switch_cost_ci_high_ns: Option<u64> [ns, Sum],
        /// Switches to it that changed the address space.
        pub process_switches: Option<u64> [count, Sum],
        /// Switches to it that did not.
        pub thread_switches: Option<u64> [count, Sum],
        /// Time in its program, ns.
        pub user_ns: Option<u64> [ns, Sum],
        /// Time in the kernel for it, ns.
        pub system_ns: Option<u64> [ns, Sum],
        /// Memory that it uses between switches, as far as it could be estimated.
        pub working_set_bytes: Option<u64> [bytes, Last],
        /// Instructions it executed.
        pub instructions: Option<u64> [count, Sum],
        /// Its misses in the last level of cache.
        pub cache_misses: Option<u64> [count, Sum],
    }
}

words! {
    /// A scheduling policy (`SCHED_*`, include/uapi/linux/sched.h, v6.18).
    pub enum SchedPolicy("scheduling policy"): u32 {
        /// The ordinary one.
        Other = "other" => 0,
        /// Real time, until it blocks.
        Fifo = "fifo" => 1,
        /// Real time, in turns.
        Rr = "rr" => 2,
        /// Ordinary, for work in batches.
        Batch = "batch" => 3,
        /// Only when no other task wants the CPU.
        Idle = "idle" => 5,
        /// Real time, by deadlines.
        Deadline = "deadline" => 6,
        /// That of a sched_ext scheduler.
        Ext = "ext" => 7,
    }
}
column_of_words!(SchedPolicy);

impl SchedPolicy {
    /// By the kernel's number.
    pub fn from_kernel(number: u32) -> Option<Self> {
        <Self as swtch_units::Word>::WORDS.iter().copied().find(|policy| policy.facts() == number)
    }

    /// Whether its tasks go before all ordinary ones.
    pub fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo | Self::Rr | Self::Deadline)
    }
}

/// Columns that the first files of `swtch/trace/3` do not have.
const LATER_IN_3: [&str; 3] = ["spinning", "spinning_ns", "yields"];
/// Columns that `swtch/trace/2` does not have besides.
const SINCE_3: [&str; 7] = [
    "policy",
    "nice",
    "realtime_priority",
    "cpus_allowed",
    "idle_elsewhere_ns",
    "switch_cost_ci_low_ns",
    "switch_cost_ci_high_ns",
];

/// In `swtch/trace/1` the column `cold_switch_ins` is called `displaced`.
fn earlier() -> Vec<Vec<Box<dyn Column<TaskRow>>>> {
    let third = || TaskRow::columns().into_iter().filter(|new| !LATER_IN_3.contains(&new.about().name));
    let second = || third().filter(|new| !SINCE_3.contains(&new.about().name));
    let first = second().map(|new| match new.about().name {
        "cold_switch_ins" => column::<TaskRow, Option<u64>>(
            ["displaced", "count", "", ""],
            |row| &row.cold_switch_ins,
            |row, value| row.cold_switch_ins = value,
        ),
        _ => new,
    });
    vec![third().collect(), second().collect(), first.collect()]
}

impl TaskRow {
    /// Its context switches, voluntary and involuntary ones.
    pub fn switches(&self) -> u64 {
        self.voluntary.saturating_add(self.involuntary)
    }

    /// Its moves to other CPUs, however near; absent where they are not counted.
    pub fn migrations(&self) -> Option<u64> {
        Some(self.migrations_same_l2? + self.migrations_same_l3? + self.migrations_across?)
    }

    /// The same without a number, to stand for several tasks.
    #[must_use]
    pub fn nameless(&self) -> Self {
        Self { tid: 0, pid: 0, parent_pid: None, ..self.clone() }
    }

    /// Adds another task's figures: the row then stands for both. Quantiles of several tasks cannot be made of theirs.
    pub fn aggregate(&mut self, other: &Self) {
        self.merge(&other.nameless());
    }
}
