//! Runs in turns, compared pair by pair.

use super::{Difference, LEAST_TO_TRIM, Level, TRIMMED_SHARE, Undecided, decided};
use crate::moments::{mean, variance};
use crate::quantiles::{median, sorted};

/// With fewer pairs of runs, they are compared without pairing: what pairing saves is then less than the degrees of freedom that it costs.
pub const LEAST_PAIRS: usize = 10;

/// Compares the values of runs in pairs, **one value a run**: those at the same place of both sides ran one after the other, sometimes the old one first and
/// sometimes the new one. What lasts for longer than a pair disturbs both, and their ratio has nothing of it.
///
/// The interval is that of the trimmed mean of the logarithms of the ratios (Tukey and McLaughlin, "Less vulnerable confidence and significance procedures
/// for location based on a single sample", Sankhya 25 (1963)). Where neighbouring ratios resemble each other, as they do when the second runs of two
/// pairs are neighbours, their variance is that much larger.
///
/// # Errors
/// [`Undecided`]: fewer than [`LEAST_PAIRS`] pairs, or a side that is not clearly above 0.
///
/// ```
/// let old = [100.0, 150.0, 90.0, 140.0, 95.0, 155.0, 99.0, 148.0, 97.0, 151.0];
/// let noise = [1.0, 1.01, 0.99, 1.005, 1.0, 0.995, 1.01, 0.99, 1.0, 1.0];
/// let new: Vec<f64> = old.iter().zip(noise).map(|(value, noise)| value * 1.05 * noise).collect();
/// let found = swtch_stats::compare_pairs(&old, &new).unwrap();
/// assert!(found.interval.low > 1.0 && found.p < 0.05);
/// assert!(swtch_stats::compare_runs(&old, &new).unwrap().p > 0.5);
/// assert!(swtch_stats::compare_pairs(&old[..3], &new[..3]).is_err());
/// ```
pub fn compare_pairs(old: &[f64], new: &[f64]) -> Result<Difference, Undecided> {
    if old.len() != new.len() || old.len() < LEAST_PAIRS {
        return Err(Undecided::FewLaunches);
    }
    let is_positive = |values: &[f64]| values.iter().all(|value| value.is_finite() && *value > 0.0);
    if !is_positive(old) {
        return Err(Undecided::OldNotPositive);
    }
    if !is_positive(new) {
        return Err(Undecided::NewNotPositive);
    }
    let logs: Vec<f64> = old.iter().zip(new).map(|(old, new)| (new / old).ln()).collect();
    let found = of_pairs(&logs);
    let nothing = Level { mean: 0.0, variance: 0.0, degrees: 1.0 };
    Ok(decided(median(new) / median(old), found.mean, nothing.spread_with(found, found.mean)))
}

/// The trimmed mean of logarithms in the order of the pairs.
fn of_pairs(logs: &[f64]) -> Level {
    let ascending = sorted(logs);
    let count = ascending.len();
    let cut = if count < LEAST_TO_TRIM { 0 } else { (TRIMMED_SHARE * count as f64) as usize };
    let mut kept = &ascending[cut..count - cut];
    if kept[0] == kept[kept.len() - 1] {
        // All that differ were cut off, and they are all that is known about the noise.
        kept = &ascending;
    }
    // Winsorized: what is cut off counts as the outermost that is kept.
    let (low, high) = (kept[0], kept[kept.len() - 1]);
    let winsorized: Vec<f64> = logs.iter().map(|log| log.clamp(low, high)).collect();
    let (n, h) = (count as f64, kept.len() as f64);
    let of_the_mean = variance(&winsorized, 1) * (n - 1.0) / (h * (h - 1.0));
    let resemblance = crate::autocorrelation::lag1_autocorrelation(&winsorized).unwrap_or(0.0).max(0.0);
    Level { mean: mean(kept), variance: of_the_mean * (1.0 + 2.0 * resemblance), degrees: h - 1.0 }
}
