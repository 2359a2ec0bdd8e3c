//! Mean, variance and what follows from them.

use crate::intervals::Interval;
use crate::student_distribution::two_sided_point;

/// The arithmetic mean. Empty input gives NaN. Higham, "The accuracy of floating point summation", SIAM J. Sci.
/// Comput. 14 (1993): plain summation is exact enough for the batch counts met here.
///
/// ```
/// assert_eq!(swtch_stats::mean(&[1.0, 2.0, 6.0]), 3.0);
/// ```
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance with divisor `n - ddof`, by the two-pass algorithm with correction. `ddof` 0 is the variance of
/// these values, 1 the unbiased estimate for the population. Source: Chan, Golub and LeVeque, "Algorithms for
/// computing the sample variance", The American Statistician 37 (1983). NaN when there are not more than `ddof`
/// values.
///
/// ```
/// assert_eq!(swtch_stats::variance(&[1.0, 3.0], 0), 1.0);
/// assert_eq!(swtch_stats::variance(&[1.0, 3.0], 1), 2.0);
/// assert!(swtch_stats::variance(&[1.0], 1).is_nan());
/// ```
pub fn variance(values: &[f64], ddof: usize) -> f64 {
    if values.len() <= ddof {
        return f64::NAN;
    }
    let centre = mean(values);
    let mut squares = 0.0;
    let mut drift = 0.0;
    for value in values {
        let deviation = value - centre;
        squares += deviation * deviation;
        drift += deviation;
    }
    (squares - drift * drift / values.len() as f64).max(0.0) / (values.len() - ddof) as f64
}

/// The square root of [`variance`] (Chan, Golub and LeVeque 1983).
///
/// ```
/// assert_eq!(swtch_stats::standard_deviation(&[1.0, 3.0], 0), 1.0);
/// ```
pub fn standard_deviation(values: &[f64], ddof: usize) -> f64 {
    variance(values, ddof).sqrt()
}

/// The standard deviation (`ddof` 1) relative to the magnitude of the mean, as a fraction: Pearson, "Regression,
/// heredity, and panmixia", Phil. Trans. R. Soc. A 187 (1896). NaN with fewer than two values or a zero mean.
///
/// ```
/// let cov = swtch_stats::coefficient_of_variation(&[9.0, 10.0, 11.0]);
/// assert!((cov - 0.1).abs() < 1e-12);
/// ```
pub fn coefficient_of_variation(values: &[f64]) -> f64 {
    let centre = mean(values);
    if centre == 0.0 {
        return f64::NAN;
    }
    standard_deviation(values, 1) / centre.abs()
}

/// The interval of the mean of values in their order, of which each may depend on its neighbour, by Student's distribution.
///
/// The variance of such a mean is `(c0 + 2 c1) / n`, with the variance `c0` and the covariance of neighbours `c1` (Anderson, "The Statistical
/// Analysis of Time Series" (1971), 8.2). It is at least `c0 / n^2`: where each value lacks what the one before had too much, only the first and
/// the last are uncertain. `None` below three values.
///
/// ```
/// // Each value lacks what the one before had too much.
/// let values: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 99.0 } else { 101.0 }).collect();
/// let interval = swtch_stats::series_mean_interval(&values, 0.95).unwrap();
/// assert!(99.4 < interval.low && interval.high < 100.6);
/// assert!(swtch_stats::series_mean_interval(&values[..2], 0.95).is_none());
/// ```
pub fn series_mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let n = values.len() as f64;
    if values.len() < 3 {
        return None;
    }
    let centre = mean(values);
    let variance = variance(values, 1);
    let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    let long_run = (variance + 2.0 * neighbours / n).max(variance / n);
    let half = two_sided_point(1.0 - confidence, n - 1.0) * (long_run / n).sqrt();
    Some(Interval { low: centre - half, high: centre + half })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_large_offset_does_not_swallow_the_variance() {
        let values = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0];
        assert_eq!(variance(&values, 1), 30.0);
    }

    #[test]
    fn too_few_values_give_nan() {
        assert!(mean(&[]).is_nan());
        assert!(coefficient_of_variation(&[3.0]).is_nan());
        assert!(coefficient_of_variation(&[-1.0, 1.0]).is_nan());
    }

    proptest! {
        #[test]
        fn variance_ignores_a_shift(values in prop::collection::vec(-1e3..1e3f64, 2..50), shift in -1e3..1e3f64) {
            let moved: Vec<f64> = values.iter().map(|value| value + shift).collect();
            prop_assert!((variance(&values, 1) - variance(&moved, 1)).abs() < 1e-6);
        }
    }
}
