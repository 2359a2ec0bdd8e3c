//! The run over time.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::table;

table! {
    /// What happened in a stretch of time, on one CPU or in the whole scope. The rows of the whole scope follow each other, so that a
    /// column of counts or times, summed over them, is the total. Times by use are the whole machine's unless the header's `sources` mark
    /// them as the recorded tasks'. Counters that are read less often than rows begin are shared out evenly.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct IntervalRow in "intervals" of FORMATS;
    {
        /// When it began, ns since the start.
        pub at_ns: u64 [ns, Key],
        /// How long it was, ns.
        pub length_ns: u64 [ns, Sum],
        /// The CPU; absent for the whole scope.
        pub cpu: Option<u32> [id, Key],
        /// Voluntary switches.
        pub voluntary: Option<u64> [count, Sum],
        /// Involuntary switches.
        pub involuntary: Option<u64> [count, Sum],
        /// Switches from the idle task.
        pub idle_switches: Option<u64> [count, Sum],
        /// Wake-ups.
        pub wakeups: Option<u64> [count, Sum],
        /// Moves of tasks between CPUs.
        pub migrations: Option<u64> [ns, Sum],
        /// Time that tasks ran, ns.
        pub run_ns: Option<u64> [ns, Sum],
        /// Time in programs, ns: of the recorded tasks where the source has it of each (`procfs`), otherwise of the whole machine.
        pub user_ns: Option<u64> [ns, Sum],
        /// Time in the kernel for programs, ns; whose, as in `user_ns`.
        pub system_ns: Option<u64> [ns, Sum],
        /// Time in hardware interrupts, ns, on the whole machine.
        pub irq_ns: Option<u64> [ns, Sum],
        /// Time in soft interrupts, ns, on the whole machine.
        pub softirq_ns: Option<u64> [ns, Sum],
        /// Time without a task, ns, on the whole machine; waiting for a device is not in it.
        pub idle_ns: Option<u64> [ns, Sum],
        /// Time the hypervisor gave to others, ns, on the whole machine.
        pub steal_ns: Option<u64> [ns, Sum],
        /// Threads that existed at its end.
        pub tasks: Option<u64> [count, Last],
        /// Threads that ran or waited to run at its end, or when that was last read: whose, as in `user_ns`.
        pub runnable: Option<u64> [count, Last],
        /// Processes that existed at its end.
        pub processes: Option<u64> [count, Last],
        /// Processes created.
        pub forks: Option<u64> [count, Sum],
        /// Time the cgroup was stopped by its quota, ns, summed over CPUs; of the group that `totals.throttled` is about.
        pub throttled_ns: Option<u64> [ns, Sum],
        /// Time in which a task waited for a CPU (PSI, `some`), ns, on the whole machine.
        pub pressure_cpu_ns: Option<u64> [ns, Sum],
    }
}
