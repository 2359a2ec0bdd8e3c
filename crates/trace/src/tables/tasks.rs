//! Tasks: threads, and what each did and paid.

use crate::columns::table;

table! {
    /// A thread over the whole run.
    pub struct TaskRow in "tasks" {
        /// The thread.
        pub tid: u32,
        /// Its process.
        pub pid: u32,
        /// The process that created that process.
        pub parent_pid: Option<u32>,
        /// Its name (`comm`), the last one it had.
        pub comm: String,
        /// Path of its control group, the last one it was in.
        pub cgroup: Option<String>,
        /// Whether it is a thread of the kernel.
        pub kernel_thread: bool,
        /// Whether it was to be recorded. The others are here only to be named: they preempted or woke one that was, or ran
        /// before it while it waited. They have no figures.
        pub in_scope: bool,
        /// When it was first seen, ns since the start.
        pub first_ns: u64,
        /// When it was last seen, ns since the start.
        pub last_ns: u64,
        /// Switches it asked for, by blocking or sleeping.
        pub voluntary: u64,
        /// Switches it did not ask for.
        pub involuntary: u64,
        /// Times it was woken.
        pub wakeups: u64,
        /// Time on a processor, ns.
        pub run_ns: u64,
        /// Time in run queues, ns.
        pub wait_ns: u64,
        /// Times it waited in a run queue.
        pub waits: u64,
        /// Median of one wait, ns.
        pub wait_p50_ns: Option<u64>,
        /// Nine waits of ten were at most this long, ns.
        pub wait_p90_ns: Option<u64>,
        /// 99 waits of 100 were at most this long, ns.
        pub wait_p99_ns: Option<u64>,
        /// Longest wait, ns.
        pub wait_max_ns: Option<u64>,
        /// Median time on a processor without a switch, ns.
        pub slice_p50_ns: Option<u64>,
        /// Longest time on a processor without a switch, ns.
        pub slice_max_ns: Option<u64>,
        /// Moves to a processor that shares its level 2 cache.
        pub migrations_same_l2: Option<u64>,
        /// Moves to a processor that shares its level 3 cache, not level 2.
        pub migrations_same_l3: Option<u64>,
        /// Moves to a processor that shares neither.
        pub migrations_across: Option<u64>,
        /// Times it came back to a CPU where another task had run meanwhile, or came to another CPU: only then can its caches be cold.
        pub displaced: Option<u64>,
        /// Direct cost of the switches from this task, and of those from idle to it, measured in place and summed, ns.
        pub switch_cost_ns: Option<u64>,
        /// Switches to it that changed the address space.
        pub process_switches: Option<u64>,
        /// Switches to it that did not.
        pub thread_switches: Option<u64>,
        /// Time in its program, ns.
        pub user_ns: Option<u64>,
        /// Time in the kernel for it, ns.
        pub system_ns: Option<u64>,
        /// Memory that it uses between switches, as far as it could be estimated.
        pub working_set_bytes: Option<u64>,
        /// Instructions it executed.
        pub instructions: Option<u64>,
        /// Its misses in the last level of cache.
        pub cache_misses: Option<u64>,
    }
}
