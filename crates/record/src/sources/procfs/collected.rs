//! What a sampling yields.

use super::counters::Counters;
use swtch_trace::model::Unavailable;
use swtch_trace::tables::{IntervalRow, TaskRow};

/// A thread, from its first sample (or its birth, when that was later than the beginning) to its last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SampledThread {
    /// The identity of the thread; times are on the monotonic clock. Its cgroup is looked up less often than the rest.
    pub(super) task: TaskRow,
    /// What it did. A thread that ended before the recording did lacks what it did after its last sample, unless that saw it after its end
    /// (state `Z`).
    pub(crate) counted: Counters,
    /// Whether it ended before the recording did.
    pub(super) ended: bool,
}

impl SampledThread {
    /// Its row of a recording that was started at `start_ns`. What no file of it gives is zero.
    pub(crate) fn row(&self, start_ns: u64) -> TaskRow {
        let Self { task, counted, .. } = self;
        TaskRow {
            first_ns: task.first_ns.saturating_sub(start_ns),
            last_ns: task.last_ns.saturating_sub(start_ns),
            voluntary: counted.voluntary.unwrap_or(0),
            involuntary: counted.involuntary.unwrap_or(0),
            run_ns: counted.run_ns.unwrap_or(0),
            wait_ns: counted.wait_ns.unwrap_or(0),
            waits: counted.timeslices.unwrap_or(0),
            user_ns: counted.user_ns,
            system_ns: counted.system_ns,
            ..task.clone()
        }
    }
}

/// What the threads did between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampledInterval {
    /// When it began, on the monotonic clock, ns.
    pub(super) at_ns: u64,
    /// How long it was, ns.
    pub(super) length_ns: u64,
    /// What they did in it; a wait counts when it ends.
    pub(super) counted: Counters,
    /// Threads, processes, and threads that ran or were ready to, at its end.
    pub(super) threads: u64,
    pub(super) processes: u64,
    pub(super) runnable: u64,
}

impl SampledInterval {
    /// Its row of a recording that was started at `start_ns`.
    pub(crate) fn row(&self, start_ns: u64) -> IntervalRow {
        IntervalRow {
            at_ns: self.at_ns.saturating_sub(start_ns),
            length_ns: self.length_ns.max(1),
            voluntary: self.counted.voluntary,
            involuntary: self.counted.involuntary,
            migrations: self.counted.migrations,
            run_ns: self.counted.run_ns,
            user_ns: self.counted.user_ns,
            system_ns: self.counted.system_ns,
            tasks: Some(self.threads),
            runnable: Some(self.runnable),
            processes: Some(self.processes),
            ..IntervalRow::default()
        }
    }
}

/// A whole sampling.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Collected {
    /// Every thread that a sample saw, by process and number; a number that was used twice is there twice.
    pub(crate) threads: Vec<SampledThread>,
    /// What happened between each two samples. The first sample alone has no interval.
    pub(crate) intervals: Vec<SampledInterval>,
    /// The most processes at one sample.
    pub(crate) processes_peak: u64,
    /// Threads that were created, of the whole machine only: the kernel's count.
    pub(crate) threads_created: Option<u64>,
    /// What is missing above, and why.
    pub(crate) unavailable: Vec<Unavailable>,
}
