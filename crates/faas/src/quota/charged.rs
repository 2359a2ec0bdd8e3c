//! What spinners were charged between refills.

use super::grid::{FEWEST, Gap, Grid, LATE_NS};
use super::{NEARLY_ALL, Quota, Ran};
use swtch_stats::{mean, median, series_mean_interval};

/// The share of periods that must end inside a gap.
const COVERED: f64 = 0.5;
/// Running times that differ by no more are the same; or by what is charged late, if that is more.
const SAME: f64 = 0.01;
/// Of each spinner: between two looks at its CPU clock, and what belongs to that.
const CHARGED_LATE_NS: f64 = 150_000.0;
/// Share of the periods: if more have no running time, the quota is the cause.
const IDLE: f64 = 0.05;
/// What most periods may run more than the quota.
const ABOVE: f64 = 1.05;
/// Of the quota's interval.
const CONFIDENCE: f64 = 0.95;

/// A quota that gaps show, whether the kernel would allow it or not.
#[derive(Debug)]
pub(super) struct Candidate {
    pub quota: Quota,
    /// What ran in all periods.
    pub total_ns: f64,
}

/// The running time of the periods that end in a gap. `None` where these are few, or others ran longer than a quota lets them.
///
/// `least_alike`: the share of these periods in which it must be the same.
pub(super) fn candidate(
    spinners: &[Vec<Ran>],
    gaps: &[Gap],
    grid: Grid,
    least_alike: f64,
) -> Option<Candidate> {
    let throttles: Vec<Gap> = gaps.iter().copied().filter(|gap| grid.has(*gap)).collect();
    let number = |gap: &Gap| grid.number(gap.end_ns);
    let (first, last) = (throttles.iter().map(number).min()?, throttles.iter().map(number).max()?);
    let periods = usize::try_from(last - first).ok()?;
    let mut used_up = vec![false; periods + 1];
    for refill in throttles.iter().flat_map(|gap| grid.ended_by(*gap)).filter(|refill| *refill > first) {
        used_up[(refill - first) as usize] = true;
    }
    let covered = used_up.iter().filter(|used| **used).count();
    if periods + 1 < FEWEST || (covered as f64) < COVERED * periods as f64 {
        return None;
    }
    let ran_ns = in_periods(spinners, grid, first, last);
    let total_ns: f64 = ran_ns.iter().sum();
    let odd = |place: &usize| (first + 1 + *place as i64).rem_euclid(2) == 1;
    let odd_ns: f64 = (0..periods).filter(odd).map(|place| ran_ns[place]).sum();
    if odd_ns.min(total_ns - odd_ns) < IDLE * total_ns {
        // Nothing runs in every other period: it is half of one.
        let start = if odd_ns > total_ns / 2.0 { 0.0 } else { 1.0 };
        let twice =
            Grid { first_ns: grid.first_ns + start * grid.period_ns, period_ns: 2.0 * grid.period_ns };
        return candidate(spinners, gaps, twice, least_alike);
    }
    // Where the quota before was not used up, some of it may have stayed with a CPU.
    let whole: Vec<f64> = (1..=periods)
        .filter(|place| used_up[*place] && (*place == 1 || used_up[place - 1]))
        .map(|place| ran_ns[place - 1])
        .collect();
    let of = quota_periods(&whole, spinners.len(), least_alike)?;
    let quota_ns = mean(&of);
    let mut ascending = ran_ns.clone();
    ascending.sort_by(f64::total_cmp);
    let most_ns = ascending[ascending.len() - 1 - ascending.len() / 10];
    if most_ns > quota_ns * ABOVE + spinners.len() as f64 * LATE_NS {
        return None;
    }
    // What one period overran, the next one pays.
    let interval = series_mean_interval(&of, CONFIDENCE)?;
    let quota = Quota {
        period_ns: grid.period_ns,
        quota_ns,
        ci_low_ns: interval.low,
        ci_high_ns: interval.high,
        throttled_ns: throttles.iter().map(|gap| gap.length_ns()).sum(),
        gaps: throttles.len(),
        periods: periods as u64,
        first_ns: grid.first_ns,
    };
    Some(Candidate { quota, total_ns })
}

/// Of the running times of used-up periods, those whose mean is the quota.
fn quota_periods(whole: &[f64], spinners: usize, least_alike: f64) -> Option<Vec<f64>> {
    if whole.len() < FEWEST - 1 {
        return None;
    }
    let middle_ns = median(whole);
    let slack_ns = (SAME * middle_ns).max(CHARGED_LATE_NS * spinners as f64);
    let alike: Vec<f64> = whole.iter().copied().filter(|ran| (ran - middle_ns).abs() <= slack_ns).collect();
    let (n, n_alike) = (whole.len() as f64, alike.len() as f64);
    if n_alike < least_alike * n {
        return None;
    }
    // Many periods in which nothing ran owe that to those before: all count.
    let idle = whole.iter().filter(|ran| **ran == 0.0).count();
    let paid_back = idle as f64 > IDLE * n;
    // A period that others took a part of, or whose refill was seen late, is not one of the quota, though a gap of theirs ended it.
    let most_alike = n_alike >= NEARLY_ALL * n && !paid_back;
    Some(if most_alike || least_alike > 0.0 { alike } else { whole.to_vec() })
}

/// How long spinners ran in each period between two refills: first that which ends with the refill after `first`.
pub(super) fn in_periods(spinners: &[Vec<Ran>], grid: Grid, first: i64, last: i64) -> Vec<f64> {
    let mut ran_ns = vec![0.0; usize::try_from(last - first).unwrap_or(0)];
    for one in spinners.iter().flatten() {
        let number_of = |time_ns: f64| ((time_ns - grid.first_ns) / grid.period_ns).floor() as i64 + 1;
        let mut begin = one.start_ns.max(grid.first_ns + first as f64 * grid.period_ns);
        let mut number = number_of(begin).max(first + 1);
        while begin < one.end_ns && number <= last {
            let until = (grid.first_ns + number as f64 * grid.period_ns).min(one.end_ns);
            if until > begin {
                let part = (until - begin) / (one.end_ns - one.start_ns);
                ran_ns[(number - first - 1) as usize] += part * one.cpu_ns;
            }
            begin = begin.max(until);
            number += 1;
        }
    }
    ran_ns
}

/// Whether less runs in the last fifth of periods than in the others: else the period may be a fifth of that.
pub(super) fn is_idle_before_refills(spinners: &[Vec<Ran>], grid: Grid, cpus: f64) -> bool {
    let end_ns = spinners.iter().flatten().map(|one| one.end_ns).fold(0.0, f64::max);
    let periods = ((end_ns - grid.first_ns) / grid.period_ns) as i64;
    let fifths = Grid { period_ns: grid.period_ns / 5.0, ..grid };
    let ran_ns = in_periods(spinners, fifths, 0, 5 * periods);
    let last: Vec<f64> = ran_ns.iter().copied().skip(4).step_by(5).collect();
    !last.is_empty() && mean(&last) < cpus * fifths.period_ns / 2.0
}
