//! The CPU quota and its period, from when spinners ran. Pure, and the only place where they are inferred.
//!
//! The kernel's bandwidth control (kernel/sched/fair.c, Linux 6.18: `distribute_cfs_runtime`, `throttle_cfs_rq`) stops a group when its quota is
//! used up. A timer refills the quota, and the group goes on. So the gaps of a spinner that end together with a period show the period. The
//! CPU time that all spinners were charged from one refill to the next is the quota. Gaps in which others had the CPU end anywhere, and are
//! neither.
//!
//! `grid` finds the refills, `charged` adds up what ran between them.

mod charged;
mod grid;

use charged::Candidate;
use grid::{Gap, Grid};
use serde::{Deserialize, Serialize};

/// A shorter gap is an interrupt, and counts as running.
const GAP_NS: f64 = 200_000.0;
/// Of the gaps' lengths that must end on the grid, or of the periods whose running time must be the same.
const SHARE: f64 = 0.6;
/// How likely unrelated gaps may look like those of a quota.
const BY_CHANCE: f64 = 1e-4;
/// Of the gaps' lengths that must end on the grid where running times differ: without looks at the CPU clock they do, by ticks.
const MOST_ALIGNED: f64 = 0.9;
/// Of the periods that must have the same running time, before others are left out.
const NEARLY_ALL: f64 = 0.7;
/// Tried where gaps of others hide the period: the kernel's default, and what some platforms take.
const USUAL_PERIODS_NS: [f64; 2] = [20e6, 100e6];
/// A fitted period is a usual one if it differs by no more.
const SAME_PERIOD: f64 = 0.01;
/// Of the CPUs of all spinners, that a quota may be which only the same running times tell.
const MOST_OF_SPINNERS: f64 = 0.9;
/// The kernel takes no quota below 1 ms (kernel/sched/core.c: `min_bw_quota_period_ns`). The inferred one may be a little less than that.
const SMALLEST_NS: f64 = 900_000.0;
/// What periods together may run more than their quota.
const NEAR: f64 = 0.02;
/// What a CPU may run beyond its quota once, however long one looks: a slice that it holds (`sched_cfs_bandwidth_slice`), or a tick that is owed.
const KEPT_NS: f64 = 5e6;
/// Of the quota, that threads of a runtime may have had besides: more was busy in few periods, and is not in the others.
const MOST_OTHERS: f64 = 0.05;

/// A CPU clock whose times are all multiples of this goes in steps, as that of a sandbox that only counts ticks does.
const STEP_NS: u64 = 1_000_000;
/// Fewer times may be multiples of it by chance.
const FEWEST_IN_STEPS: usize = 4;

/// More than an invocation may take, the time in which it was stopped included.
const LONGEST_NS: u64 = 2_000_000_000_000;

/// When a spinner ran: start and end in ns from the beginning of spinning, and the CPU time that was charged for it, where it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Interval {
    /// Start, end and CPU time.
    Charged([u64; 3]),
    /// Start and end.
    Seen([u64; 2]),
}

/// A quota, as gaps of spinners show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quota {
    /// Distance of refills.
    pub period_ns: f64,
    /// CPU time of all spinners between two refills: the mean of the periods in which the quota was used up.
    pub quota_ns: f64,
    /// Lower end of the 95 % interval of that mean, in which neighbouring periods may depend on each other: an overrun is paid back.
    pub ci_low_ns: f64,
    /// Its upper end.
    pub ci_high_ns: f64,
    /// Lengths of the gaps of the quota, summed over spinners.
    pub throttled_ns: f64,
    /// How many these are.
    pub gaps: usize,
    /// Periods from the first to the last of their ends.
    pub periods: u64,
    /// A refill.
    pub first_ns: f64,
}

impl Quota {
    /// Quota by period.
    pub fn cpus(&self) -> f64 {
        self.quota_ns / self.period_ns
    }

    /// With what other threads of a runtime had, CPUs on average: they are charged to the same quota. Where that is too much to have been steady, it
    /// only widens the interval, which always holds the quota without it: they may have run in other periods than those that were averaged.
    #[must_use]
    pub fn with_others(self, others_cpus: f64) -> Self {
        let others_ns = self.period_ns * others_cpus.max(0.0);
        let steady = others_ns <= MOST_OTHERS * self.quota_ns;
        Self {
            quota_ns: self.quota_ns + if steady { others_ns } else { 0.0 },
            ci_high_ns: self.ci_high_ns + others_ns,
            ..self
        }
    }
}

/// Why gaps show no quota.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoQuota {
    /// The intervals are none.
    #[error("the intervals of a spinner are not in order, or end after more than 2000 s")]
    Disordered,
    /// They end anywhere, or there are too few.
    #[error("no gaps end together with the periods of a quota: nothing was throttled that long")]
    NoPeriod,
    /// The kernel would not have set it.
    #[error(
        "gaps end together every {:.3} ms, but a quota of {:.3} ms is below the kernel's smallest, 1 ms: other programs had the CPU",
        period_ns / 1e6,
        quota_ns / 1e6
    )]
    TooSmall {
        /// Distance of their ends.
        period_ns: f64,
        /// What ran between them.
        quota_ns: f64,
    },
    /// The kernel would not have kept it.
    #[error(
        "gaps end together every {:.3} ms, but a quota of {:.3} ms would not have let {:.3} ms run in each: other programs had the CPU",
        period_ns / 1e6,
        quota_ns / 1e6,
        ran_ns / 1e6
    )]
    Exceeded {
        /// Distance of their ends.
        period_ns: f64,
        /// What ran in the periods that look used up.
        quota_ns: f64,
        /// What ran on average in all periods.
        ran_ns: f64,
    },
}

/// A running interval as it is reckoned with.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "names end in their unit")]
struct Ran {
    start_ns: f64,
    end_ns: f64,
    cpu_ns: f64,
}

/// The quota and its period, of spinners that wanted all the time they could get; each has its intervals in order.
///
/// # Errors
/// [`NoQuota`] where no gaps come from a quota, or they contradict one.
///
/// ```
/// use swtch_faas::quota::{Interval, infer};
/// let quarter = (0..10).map(|k| Interval::Charged([100_000_000 * k, 100_000_000 * k + 25_000_000, 25_000_000]));
/// let found = infer(&[quarter.collect()])?;
/// assert_eq!((found.period_ns.round(), found.quota_ns.round(), found.cpus()), (1e8, 2.5e7, 0.25));
/// # Ok::<(), swtch_faas::quota::NoQuota>(())
/// ```
pub fn infer(spinners: &[Vec<Interval>]) -> Result<Quota, NoQuota> {
    if !spinners.iter().all(|each| is_in_order(each)) {
        return Err(NoQuota::Disordered);
    }
    let ran = running(spinners);
    let Candidate { quota, total_ns } = candidate(&ran).ok_or(NoQuota::NoPeriod)?;
    let Quota { period_ns, quota_ns, periods, .. } = quota;
    if quota_ns < SMALLEST_NS {
        return Err(NoQuota::TooSmall { period_ns, quota_ns });
    }
    // A quota holds for all periods, those too that did not use it up. What a CPU runs beyond it once, it owes.
    let periods = periods as f64;
    if total_ns > (1.0 + NEAR) * quota_ns * periods + KEPT_NS * spinners.len() as f64 {
        return Err(NoQuota::Exceeded { period_ns, quota_ns, ran_ns: total_ns / periods });
    }
    Ok(quota)
}

/// CPUs that spinners received on average, from the first start to the last end.
pub fn received(spinners: &[Vec<Interval>]) -> f64 {
    let ran: Vec<Ran> = running(spinners).into_iter().flatten().collect();
    let begin = ran.iter().map(|one| one.start_ns).fold(f64::INFINITY, f64::min);
    let end = ran.iter().map(|one| one.end_ns).fold(0.0, f64::max);
    let sum: f64 = ran.iter().map(|one| one.cpu_ns).sum();
    if end > begin { sum / (end - begin) } else { 0.0 }
}

/// Start and length of the times in which no spinner ran, in order.
pub fn idle(spinners: &[Vec<Interval>]) -> Vec<[u64; 2]> {
    let mut all: Vec<(u64, u64)> = spinners.iter().flatten().map(|one| one.ends()).collect();
    all.sort_unstable();
    let mut reached = all.first().map_or(0, |first| first.0);
    let mut found = Vec::new();
    for (start, end) in all {
        if start.saturating_sub(reached) as f64 >= GAP_NS {
            found.push([reached, start - reached]);
        }
        reached = reached.max(end);
    }
    found
}

/// CPUs that spinners received in each whole window, from a time on.
pub fn shares(spinners: &[Vec<Interval>], first_ns: f64, window_ns: f64, span_ns: f64) -> Vec<f64> {
    let count = if window_ns > 0.0 { ((span_ns - first_ns) / window_ns).floor().max(0.0) as u64 } else { 0 };
    let grid = Grid { first_ns, period_ns: window_ns };
    charged::in_periods(&running(spinners), grid, 0, count as i64)
        .into_iter()
        .map(|ns| ns / window_ns)
        .collect()
}

impl Interval {
    fn ends(self) -> (u64, u64) {
        match self {
            Self::Charged([start, end, _]) | Self::Seen([start, end]) => (start, end),
        }
    }

    fn cpu_ns(self) -> Option<u64> {
        if let Self::Charged([.., cpu_ns]) = self { Some(cpu_ns) } else { None }
    }

    fn seen(self) -> Self {
        let (start, end) = self.ends();
        Self::Seen([start, end])
    }
}

/// Whether intervals follow each other and are of one invocation.
pub(crate) fn is_in_order(intervals: &[Interval]) -> bool {
    let ends: Vec<u64> =
        intervals.iter().map(|one| one.ends()).flat_map(|(start, end)| [start, end]).collect();
    ends.is_sorted() && ends.last().is_none_or(|last| *last <= LONGEST_NS)
}

/// When spinners ran, by their CPU clock where it is not one of ticks. A good one may be far behind the time that passed: programs that
/// switch much take the CPU for less than a gap, and what a hypervisor steals has passed too.
fn running(spinners: &[Vec<Interval>]) -> Vec<Vec<Ran>> {
    let times: Vec<u64> =
        spinners.iter().flatten().filter_map(|one| one.cpu_ns()).filter(|ns| *ns > 0).collect();
    if times.len() < FEWEST_IN_STEPS || !times.iter().all(|ns| ns.is_multiple_of(STEP_NS)) {
        return spinners.iter().map(|each| without_short_gaps(each)).collect();
    }
    let seen = |each: &Vec<Interval>| each.iter().map(|one| one.seen()).collect::<Vec<Interval>>();
    spinners.iter().map(|each| without_short_gaps(&seen(each))).collect()
}

/// Joins intervals with an interrupt between them. A runtime that was busy with something of its own saw a gap, though it ran: its CPU time
/// says so, and the interval is longer then.
fn without_short_gaps(intervals: &[Interval]) -> Vec<Ran> {
    let mut found: Vec<Ran> = Vec::with_capacity(intervals.len());
    for (place, interval) in intervals.iter().enumerate() {
        let (start, end) = interval.ends();
        let (start_ns, mut end_ns) = (start as f64, end.max(start) as f64);
        let cpu_ns = interval.cpu_ns().map(|ns| ns as f64);
        if let (Some(cpu_ns), Some(next)) = (cpu_ns, intervals.get(place + 1)) {
            end_ns = end_ns.max((start_ns + cpu_ns).min(next.ends().0 as f64));
        }
        let ran_ns = cpu_ns.unwrap_or(end_ns - start_ns);
        match found.last_mut() {
            Some(last) if start_ns - last.end_ns < GAP_NS => {
                let joined_ns = if cpu_ns.is_some() { 0.0 } else { (start_ns - last.end_ns).max(0.0) };
                *last = Ran { start_ns: last.start_ns, end_ns, cpu_ns: last.cpu_ns + joined_ns + ran_ns };
            }
            _ => found.push(Ran { start_ns, end_ns, cpu_ns: ran_ns }),
        }
    }
    found
}

/// What the gaps show, whether the kernel would allow it or not.
fn candidate(spinners: &[Vec<Ran>]) -> Option<Candidate> {
    let gap = |pair: &[Ran]| Gap::new(pair[0].end_ns, pair[1].start_ns);
    let gaps: Vec<Gap> = spinners.iter().flat_map(|each| each.windows(2).map(gap)).collect();
    // A gap of others is shorter than those of a quota, or it does not matter which it is.
    let typical_ns = grid::typical_length_ns(&gaps);
    let heavy: Vec<Gap> = gaps.into_iter().filter(|gap| gap.length_ns() >= typical_ns / 4.0).collect();
    let longest = grid::longest(&heavy, typical_ns);
    let strongest = grid::strongest_period_ns(&longest)?;
    if let Some(grid) = grid::fitted(&longest, strongest).filter(|grid| more_than_chance(&longest, *grid)) {
        let found = charged::candidate(spinners, &heavy, grid, NEARLY_ALL);
        let aligned = || grid::aligned_share(&longest, grid) >= MOST_ALIGNED;
        let found =
            found.or_else(|| aligned().then(|| charged::candidate(spinners, &heavy, grid, 0.0)).flatten());
        if found.is_some() {
            return found;
        }
    }
    // With many others the gaps alone do not tell it, but that the same time ran in every period does.
    USUAL_PERIODS_NS.into_iter().find_map(|period_ns| {
        let grid = grid::fitted(&longest, period_ns)?;
        let usual = (grid.period_ns / period_ns - 1.0).abs() <= SAME_PERIOD;
        let found = usual.then(|| charged::candidate(spinners, &heavy, grid, SHARE)).flatten()?;
        let cpus = found.quota.cpus();
        let fits = cpus <= MOST_OF_SPINNERS * spinners.len() as f64;
        (fits && charged::is_idle_before_refills(spinners, grid, cpus)).then_some(found)
    })
}

/// Whether gaps end on a grid that would not if it were nothing to them.
fn more_than_chance(gaps: &[Gap], grid: Grid) -> bool {
    let by_chance = ((grid.early_ns() + grid.late_ns()) / grid.period_ns).min(1.0);
    let ended = gaps.iter().filter(|gap| grid.has(**gap)).count();
    // Two ends decide where the grid lies; the others are a test of it.
    let tail = grid::tail(gaps.len().saturating_sub(2), ended.saturating_sub(2), by_chance);
    grid::aligned_share(gaps, grid) >= SHARE && tail < BY_CHANCE
}
