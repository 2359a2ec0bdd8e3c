//! The run over time.

use crate::columns::table;

table! {
    /// What happened in a stretch of time, on one processor or in the whole scope.
    pub struct IntervalRow in "intervals" {
        /// When it began, ns since the start.
        pub at_ns: u64,
        /// How long it was, ns.
        pub length_ns: u64,
        /// The processor; absent for the whole scope.
        pub cpu: Option<u32>,
        /// Voluntary switches.
        pub voluntary: Option<u64>,
        /// Involuntary switches.
        pub involuntary: Option<u64>,
        /// Switches from the idle task.
        pub idle_switches: Option<u64>,
        /// Wake-ups.
        pub wakeups: Option<u64>,
        /// Moves of tasks between processors.
        pub migrations: Option<u64>,
        /// Time that tasks ran, ns.
        pub run_ns: Option<u64>,
        /// Time in programs, ns.
        pub user_ns: Option<u64>,
        /// Time in the kernel for programs, ns.
        pub system_ns: Option<u64>,
        /// Time in hardware interrupts, ns.
        pub irq_ns: Option<u64>,
        /// Time in soft interrupts, ns.
        pub softirq_ns: Option<u64>,
        /// Time without a task, ns.
        pub idle_ns: Option<u64>,
        /// Time the hypervisor gave to others, ns.
        pub steal_ns: Option<u64>,
        /// Threads that existed at its end.
        pub tasks: Option<u64>,
        /// Threads that ran or waited to run at its end.
        pub runnable: Option<u64>,
        /// Processes that existed at its end.
        pub processes: Option<u64>,
        /// Processes created.
        pub forks: Option<u64>,
        /// Time stopped by a quota, ns.
        pub throttled_ns: Option<u64>,
        /// Time in which a task waited for a processor (PSI, `some`), ns.
        pub pressure_cpu_ns: Option<u64>,
    }
}
