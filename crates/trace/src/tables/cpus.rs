//! CPUs.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::table;

table! {
    /// A CPU over the whole run.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct CpuRow in "cpus" of FORMATS;
    {
        /// The kernel's number.
        pub cpu: u32 [id, Key],
        /// Switches on it from one task to another or to idle.
        pub switches: u64 [count, Sum],
        /// Switches on it from the idle task.
        pub idle_switches: u64 [count, Sum],
        /// Time that tasks ran, ns.
        pub run_ns: u64 [ns, Sum],
        /// Time without a task, ns.
        pub idle_ns: u64 [ns, Sum],
        /// Time in programs, ns.
        pub user_ns: Option<u64> [ns, Sum],
        /// Time in the kernel for programs, ns.
        pub system_ns: Option<u64> [ns, Sum],
        /// Time in hardware interrupts, ns.
        pub irq_ns: Option<u64> [ns, Sum],
        /// Time in soft interrupts, ns.
        pub softirq_ns: Option<u64> [ns, Sum],
        /// Time the hypervisor gave to others, ns.
        pub steal_ns: Option<u64> [ns, Sum],
        /// Idle time while a task waited for a device, ns.
        pub iowait_ns: Option<u64> [ns, Sum],
        /// Events of this CPU that were lost.
        pub lost: u64 [count, Sum],
    }
}
