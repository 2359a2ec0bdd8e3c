//! Processors.

use crate::columns::table;

table! {
    /// A processor over the whole run.
    pub struct CpuRow in "cpus" {
        /// The kernel's number.
        pub cpu: u32,
        /// Switches on it from one task to another or to idle.
        pub switches: u64,
        /// Switches on it from the idle task.
        pub idle_switches: u64,
        /// Time that tasks ran, ns.
        pub run_ns: u64,
        /// Time without a task, ns.
        pub idle_ns: u64,
        /// Time in programs, ns.
        pub user_ns: Option<u64>,
        /// Time in the kernel for programs, ns.
        pub system_ns: Option<u64>,
        /// Time in hardware interrupts, ns.
        pub irq_ns: Option<u64>,
        /// Time in soft interrupts, ns.
        pub softirq_ns: Option<u64>,
        /// Time the hypervisor gave to others, ns.
        pub steal_ns: Option<u64>,
        /// Idle time while a task waited for a device, ns.
        pub iowait_ns: Option<u64>,
        /// Events of this processor that were lost.
        pub lost: u64,
    }
}
