//! The kernel's own counters of the whole machine and of a cgroup. A recording is reconciled with them. They are all
//! there is on CPU time, interrupts and pressure.
//!
//! [`Snapshot::read`] reads them at one moment under any root, [`difference`] says what happened between two moments. Names
//! in `unavailable` begin with `machine`, `cpu`, `interrupts`, `softirqs`, `pressure` or `cgroup`.

#![forbid(unsafe_code)]

// The crate `procfs` does not serve here. Version 0.18 reads neither interrupts nor soft interrupts, and loses
// the numbers of CPUs when one is off. It fails on the whole of a file that lacks one line, as a sandbox's
// does.

mod accounts;
mod cgroup;
mod cgroups;
mod counter_table;
mod cpu_stat;
mod difference;
mod hierarchy;
mod mounts;
mod namespace;
mod pressure;
mod stat;
#[cfg(test)]
mod tests;

pub use cgroup::{Cgroup, CgroupError};
pub use cgroups::{CgroupReading, Cgroups};
pub use counter_table::{CounterRow, CounterTable};
pub use cpu_stat::CgroupCounters;
pub use difference::{Difference, difference};
pub(crate) use hierarchy::Hierarchy;

use crate::{clock, files};
use std::collections::BTreeMap;
use std::path::Path;
use swtch_trace::model::{CpuTime, Pressure, Unavailable};

/// How much of the counters to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// All of them: for the two ends of a recording. `/proc/interrupts` of a large machine takes milliseconds.
    Everything,
    /// `/proc/stat`, pressure and the cgroup: for every interval over time.
    Totals,
}

/// The counters at one moment. All count since the machine started (a cgroup: since it was made), except
/// [`Snapshot::procs_running`] and [`Snapshot::procs_blocked`], which are of the moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// When, on the monotonic clock: right before `/proc/stat` was read.
    pub monotonic_ns: u64,
    /// Times of all CPUs together, also of those that are off by now.
    pub total: CpuTime,
    /// Times of each CPU that is on.
    pub cpus: BTreeMap<u32, CpuTime>,
    /// Context switches of the whole machine.
    pub context_switches: Option<u64>,
    /// Hardware interrupts of the whole machine, architecture's own among them.
    pub interrupts_total: Option<u64>,
    /// Processes and threads created.
    pub forks: Option<u64>,
    /// Threads that run or are ready to run.
    pub procs_running: Option<u64>,
    /// Threads that wait for a disk.
    pub procs_blocked: Option<u64>,
    /// Hardware interrupts by line and CPU.
    pub interrupts: Option<CounterTable>,
    /// Soft interrupts by kind and CPU.
    pub softirqs: Option<CounterTable>,
    /// Time in which work waited for a resource, machine-wide.
    pub pressure: Vec<Pressure>,
    /// The counters of the cgroup that was asked for.
    pub cgroup: Option<CgroupCounters>,
    /// What is missing above, and why.
    pub unavailable: Vec<Unavailable>,
}

impl Snapshot {
    /// Reads the counters under `root` (`/` for this machine), and those of `cgroup`. A counter that cannot be read is missing, with its reason;
    /// nothing is an error.
    pub fn read(root: &Path, cgroup: Option<&Cgroup>, detail: Detail) -> Self {
        // All files first, so that they are of nearly one moment; parsing comes after.
        let monotonic_ns = clock::monotonic_ns();
        let stat = files::text(root, "proc/stat");
        let cgroup = cgroup.map(|group| cpu_stat::CgroupFiles::read(root, group));
        let pressure = pressure::RESOURCES
            .map(|resource| (resource, files::text(root, &format!("proc/pressure/{resource}"))));
        let (interrupts, softirqs) = match detail {
            Detail::Totals => (None, None),
            Detail::Everything => {
                (Some(files::text(root, "proc/interrupts")), Some(files::text(root, "proc/softirqs")))
            }
        };

        let mut unavailable = Vec::new();
        let stat = stat::judged(stat, clock::tick_ns(), &mut unavailable);
        let snapshot = Self {
            monotonic_ns,
            interrupts: interrupts
                .and_then(|text| counter_table::judged("interrupts", text, &mut unavailable)),
            softirqs: softirqs.and_then(|text| counter_table::judged("softirqs", text, &mut unavailable)),
            pressure: pressure
                .into_iter()
                .filter_map(|(resource, text)| pressure::judged(resource, text, &mut unavailable))
                .collect(),
            cgroup: cgroup.map(|files| files.judged(&mut unavailable)),
            ..stat
        };
        Self { unavailable, ..snapshot }
    }
}
