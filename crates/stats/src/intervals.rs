//! Confidence intervals without an assumption of normality.

use crate::quantiles::{quantile_sorted, sorted};
use crate::rng::Rng;

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// An interval for the median between two order statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianInterval {
    /// The value at `low_rank`.
    pub low: f64,
    /// The value at `high_rank`.
    pub high: f64,
    /// Rank of the lower end among the ascending values; the smallest has rank 1.
    pub low_rank: usize,
    /// Rank of the upper end; always `n + 1 - low_rank`.
    pub high_rank: usize,
    /// The probability, at least the confidence asked for, that such an interval holds the median of a continuous
    /// distribution (with ties it is larger still).
    pub coverage: f64,
}

/// The narrowest symmetric pair of order statistics that holds the median with at least the given confidence, whatever
/// the distribution. Sources: Conover, "Practical Nonparametric Statistics" (1999), §3.2; David and Nagaraja, "Order
/// Statistics" (2003), §7.1.
///
/// The number `B` of values below the median is binomial with probability one half. The values at ranks `r` and
/// `n + 1 - r` hold the median exactly when `r <= B <= n - r`. The exact binomial gives that probability. The largest
/// `r` that reaches the confidence is taken. For 200 values and 0.95 these are ranks 86 and 115 with a coverage of
/// 0.9600. The usual approximation gives the same: `n/2 - 0.98 sqrt(n)` rounded down and `n/2 + 1 + 0.98 sqrt(n)`
/// rounded up.
///
/// `None` when even the extremes do not reach the confidence: below 6 values for 0.95.
///
/// ```
/// let values: Vec<f64> = (1..=200).map(f64::from).collect();
/// let interval = swtch_stats::median_interval_sorted(&values, 0.95).unwrap();
/// assert_eq!((interval.low_rank, interval.high_rank), (86, 115));
/// assert_eq!((interval.low, interval.high), (86.0, 115.0));
/// assert!(swtch_stats::median_interval_sorted(&values[..5], 0.95).is_none());
/// ```
pub fn median_interval_sorted(sorted: &[f64], confidence: f64) -> Option<MedianInterval> {
    let (low_rank, coverage) = symmetric_rank(sorted.len(), confidence)?;
    let high_rank = sorted.len() + 1 - low_rank;
    Some(MedianInterval {
        low: sorted[low_rank - 1],
        high: sorted[high_rank - 1],
        low_rank,
        high_rank,
        coverage,
    })
}

/// [`median_interval_sorted`], or where there are too few values for it, the extremes, with the confidence that they have. They miss the
/// median only if all values are on one side of it. `None` below two values.
///
/// ```
/// let found = swtch_stats::median_interval_or_extremes(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
/// assert_eq!((found.low, found.high, found.coverage), (1.0, 5.0, 0.9375));
/// assert!(swtch_stats::median_interval_or_extremes(&[1.0], 0.95).is_none());
/// ```
pub fn median_interval_or_extremes(sorted: &[f64], confidence: f64) -> Option<MedianInterval> {
    let extremes = || match *sorted {
        [low, .., high] => Some(MedianInterval {
            low,
            high,
            low_rank: 1,
            high_rank: sorted.len(),
            coverage: 1.0 - 0.5_f64.powi(sorted.len() as i32 - 1),
        }),
        _ => None,
    };
    median_interval_sorted(sorted, confidence).or_else(extremes)
}

/// The largest rank `r` with `P(r <= B <= n - r) >= confidence`, and that probability.
///
/// Weights are relative to the middle one, so nothing underflows where it matters, for any `n`.
fn symmetric_rank(n: usize, confidence: f64) -> Option<(usize, f64)> {
    if n == 0 {
        return None;
    }
    let even = n.is_multiple_of(2);
    let top = if even { n / 2 - 1 } else { n / 2 };
    // From `top` down to 0: the weight of `k` is the weight of `k + 1` times (k + 1) / (n - k).
    let weights = |first: f64| {
        let mut weight = first;
        (0..=top).rev().map(move |k| {
            let current = weight;
            weight *= k as f64 / (n - k + 1) as f64;
            (k, current)
        })
    };
    let centre = if even { 1.0 } else { 0.0 };
    let first = if even { (n / 2) as f64 / (n / 2 + 1) as f64 } else { 1.0 };
    let total = centre + 2.0 * weights(first).map(|(_, weight)| weight).sum::<f64>();
    let mut inside = centre;
    for (k, weight) in weights(first) {
        if k == 0 {
            break;
        }
        inside += 2.0 * weight;
        // The margin keeps an exactly attained confidence, such as 1 - 2/64, from being lost to rounding.
        if inside / total >= confidence - 1e-12 {
            return Some((k, inside / total));
        }
    }
    None
}

/// The percentile bootstrap interval of any statistic: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993),
/// chapter 13. The statistic may reorder the slice it is given. The same seed gives the same interval.
///
/// It is too narrow for few values (below about 20); use [`median_interval_sorted`] where a median is enough. Empty
/// input or no resamples give NaN ends.
///
/// ```
/// use swtch_stats::{bootstrap_interval, quantile_sorted};
/// let values: Vec<f64> = (0..100).map(f64::from).collect();
/// let low_quantile = |sample: &mut [f64]| {
///     sample.sort_unstable_by(f64::total_cmp);
///     quantile_sorted(sample, 0.05)
/// };
/// let interval = bootstrap_interval(&values, low_quantile, 1000, 0.95, 1);
/// assert!(interval.low < 4.95 && 4.95 < interval.high);
/// ```
pub fn bootstrap_interval(
    values: &[f64],
    statistic: impl Fn(&mut [f64]) -> f64,
    resamples: usize,
    confidence: f64,
    seed: u64,
) -> Interval {
    if values.is_empty() {
        return Interval { low: f64::NAN, high: f64::NAN };
    }
    let mut rng = Rng::new(seed);
    let mut sample = values.to_vec();
    let estimates: Vec<f64> = (0..resamples)
        .map(|_| {
            sample.fill_with(|| values[rng.below(values.len() as u64) as usize]);
            statistic(&mut sample)
        })
        .collect();
    let estimates = sorted(&estimates);
    let tail = 0.5 * (1.0 - confidence);
    Interval { low: quantile_sorted(&estimates, tail), high: quantile_sorted(&estimates, 1.0 - tail) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, median_in_place};
    use proptest::prelude::*;

    /// From scipy 1.17.1: for r in range(1, n): binom.cdf(n - r, n, .5) - binom.cdf(r - 1, n, .5).
    #[test]
    fn ranks_match_the_exact_binomial() {
        for (n, confidence, rank, coverage) in RANKS {
            let (found, reached) = symmetric_rank(n, confidence).unwrap();
            assert_eq!(found, rank, "n = {n}, confidence {confidence}");
            assert!((reached - coverage).abs() < 1e-9, "n = {n}: {reached}");
        }
    }

    const RANKS: [(usize, f64, usize, f64); 9] = [
        (6, 0.95, 1, 0.968_750_000_000),
        (7, 0.95, 1, 0.984_375_000_000),
        (12, 0.95, 3, 0.961_425_781_250),
        (25, 0.95, 8, 0.956_714_749_336),
        (40, 0.99, 12, 0.993_573_423_904),
        (101, 0.9, 42, 0.927_242_993_122),
        (200, 0.95, 86, 0.959_962_808_387),
        (201, 0.95, 87, 0.951_998_533_946),
        (5000, 0.95, 2431, 0.950_684_141_896),
    ];

    #[test]
    fn too_few_values_have_no_interval() {
        for n in 0..6 {
            assert_eq!(symmetric_rank(n, 0.95), None, "{n}");
        }
        assert_eq!(symmetric_rank(6, 0.95).unwrap().0, 1);
        assert_eq!(symmetric_rank(7, 0.99), None);
        assert_eq!(symmetric_rank(8, 0.99).unwrap().0, 1);
    }

    #[test]
    fn an_exactly_attained_confidence_counts() {
        assert_eq!(symmetric_rank(6, 1.0 - 2.0 / 64.0).unwrap().0, 1);
    }

    #[test]
    fn very_many_values_neither_overflow_nor_take_long() {
        let (rank, coverage) = symmetric_rank(1_000_000, 0.95).unwrap();
        assert!(rank.abs_diff(499_020) <= 1, "{rank}");
        assert!((0.95..0.9505).contains(&coverage));
    }

    #[test]
    fn the_median_interval_covers_as_often_as_it_says() {
        let mut rng = Rng::new(11);
        let mut covered = 0;
        for _ in 0..2_000 {
            // Exponential: as lopsided as measured times. Its median is ln 2.
            let values: Vec<f64> = (0..25).map(|_| -(1.0 - rng.unit_f64()).ln()).collect();
            let interval = median_interval_sorted(&sorted(&values), 0.95).unwrap();
            covered += u32::from(interval.low <= 2_f64.ln() && 2_f64.ln() <= interval.high);
        }
        // Exact coverage at n = 25 is 0.9567; four standard deviations are 0.018.
        assert!((1_878..=1_950).contains(&covered), "{covered}");
    }

    #[test]
    fn bootstrap_of_a_mean_is_near_the_normal_interval_and_repeats() {
        let mut rng = Rng::new(2);
        let values: Vec<f64> = (0..400).map(|_| rng.unit_f64()).collect();
        let mean = |sample: &mut [f64]| crate::mean(sample);
        let interval = bootstrap_interval(&values, mean, 4_000, 0.95, 3);
        let half_width = 1.96 * crate::standard_deviation(&values, 1) / 20.0;
        assert!((interval.high - interval.low - 2.0 * half_width).abs() < 0.1 * half_width);
        assert_eq!(interval, bootstrap_interval(&values, mean, 4_000, 0.95, 3));
        assert_ne!(interval, bootstrap_interval(&values, mean, 4_000, 0.95, 4));
    }

    #[test]
    fn empty_inputs_give_nan_ends() {
        assert!(bootstrap_interval(&[], |_| 0.0, 10, 0.95, 1).low.is_nan());
        assert!(bootstrap_interval(&[1.0], |_| 0.0, 0, 0.95, 1).low.is_nan());
    }

    proptest! {
        #[test]
        fn ranks_are_within_range_and_coverage_suffices(n in 1_usize..3_000, confidence in 0.5..0.9999f64) {
            if let Some((rank, coverage)) = symmetric_rank(n, confidence) {
                prop_assert!(rank >= 1 && 2 * rank <= n + 1);
                prop_assert!(coverage >= confidence - 1e-12 && coverage <= 1.0);
            } else {
                prop_assert!(1.0 - 2.0 * 0.5_f64.powi(n as i32) < confidence);
            }
        }

        #[test]
        fn a_shift_moves_the_interval(shift in -100.0..100.0f64) {
            let values = [1.0, 2.0, 3.0, 4.0, 5.0];
            let interval = |values: &[f64]| bootstrap_interval(values, median_in_place, 500, 0.95, 1);
            let (before, after) = (interval(&values), interval(&values.map(|value| value + shift)));
            prop_assert!((after.low - before.low - shift).abs() < 1e-9);
            prop_assert!((after.high - before.high - shift).abs() < 1e-9);
        }
    }
}
