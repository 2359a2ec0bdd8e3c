//! Takes the samples and adds up.

mod visiting;

use super::collected::{Collected, SampledInterval, SampledThread};
use super::counters::Counters;
use super::members::{Listed, TargetMembers};
use super::reading::Reader;
use super::tracked::{Present, Tracked};
use super::verdict::{Disbelieved, Evidence};
use super::{ProcfsError, SampleTarget};
use crate::clock;
use crate::system::Hierarchy;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time between samples when they cost next to nothing.
const SHORTEST_PERIOD_NS: u64 = 100_000_000;
/// Beyond this a sampling would say nothing about time any more.
const LONGEST_PERIOD_NS: u64 = 60_000_000_000;
/// The sampling may take this part of one CPU: one in a hundred.
const COST_SHARE: u64 = 100;

/// What one sample saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sampled {
    /// Whether anything of the target is still there: threads that have not ended, or a cgroup, even an empty one.
    pub alive: bool,
    /// Processes.
    pub processes: u64,
    /// Threads that have not ended.
    pub threads: u64,
    /// Those that run or are ready to.
    pub runnable: u64,
}

/// A sampling under way. Call [`Sampler::sample`] every [`Sampler::period`].
#[derive(Debug)]
pub(crate) struct Sampler {
    root: PathBuf,
    target: SampleTarget,
    members: TargetMembers,
    reader: Reader,
    present: Present,
    hierarchy: Option<Hierarchy>,
    tick_ns: u64,
    /// When the sampling began, in the unit of a thread's start.
    begin_ticks: u64,
    forks_at_begin: Option<u64>,
    threads: HashMap<u32, Tracked>,
    /// Threads that left the cgroup alive: should they return, they count from there.
    left: HashSet<u32>,
    finished: Vec<SampledThread>,
    intervals: Vec<SampledInterval>,
    evidence: Evidence,
    sampled_ns: Option<u64>,
    samples: u64,
    smoothed_cost_ns: u64,
    processes_peak: u64,
    threads_born: u64,
    // Buffers that are kept from sample to sample.
    listed: Vec<u32>,
    tids: Vec<u32>,
    pids: HashSet<u32>,
}

/// What the threads did during one sample's interval.
#[derive(Default)]
struct SampleCounters {
    now_ns: u64,
    delta: Counters,
    sampled: Sampled,
}

impl Sampler {
    /// Prepares the sampling of `target` under `root`: `/`, or a directory that holds a `proc`.
    ///
    /// # Errors
    /// When there is no procfs or the target is not there.
    pub(crate) fn new(root: &Path, target: SampleTarget) -> Result<Self, ProcfsError> {
        let tick_ns = clock::tick_ns();
        Self::begun_at(root, target, clock::boot_ns() / tick_ns)
    }

    /// As [`Sampler::new`]: threads born at `begin_ticks` or later count from their birth.
    pub(super) fn begun_at(root: &Path, target: SampleTarget, begin_ticks: u64) -> Result<Self, ProcfsError> {
        let mut reader = Reader::new(root)
            .map_err(|source| ProcfsError::Unreadable { path: root.join("proc"), source })?;
        let members = TargetMembers::new(root, &target, &mut reader)?;
        Ok(Self {
            root: root.to_owned(),
            forks_at_begin: forks(root, &target),
            target,
            members,
            reader,
            present: Present::default(),
            hierarchy: Hierarchy::find(root),
            tick_ns: clock::tick_ns(),
            begin_ticks,
            threads: HashMap::new(),
            left: HashSet::new(),
            finished: Vec::new(),
            intervals: Vec::new(),
            evidence: Evidence::default(),
            sampled_ns: None,
            samples: 0,
            smoothed_cost_ns: 0,
            processes_peak: 0,
            threads_born: 0,
            listed: Vec::new(),
            tids: Vec::new(),
            pids: HashSet::new(),
        })
    }

    /// Takes a sample now.
    pub(crate) fn sample(&mut self) -> Sampled {
        let cpu_before_ns = clock::thread_cpu_ns();
        self.samples += 1;
        let mut counters = SampleCounters {
            now_ns: clock::monotonic_ns(),
            delta: Counters::ZERO,
            ..SampleCounters::default()
        };
        let mut listed = std::mem::take(&mut self.listed);
        let kind = self.members.list(&mut self.reader, &mut listed);
        self.pids.clear();
        for number in listed.iter().filter(|_| kind.is_some()) {
            match kind {
                Some(Listed::Threads) => self.member_thread(*number, &mut counters),
                _ => self.process(*number, &mut counters),
            }
        }
        self.listed = listed;
        self.retire(&mut counters);
        counters.sampled.processes = self.pids.len() as u64;
        let group_is_there = kind == Some(Listed::Threads);
        counters.sampled.alive = group_is_there || counters.sampled.threads > 0;
        self.note(&counters);

        let cost_ns = clock::thread_cpu_ns().saturating_sub(cpu_before_ns);
        // Smoothed, so that one page fault does not change the period; the first sample, which opens everything, counts less.
        self.smoothed_cost_ns = (self.smoothed_cost_ns * 3 + cost_ns) / 4;
        counters.sampled
    }

    /// The time to let pass before the next sample: 100 ms, or so much that the sampling takes 1 % of a CPU.
    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos(period_for(self.smoothed_cost_ns))
    }

    /// Forgets the threads that ended and the intervals so far, so that a watch of days needs no more memory than one of minutes. Returns the
    /// threads.
    pub(crate) fn forget(&mut self) -> Vec<SampledThread> {
        let verdict = self.verdict();
        self.intervals.clear();
        let mut threads = std::mem::take(&mut self.finished);
        for thread in &mut threads {
            verdict.correct(&mut thread.counted);
        }
        threads
    }

    /// What the samples so far saw, without ending the sampling; [`forget`](Self::forget) then takes out what is over.
    pub(crate) fn so_far(&self) -> Collected {
        let mut verdict = self.verdict();
        let mut threads = self.finished.clone();
        threads.extend(self.threads.values().map(|thread| thread.thread(false)));
        threads.sort_by_key(|thread| (thread.task.pid, thread.task.tid, thread.task.first_ns));
        let mut intervals = self.intervals.clone();
        let of_threads = threads.iter_mut().map(|thread| &mut thread.counted);
        let of_intervals = intervals.iter_mut().map(|interval| &mut interval.counted);
        for counted in of_threads.chain(of_intervals) {
            verdict.correct(counted);
        }
        let threads_created = forks(&self.root, &self.target)
            .zip(self.forks_at_begin)
            .map(|(now, begin)| now.saturating_sub(begin));
        let unseen = threads_created.map(|created| created.saturating_sub(self.threads_born));
        verdict.unseen(unseen, period_for(self.smoothed_cost_ns));
        Collected {
            threads,
            intervals,
            processes_peak: self.processes_peak,
            threads_created,
            unavailable: verdict.rows,
        }
    }

    /// Takes a last sample and ends the sampling.
    pub(crate) fn finish(mut self) -> Collected {
        self.sample();
        if let Some(hierarchy) = &self.hierarchy {
            for thread in self.threads.values_mut() {
                thread.look_for_group(&mut self.reader, hierarchy, true);
            }
        }
        self.so_far()
    }

    fn verdict(&self) -> Disbelieved {
        Disbelieved::new(&self.root, &self.target, self.present, &self.evidence)
    }

    fn note(&mut self, counters: &SampleCounters) {
        let Sampled { processes, threads, runnable, .. } = counters.sampled;
        self.processes_peak = self.processes_peak.max(processes);
        let earlier_ns = self.sampled_ns.replace(counters.now_ns);
        let Some(at_ns) = earlier_ns else { return };
        let length_ns = counters.now_ns.saturating_sub(at_ns);
        let counted = counters.delta;
        self.intervals.push(SampledInterval { at_ns, length_ns, counted, threads, processes, runnable });
    }
}

/// The period at which samples of this cost take no more than their share.
fn period_for(cost_ns: u64) -> u64 {
    cost_ns.saturating_mul(COST_SHARE).clamp(SHORTEST_PERIOD_NS, LONGEST_PERIOD_NS)
}

/// Processes and threads created on the machine; nothing for a smaller target, of which the kernel keeps no such count.
fn forks(root: &Path, target: &SampleTarget) -> Option<u64> {
    let whole = matches!(target, SampleTarget::Machine);
    let snapshot = || crate::system::Snapshot::read(root, None, crate::system::Detail::Totals);
    whole.then(snapshot).and_then(|snapshot| snapshot.forks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_keeps_the_cost_at_one_percent() {
        assert_eq!(period_for(0), 100_000_000);
        assert_eq!(period_for(1_000_000), 100_000_000, "1 ms in 100 ms is 1 %");
        assert_eq!(period_for(3_500_000), 350_000_000);
        assert_eq!(period_for(u64::MAX), LONGEST_PERIOD_NS);
    }
}
