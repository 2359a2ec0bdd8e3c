//! What a recording needs of whatever sees the switches.

use crate::clock::process_cpu_ns;
use crate::error::RecordError;
use crate::task_info;
use std::collections::BTreeMap;
use std::time::Duration;
use swtch_trace::accumulate::{Accumulator, Tables};
use swtch_trace::model::{Header, RecorderCost};
use swtch_trace::tables::{HistogramRow, SwitchRow, TaskRow};

/// Between two polls, at least and at most. Each poll takes a CPU from the workload, and some of its caches: seldom costs less.
pub(crate) const PERIODS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// How often tasks whose end was lost are looked for, and how long nothing may have been heard of them, ns.
pub(super) const SWEEP_EVERY_NS: u64 = 60_000_000_000;

/// How far a recording is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time since the beginning.
    pub elapsed_ns: u64,
    /// Switches so far; absent where the source does not count them while it records.
    pub switches: Option<u64>,
    /// Time on CPUs of what is recorded so far, ns; absent likewise.
    pub run_ns: Option<u64>,
    /// Tasks that exist.
    pub tasks: u64,
    /// Events lost so far.
    pub lost: u64,
}

impl Progress {
    /// That of a source of events.
    pub(super) fn of_events(accumulator: &Accumulator, lost: u64) -> Self {
        let sums = accumulator.sums();
        Self {
            switches: Some(sums.voluntary + sums.involuntary),
            run_ns: Some(sums.run_ns),
            tasks: accumulator.task_count(),
            lost,
            ..Self::default()
        }
    }
}

/// The state of a source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Status {
    /// When to poll again, at the latest.
    pub(crate) period: Duration,
    /// Whether the target still exists. Of a command, the source's caller knows this.
    pub(crate) alive: bool,
    /// How far it is; the time that passed is filled in by the caller.
    pub(crate) progress: Progress,
}

/// What a source knows beyond the tables, of the time since it was last asked.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Direct cost of the switches between threads, between processes, from or to idle, ns; absent where it is not measured.
    pub cost_ns_by_kind: Option<[u64; 3]>,
    /// The part of the tasks' waits in which a quota, of their cgroup or one above it, stopped them, ns, by cgroup. Absent
    /// where the kernel does not report it.
    pub quota_ns: Option<BTreeMap<Option<String>, u64>>,
    /// The tasks' waits by cgroup, of those cgroups of which a wait was seen; scaled to all waits.
    pub group_waits: BTreeMap<Option<String>, Vec<HistogramRow>>,
    /// Threads that exist now; absent where they are not counted.
    pub threads: Option<u64>,
    /// The same by cgroup, as far as tasks' groups are known.
    pub group_threads: BTreeMap<String, u64>,
    /// Readings in which a counter fell, by what they are of.
    pub backwards: BTreeMap<&'static str, u64>,
    /// A task that waited for longer than it was watched.
    pub too_long: Option<String>,
    /// Memory of the kernel for the tasks.
    pub task_bytes: u64,
}

/// What sees switches: it observes events, or it reads counters.
pub(crate) trait Source {
    /// Follows a task and, from then on, its descendants, or ends that; for a source that follows by itself it does nothing.
    fn set_followed(&self, _tid: u32, _on: bool) {}
    /// Starts the command by `start`, which returns its process, so that not even its first switch is missed.
    fn launch(&mut self, start: &mut dyn FnMut() -> Result<u32, RecordError>) -> Result<(), RecordError> {
        // The children of those that are followed are followed: for a moment, of this thread.
        let own_tid = task_info::own_tid();
        self.set_followed(own_tid, true);
        let started = start();
        self.set_followed(own_tid, false);
        started.map(drop)
    }
    /// Takes in what happened since the last poll. Returns the single switches that are complete; none where they are not seen.
    fn poll(&mut self) -> Vec<SwitchRow> {
        Vec::new()
    }
    /// Its state.
    fn status(&self) -> Status;
    /// Polls for the last time. Events after `end_ns` are not part of the recording, because detaching programs may take long.
    fn finish(&mut self, _end_ns: u64) -> Vec<SwitchRow> {
        Vec::new()
    }
    /// Until when its figures are, where it was finished at `asked_ns`. Counters are read after that; on a machine that is very busy, long after.
    fn ends_ns(&self, asked_ns: u64) -> u64 {
        asked_ns
    }
    /// Whether it takes in what it saw only at the end: until then there is nothing to write.
    fn is_behind(&self) -> bool {
        false
    }
    /// Everything from the beginning to `now_ns`, as far as its [`History`](swtch_trace::accumulate::History) reaches.
    fn snapshot(&mut self, now_ns: u64, header: &mut Header) -> Tables;
    /// From now on a snapshot of a watch need not have tasks that did nothing since the snapshot before.
    fn only_changes(&mut self) {}
    /// The tasks of the last snapshot as they were at the one before, where it had only those that did something.
    fn tasks_before(&mut self) -> Option<Vec<TaskRow>> {
        None
    }
    /// What it knows beyond the tables.
    fn counted(&mut self) -> Counted {
        Counted::default()
    }
}

/// What recording takes: this process's CPU time so far, and memory of maps and rings.
pub(crate) fn own_cost(memory_bytes: Option<u64>) -> RecorderCost {
    RecorderCost { cpu_ns: Some(process_cpu_ns()), bpf_ns: None, memory_bytes }
}

/// When to poll rings again of which the fullest was so full: at once when it fills up, ever later while it does not.
pub(crate) fn next_period(period: Duration, full: f64, longest: Duration) -> Duration {
    match full {
        full if full > 0.2 => PERIODS.0,
        full if full < 0.02 => (period * 2).min(longest),
        _ => period,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_become_rare_while_nothing_comes_and_frequent_at_once_when_much_does() {
        let longest = Duration::from_millis(200);
        let rarer = |period: Duration, _| next_period(period, 0.0, longest);
        assert_eq!((0..9).fold(PERIODS.0, rarer), longest);
        assert_eq!(next_period(longest, 0.3, longest), PERIODS.0);
        assert_eq!(next_period(PERIODS.1, 0.1, longest), PERIODS.1);
    }
}
