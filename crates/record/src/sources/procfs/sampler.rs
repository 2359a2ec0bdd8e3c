//! Takes the samples and adds up.

mod visiting;

use super::collected::{Collected, Interval, SampledThread};
use super::members::{Listed, TargetMembers};
use super::reading::Reader;
use super::tracked::{Counters, Present, Tracked};
use super::verdict::{Evidence, Verdict};
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
/// The sampling may take this part of one processor: one in a hundred.
const COST_SHARE: u64 = 100;

/// What one sample saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sampled {
    /// Whether anything of the target is still there: threads that have not ended, or a control group, even an empty one.
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
    /// Threads that left the control group alive: should they return, they count from there.
    left: HashSet<u32>,
    finished: Vec<SampledThread>,
    intervals: Vec<Interval>,
    evidence: Evidence,
    sampled_ns: Option<u64>,
    samples: u64,
    visits: u64,
    own_cpu_ns: u64,
    smoothed_cost_ns: u64,
    most: Sampled,
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
    new: u64,
}

impl Sampler {
    /// Prepares the sampling of `target` under `root`: `/`, or a folder that holds a `proc`.
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
            present: Present::UNKNOWN,
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
            visits: 0,
            own_cpu_ns: 0,
            smoothed_cost_ns: 0,
            most: Sampled::default(),
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
        self.own_cpu_ns += cost_ns;
        // Smoothed, so that one page fault does not change the period; the first sample, which opens everything, counts less.
        self.smoothed_cost_ns = (self.smoothed_cost_ns * 3 + cost_ns) / 4;
        counters.sampled
    }

    /// The time to let pass before the next sample: 100 ms, or so much that the sampling takes 1 % of a processor.
    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns())
    }

    fn period_ns(&self) -> u64 {
        period_for(self.smoothed_cost_ns)
    }

    /// Takes out the threads that ended and the intervals so far, so that a recording of days needs no more memory than one
    /// of minutes. What is taken out is not in [`Collected`] any more; its sums are.
    pub(crate) fn drain(&mut self) -> (Vec<SampledThread>, Vec<Interval>) {
        let verdict = self.verdict();
        let (mut threads, mut intervals) =
            (std::mem::take(&mut self.finished), std::mem::take(&mut self.intervals));
        for thread in &mut threads {
            verdict.correct_thread(thread);
        }
        for interval in &mut intervals {
            verdict.correct_interval(interval);
        }
        (threads, intervals)
    }

    /// What the samples so far saw, without ending the sampling; [`drain`](Self::drain) then takes out what is over.
    pub(crate) fn so_far(&self) -> Collected {
        let verdict = self.verdict();
        let mut threads = self.finished.clone();
        threads.extend(self.threads.values().map(|thread| thread.thread(false)));
        let mut intervals = self.intervals.clone();
        for thread in &mut threads {
            verdict.correct_thread(thread);
        }
        for interval in &mut intervals {
            verdict.correct_interval(interval);
        }
        self.collected(threads, intervals, verdict)
    }

    /// Takes a last sample and ends the sampling.
    pub(crate) fn finish(mut self) -> Collected {
        self.sample();
        let verdict = self.verdict();
        if let Some(hierarchy) = &self.hierarchy {
            for thread in self.threads.values_mut() {
                thread.look_for_group(&mut self.reader, hierarchy, true);
            }
        }
        let still_there: Vec<SampledThread> =
            self.threads.values().map(|thread| thread.thread(false)).collect();
        self.finished.extend(still_there);
        let (threads, intervals) = self.drain();
        self.collected(threads, intervals, verdict)
    }

    fn collected(
        &self,
        mut threads: Vec<SampledThread>,
        intervals: Vec<Interval>,
        mut verdict: Verdict,
    ) -> Collected {
        let period_ns = self.period_ns();
        let threads_created = forks(&self.root, &self.target)
            .zip(self.forks_at_begin)
            .map(|(now, begin)| now.saturating_sub(begin));
        threads.sort_by_key(|thread| (thread.pid, thread.tid, thread.first_ns));
        verdict.unseen(&self.target, threads_created.is_some(), period_ns);
        Collected {
            threads,
            intervals,
            processes_peak: self.most.processes,
            threads_peak: self.most.threads,
            threads_created,
            threads_unseen: threads_created.map(|created| created.saturating_sub(self.threads_born)),
            samples: self.samples,
            period_ns,
            own_cpu_ns: self.own_cpu_ns,
            own_cpu_per_thread_ns: self.own_cpu_ns.checked_div(self.visits),
            unavailable: verdict.rows,
        }
    }

    fn verdict(&self) -> Verdict {
        Verdict::new(&self.root, &self.target, self.present, &self.evidence)
    }

    fn note(&mut self, counters: &SampleCounters) {
        let Sampled { processes, threads, .. } = counters.sampled;
        self.most.processes = self.most.processes.max(processes);
        self.most.threads = self.most.threads.max(threads);
        let earlier_ns = self.sampled_ns.replace(counters.now_ns);
        let Some(at_ns) = earlier_ns else { return };
        self.intervals.push(Interval {
            at_ns,
            length_ns: counters.now_ns.saturating_sub(at_ns),
            voluntary: counters.delta.voluntary,
            involuntary: counters.delta.involuntary,
            run_ns: counters.delta.run_ns,
            wait_ns: counters.delta.wait_ns,
            user_ns: counters.delta.user_ns,
            system_ns: counters.delta.system_ns,
            migrations: counters.delta.migrations,
            threads,
            processes,
            runnable: counters.sampled.runnable,
            threads_new: counters.new,
        });
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
