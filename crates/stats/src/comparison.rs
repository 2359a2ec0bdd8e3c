//! Whether two machines, builds or settings differ by more than runs of the same one do.

mod pairs;

pub use pairs::{LEAST_PAIRS, compare_pairs};

use crate::intervals::Interval;
use crate::moments::{mean, variance};
use crate::quantiles::{median, sorted};
use crate::student_distribution::{two_sided_point, two_sided_tail};

/// With fewer launches than this, the noise between them is not known.
pub const LEAST_LAUNCHES: usize = 3;
/// Share of the launches that is cut off at either end, from [`LEAST_TO_TRIM`] launches on. So one launch in five that met a slow phase of
/// the host does not decide.
const TRIMMED_SHARE: f64 = 0.2;
/// With fewer launches, cutting costs more than it saves: three values of five do not say how far the five differ.
const LEAST_TO_TRIM: usize = 6;
/// Variance between runs of the same measurement, as a share of the variance between the launches of one run. Page placement is redrawn by
/// each launch, but the machine's state lasts longer than a run. 20 quick runs one after another on a shared virtual machine were each
/// compared with the three runs after them. At 0, 15.4 % of 2,970 figures differed at 95 %; at 0.25, 5.6 %; at 0.5, 3.6 %.
const RUN_VARIANCE_SHARE: f64 = 0.5;
/// Confidence of the ratio's interval.
pub const RATIO_CONFIDENCE: f64 = 0.95;

/// One side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The figure as it is printed: the numerator or the denominator of the ratio.
    pub figure: f64,
    /// The same figure of each launch of a fresh process.
    pub launches: &'a [f64],
}

/// How two figures differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The new figure over the old one.
    pub ratio: f64,
    /// 95 % interval of the ratio; contains it and is positive.
    pub interval: Interval,
    /// Probability of so large a difference between two runs that measure the same, two-sided; at least 0.05 exactly where the interval contains 1.
    pub p: f64,
}

/// Why two figures cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undecided {
    /// A side has fewer than [`LEAST_LAUNCHES`] launches.
    #[error("fewer than {LEAST_LAUNCHES} processes")]
    FewLaunches,
    /// The old figure is not a positive number, or its launches are not: there is nothing to divide by.
    #[error("the old figure may be 0")]
    OldNotPositive,
    /// The same of the new figure: the ratio has no positive interval.
    #[error("the new figure may be 0")]
    NewNotPositive,
}

/// Compares two sides, **one value a launch of a fresh process** (its median, say). Each launch draws page placement and address layout
/// again, so values within one launch say nothing about the next. Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM
/// 2013.
///
/// The interval is Welch's for the difference of two trimmed means of logarithms (Yuen, "The two-sample trimmed t for unequal population variances",
/// Biometrika 61 (1974)), which is one for the ratio. To the variance of each mean comes half of the variance between launches, by which whole runs of
/// the same measurement differ. The printed figures need not be these means: the interval is widened to their ratio where it is outside.
///
/// # Errors
/// [`Undecided`]: too few launches, or a side that is not clearly above 0 (a cost with its baseline subtracted may be).
///
/// ```
/// use swtch_stats::{Side, Undecided, compare_launches};
/// let launches = [1000.0, 1010.0, 990.0, 1005.0, 995.0];
/// let slower = launches.map(|ns| ns * 1.2);
/// let (old, new) = (Side { figure: 1000.0, launches: &launches }, Side { figure: 1200.0, launches: &slower });
/// let found = compare_launches(old, new).unwrap();
/// assert!(found.ratio == 1.2 && found.interval.low > 1.0 && found.p < 0.001);
/// assert!(compare_launches(old, old).unwrap().p > 0.99);
/// assert_eq!(compare_launches(Side { figure: 0.0, ..old }, new), Err(Undecided::OldNotPositive));
/// ```
pub fn compare_launches(old: Side<'_>, new: Side<'_>) -> Result<Difference, Undecided> {
    compare(old, new, RUN_VARIANCE_SHARE)
}

/// Compares the values of independent runs, **one value a run**, the runs of both sides in mixed order. It does as [`compare_launches`]
/// does, but adds nothing to the variance between the values. The figure of each side is the median of its runs.
///
/// # Errors
/// [`Undecided`]: too few runs, or a side that is not clearly above 0.
///
/// ```
/// let found = swtch_stats::compare_runs(&[100.0, 102.0, 98.0], &[110.0, 112.0, 108.0]).unwrap();
/// assert!(found.ratio == 1.1 && found.interval.low > 1.0 && found.p < 0.01);
/// ```
pub fn compare_runs(old: &[f64], new: &[f64]) -> Result<Difference, Undecided> {
    let side = |launches| Side { figure: median(launches), launches };
    compare(side(old), side(new), 0.0)
}

/// The 95 % interval of the difference of two means, one value a run, by Welch ("The generalization of 'Student's' problem when several different
/// population variances are involved", Biometrika 34 (1947)). Values may be 0 or negative. Absent with fewer than [`LEAST_LAUNCHES`] runs on a side.
///
/// ```
/// let found = swtch_stats::difference_of_runs(&[0.0, 1.0, 2.0], &[10.0, 11.0, 12.0]).unwrap();
/// assert!((found.low - 7.733).abs() < 1e-3 && (found.high - 12.267).abs() < 1e-3, "{found:?}");
/// assert_eq!(swtch_stats::difference_of_runs(&[1.0], &[2.0]), None);
/// ```
pub fn difference_of_runs(old: &[f64], new: &[f64]) -> Option<Interval> {
    if old.len().min(new.len()) < LEAST_LAUNCHES {
        return None;
    }
    let difference = mean(new) - mean(old);
    let level = |values: &[f64]| {
        let runs = values.len() as f64;
        Level { mean: mean(values), variance: variance(values, 1) / runs, degrees: runs - 1.0 }
    };
    let (half_width, _) = level(old).spread_with(level(new), difference);
    Some(Interval { low: difference - half_width, high: difference + half_width })
}

fn compare(old: Side<'_>, new: Side<'_>, run_share: f64) -> Result<Difference, Undecided> {
    if old.launches.len().min(new.launches.len()) < LEAST_LAUNCHES {
        return Err(Undecided::FewLaunches);
    }
    let before = Level::of(old, run_share).ok_or(Undecided::OldNotPositive)?;
    let after = Level::of(new, run_share).ok_or(Undecided::NewNotPositive)?;
    let difference = after.mean - before.mean;
    Ok(decided(new.figure / old.figure, difference, before.spread_with(after, difference)))
}

/// From the printed ratio, the difference of the logarithms, half the width of its interval, and its probability.
fn decided(ratio: f64, difference: f64, (half_width, p): (f64, f64)) -> Difference {
    // The ratio itself, not its logarithm's exponential, so that it is within its interval to the last digit.
    let interval = Interval {
        low: (difference - half_width).exp().min(ratio),
        high: (difference + half_width).exp().max(ratio),
    };
    let holds_one = interval.low <= 1.0 && 1.0 <= interval.high;
    let tail = 1.0 - RATIO_CONFIDENCE;
    // The printed figures may say the opposite of the launches, or nothing: then nothing is found.
    Difference { ratio, interval, p: if holds_one { p.max(tail) } else { p.min(tail) } }
}

/// A side as its logarithms say it.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Trimmed mean of the logarithms.
    mean: f64,
    /// Variance of that mean between runs.
    variance: f64,
    degrees: f64,
}

impl Level {
    /// Nothing where the figure, or a launch that is not cut off, is not a positive number.
    fn of(side: Side<'_>, run_share: f64) -> Option<Self> {
        let values = sorted(side.launches);
        let count = values.len();
        let cut = if count < LEAST_TO_TRIM { 0 } else { (TRIMMED_SHARE * count as f64) as usize };
        let kept = &values[cut..count - cut];
        if !kept.iter().chain([&side.figure]).all(|value| value.is_finite() && *value > 0.0) {
            return None;
        }
        // Relative to one of them, so that launches that agree have exactly its logarithm for a mean, and no variance.
        let base = kept[0];
        let relative = |values: &[f64]| values.iter().map(|value| (value / base).ln()).collect::<Vec<_>>();
        let logs = relative(kept);
        // Winsorized: what is cut off counts as the outermost that is kept.
        let ends = [logs.first(), logs.last()].into_iter().flatten();
        let mut winsorized: Vec<f64> = ends.flat_map(|end| std::iter::repeat_n(*end, cut)).collect();
        winsorized.extend(&logs);
        let between = variance(&winsorized, 1);
        if between == 0.0 && values[0] > 0.0 && values[0] < values[count - 1] {
            // All that differ were cut off, and they are all that is known about the noise.
            let all = relative(&values);
            return Some(Self::new(base, &all, variance(&all, 1), count, run_share));
        }
        Some(Self::new(base, &logs, between, count, run_share))
    }

    /// From the logarithms of the launches that are kept, relative to `base`.
    fn new(base: f64, kept: &[f64], between: f64, launches: usize, run_share: f64) -> Self {
        let (n, h) = (launches as f64, kept.len() as f64);
        let of_the_mean = between * (n - 1.0) / (h * (h - 1.0));
        Self { mean: base.ln() + mean(kept), variance: of_the_mean * (1.0 + run_share * n), degrees: h - 1.0 }
    }

    /// Half the width of the interval of `difference`, and its two-sided probability were there none.
    fn spread_with(self, other: Self, difference: f64) -> (f64, f64) {
        let sum = self.variance + other.variance;
        if sum == 0.0 {
            // Launches that all agree: any difference is one.
            return (0.0, if difference == 0.0 { 1.0 } else { 0.0 });
        }
        let degrees =
            sum * sum / (self.variance.powi(2) / self.degrees + other.variance.powi(2) / other.degrees);
        let error = sum.sqrt();
        (
            error * two_sided_point(1.0 - RATIO_CONFIDENCE, degrees),
            two_sided_tail(difference / error, degrees),
        )
    }
}

#[cfg(test)]
mod tests;
