//! Quantiles and medians.

/// The `q`-quantile of ascending values, by linear interpolation between order statistics. It is type 7 of Hyndman
/// and Fan, "Sample quantiles in statistical packages", The American Statistician 50 (1996), the default of R and
/// `NumPy`.
///
/// `q` is clamped to 0..=1. Empty input gives NaN.
///
/// ```
/// use swtch_stats::quantile_sorted;
/// assert_eq!(quantile_sorted(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
/// assert_eq!(quantile_sorted(&[1.0, 2.0, 3.0, 4.0], 0.25), 1.75);
/// assert!(quantile_sorted(&[], 0.5).is_nan());
/// ```
pub fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let fraction = position - below as f64;
    if fraction == 0.0 {
        // Also keeps an infinite neighbour from turning an exact order statistic into NaN.
        return sorted[below];
    }
    sorted[below] + fraction * (sorted[above] - sorted[below])
}

/// The values in ascending order, by IEEE 754 total order (§5.10), so NaN never disturbs the sort.
///
/// ```
/// assert_eq!(swtch_stats::sorted(&[3.0, 1.0, 2.0]), [1.0, 2.0, 3.0]);
/// ```
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// The median of values in any order; the mean of the two middle ones when their number is even (Hyndman and Fan
/// 1996, type 7 at 0.5). Empty input gives NaN.
///
/// ```
/// assert_eq!(swtch_stats::median(&[5.0, 1.0, 3.0]), 3.0);
/// assert_eq!(swtch_stats::median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
/// ```
pub fn median(values: &[f64]) -> f64 {
    median_in_place(&mut values.to_vec())
}

/// [`median`] without a copy; reorders the values. Hoare, "Algorithm 65: Find", Communications of the ACM 4 (1961).
///
/// ```
/// assert_eq!(swtch_stats::median_in_place(&mut [5.0, 1.0, 3.0]), 3.0);
/// ```
pub fn median_in_place(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
    lower + 0.5 * (upper - lower)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn matches_numpy_on_uneven_values() {
        // numpy.quantile([1, 2, 4, 8, 16], [0, .1, .33, .9, 1])
        let values = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (q, expected) in [(0.0, 1.0), (0.1, 1.4), (0.33, 2.64), (0.9, 12.8), (1.0, 16.0)] {
            assert!((quantile_sorted(&values, q) - expected).abs() < 1e-12, "{q}");
        }
    }

    #[test]
    fn empty_and_single_inputs_are_answered() {
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(quantile_sorted(&[7.0], 0.3), 7.0);
    }

    #[test]
    fn an_infinite_neighbour_leaves_exact_order_statistics_alone() {
        assert_eq!(quantile_sorted(&[1.0, 2.0, f64::INFINITY], 0.5), 2.0);
    }

    #[test]
    fn nan_does_not_panic() {
        let values = sorted(&[f64::NAN, 1.0, -f64::NAN]);
        let _ = quantile_sorted(&values, f64::NAN);
        let _ = median(&values);
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_within_range(
            values in prop::collection::vec(-1e9..1e9f64, 1..60), a in 0.0..1.0f64, b in 0.0..1.0f64,
        ) {
            let values = sorted(&values);
            let low = quantile_sorted(&values, a.min(b));
            let high = quantile_sorted(&values, a.max(b));
            prop_assert!(low <= high && values[0] <= low && high <= values[values.len() - 1]);
        }

        #[test]
        fn median_agrees_with_the_half_quantile(values in prop::collection::vec(-1e9..1e9f64, 1..60)) {
            let expected = quantile_sorted(&sorted(&values), 0.5);
            prop_assert!((median(&values) - expected).abs() <= 1e-6);
        }
    }
}
