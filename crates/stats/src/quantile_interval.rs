//! Intervals for quantiles other than the median, between two order statistics.

/// The interval of a quantile, with ends that are `None` where there are too few values for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileInterval {
    /// The value that the quantile is above, with at least half of the doubt allowed on this side.
    pub low: Option<f64>,
    /// The value that the quantile is below, likewise.
    pub high: Option<f64>,
}

/// The order statistics that hold the quantile `q` with at least the given confidence, whatever the distribution. Half of
/// the rest is on either side. Sources: Conover, "Practical Nonparametric Statistics" (1999), §3.2; David and Nagaraja,
/// "Order Statistics" (2003), §7.1.
///
/// The number `B` of values below the quantile is binomial with probability `q`. The value at rank `r` is not above the quantile when
/// `r <= B`: the low end has the largest `r` with `P(B < r) <= (1 - confidence) / 2`. The high end has the smallest `r` with
/// `P(B >= r) <= (1 - confidence) / 2`. Where even the extreme value does not reach that, the end is `None`: 95 % of the largest 10 % take
/// 36 values.
///
/// ```
/// let values: Vec<f64> = (1..=200).map(f64::from).collect();
/// let interval = swtch_stats::quantile_interval_sorted(&values, 0.9, 0.95);
/// assert_eq!((interval.low, interval.high), (Some(171.0), Some(189.0)));
/// assert_eq!(swtch_stats::quantile_interval_sorted(&values[..20], 0.9, 0.95).high, None);
/// ```
pub fn quantile_interval_sorted(sorted: &[f64], q: f64, confidence: f64) -> QuantileInterval {
    let tail = 0.5 * (1.0 - confidence);
    // The values below the quantile `q` are as those above `1 - q`.
    let rank_from = |p: f64| largest_rank(sorted.len(), p, tail);
    QuantileInterval {
        low: rank_from(q).map(|rank| sorted[rank - 1]),
        high: rank_from(1.0 - q).map(|rank| sorted[sorted.len() - rank]),
    }
}

/// The largest rank `r >= 1` with `P(B < r) <= tail` for a binomial `B` of `n` and `p`.
fn largest_rank(n: usize, p: f64, tail: f64) -> Option<usize> {
    if p <= 0.0 || n == 0 {
        return None;
    }
    let odds = (p / (1.0 - p)).ln();
    // In logarithms, so that nothing underflows for any `n`.
    let mut log_weight = n as f64 * (1.0 - p).ln();
    let mut below = 0.0;
    let mut rank = 0;
    for k in 0..n {
        below += log_weight.exp();
        // The margin keeps an exactly attained confidence from being lost to rounding.
        if below > tail + 1e-12 {
            break;
        }
        rank = k + 1;
        log_weight += ((n - k) as f64).ln() - ((k + 1) as f64).ln() + odds;
    }
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, median_interval_sorted, sorted};

    #[test]
    fn of_the_median_it_is_the_median_interval() {
        let mut rng = Rng::new(5);
        for n in [6, 7, 12, 25, 101, 200, 201] {
            let values = sorted(&(0..n).map(|_| rng.unit_f64()).collect::<Vec<_>>());
            let median = median_interval_sorted(&values, 0.95).unwrap();
            let found = quantile_interval_sorted(&values, 0.5, 0.95);
            assert_eq!((found.low, found.high), (Some(median.low), Some(median.high)), "{n}");
        }
    }

    #[test]
    fn the_high_end_of_a_high_quantile_takes_many_values() {
        let values: Vec<f64> = (1..=400).map(f64::from).collect();
        // 0.9^35 = 0.02503 > 0.025 >= 0.9^36; 0.99^367 > 0.025 >= 0.99^368.
        for (q, n) in [(0.9, 36), (0.99, 368)] {
            assert_eq!(quantile_interval_sorted(&values[..n - 1], q, 0.95).high, None);
            assert_eq!(quantile_interval_sorted(&values[..n], q, 0.95).high, Some(n as f64));
        }
    }

    #[test]
    fn it_covers_as_often_as_it_says() {
        let mut rng = Rng::new(3);
        let covered = (0..2_000)
            .filter(|_| {
                let values: Vec<f64> = (0..100).map(|_| -(1.0 - rng.unit_f64()).ln()).collect();
                let found = quantile_interval_sorted(&sorted(&values), 0.9, 0.95);
                // The quantile of an exponential: -ln 0.1.
                found.low.unwrap() <= 10_f64.ln() && 10_f64.ln() <= found.high.unwrap()
            })
            .count();
        assert!((1_880..=1_970).contains(&covered), "{covered}");
    }

    #[test]
    fn nothing_has_no_interval() {
        assert_eq!(quantile_interval_sorted(&[], 0.9, 0.95), QuantileInterval { low: None, high: None });
        assert_eq!(quantile_interval_sorted(&[1.0], 1.0, 0.95).high, None);
    }
}
