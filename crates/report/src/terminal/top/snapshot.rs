//! What a live recording knows at a snapshot.

use swtch_trace::model::Header;
use swtch_trace::tables::{CpuRow, PreemptionRow, TaskRow, WakeRow};

/// What a live recording knows at a moment, in the types of a Trace.
///
/// Figures are sums since the recording began, and those of the system since the machine was started. Only quantiles, longest times and pairs
/// are of the time since the moment before.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When, ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// When, ns since 1970.
    pub unix_ns: u64,
    /// Totals and circumstances. Its processor times and pressure are the system's counters as they stand.
    pub header: Header,
    /// Tasks, ended ones once.
    pub tasks: Vec<TaskRow>,
    /// Processors that are on, with their times as the system counts them.
    pub cpus: Vec<CpuRow>,
    /// Who woke whom.
    pub wakes: Vec<WakeRow>,
    /// Who preempted whom.
    pub preemptions: Vec<PreemptionRow>,
}
