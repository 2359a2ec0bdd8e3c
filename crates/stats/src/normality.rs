//! Whether values could come from a normal distribution.

use crate::normal_distribution::{quantile, upper_tail};
use std::borrow::Cow;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_3, PI};

/// The algorithm's approximations hold up to this many values.
const LARGEST: usize = 5000;

/// The Shapiro-Wilk statistic and its significance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapiroWilk {
    /// The statistic, 0..=1; near 1 for normal values.
    pub w: f64,
    /// Probability of a `w` this small if the values are normal.
    pub p: f64,
}

/// The Shapiro-Wilk test on ascending values. Royston, "Remark AS R94: a remark on algorithm AS 181: the W-test for
/// normality", Applied Statistics 44 (1995). It is written from the formulas of that paper and of Royston,
/// "Approximating the Shapiro-Wilk W-test for non-normality", Statistics and Computing 2 (1992).
///
/// The approximations hold for 3 to 5000 values. **Above 5000 the ascending values are thinned evenly to 5000**, which
/// keeps the shape of the distribution; `p` is then that of the smaller set. `None` below 3 values, or when all are
/// equal or not all are finite.
///
/// ```
/// use swtch_stats::shapiro_wilk_sorted;
/// let skewed: Vec<f64> = (1..=50).map(|i| 1.05_f64.powi(i * i / 10)).collect();
/// assert!(shapiro_wilk_sorted(&skewed).unwrap().p < 0.001);
/// assert!(shapiro_wilk_sorted(&[1.0, 2.0]).is_none());
/// ```
pub fn shapiro_wilk_sorted(sorted: &[f64]) -> Option<ShapiroWilk> {
    let values = thinned(sorted);
    let n = values.len();
    let (first, last) = (*values.first()?, *values.last()?);
    if n < 3 || !(first.is_finite() && last.is_finite() && last > first) {
        return None;
    }
    let weights = upper_weights(n);
    let one_minus_w = one_minus_statistic(&values, &weights);
    let w = 1.0 - one_minus_w;
    Some(ShapiroWilk { w, p: significance(one_minus_w, n) })
}

/// At most [`LARGEST`] of the values, evenly spaced in rank, both extremes kept.
fn thinned(sorted: &[f64]) -> Cow<'_, [f64]> {
    if sorted.len() <= LARGEST {
        return Cow::Borrowed(sorted);
    }
    let last = sorted.len() - 1;
    Cow::Owned((0..LARGEST).map(|i| sorted[i * last / (LARGEST - 1)]).collect())
}

/// The weights of the upper half of the sample, the largest value's first; the lower half has the same with the
/// opposite sign. Royston 1992, equations 2 to 4.
fn upper_weights(n: usize) -> Vec<f64> {
    if n == 3 {
        return vec![FRAC_1_SQRT_2];
    }
    // Blom's approximate expected normal order statistics, from the largest down.
    let scores: Vec<f64> =
        (1..=n / 2).map(|rank| -quantile((rank as f64 - 0.375) / (n as f64 + 0.25))).collect();
    let squares = 2.0 * scores.iter().map(|score| score * score).sum::<f64>();
    let u = 1.0 / (n as f64).sqrt();
    let norm = squares.sqrt();
    let largest =
        scores[0] / norm + polynomial(&[0.0, 0.221_157, -0.147_981, -2.071_19, 4.434_685, -2.706_056], u);
    if n <= 5 {
        let scale = ((squares - 2.0 * scores[0].powi(2)) / (1.0 - 2.0 * largest.powi(2))).sqrt();
        return std::iter::once(largest).chain(scores[1..].iter().map(|score| score / scale)).collect();
    }
    let second =
        scores[1] / norm + polynomial(&[0.0, 0.042_981, -0.293_762, -1.752_461, 5.682_633, -3.582_633], u);
    let scale = ((squares - 2.0 * (scores[0].powi(2) + scores[1].powi(2)))
        / (1.0 - 2.0 * (largest.powi(2) + second.powi(2))))
    .sqrt();
    [largest, second].into_iter().chain(scores[2..].iter().map(|score| score / scale)).collect()
}

/// `1 - W`, computed without subtracting from 1, which would lose the digits that decide for large samples.
///
/// `W` is the squared correlation of values and weights, so `1 - W = (xx * aa - ax^2) / (xx * aa)` with the sums
/// centred; the numerator is factored.
fn one_minus_statistic(sorted: &[f64], upper: &[f64]) -> f64 {
    let n = sorted.len();
    let range = sorted[n - 1] - sorted[0];
    let weight = |index: usize| match index {
        index if index < upper.len() => -upper[index],
        index if n - 1 - index < upper.len() => upper[n - 1 - index],
        _ => 0.0,
    };
    let centre = sorted.iter().map(|value| value / range).sum::<f64>() / n as f64;
    let (mut xx, mut aa, mut ax) = (0.0, 0.0, 0.0);
    for (index, value) in sorted.iter().enumerate() {
        let deviation = value / range - centre;
        let weight = weight(index);
        xx += deviation * deviation;
        aa += weight * weight;
        ax += weight * deviation;
    }
    let product = (xx * aa).sqrt();
    ((product - ax) * (product + ax) / (xx * aa)).clamp(0.0, 1.0)
}

/// Royston 1995, §2: exact for 3 values, a log-normal approximation of `1 - W` otherwise.
fn significance(one_minus_w: f64, n: usize) -> f64 {
    if n == 3 {
        let w = 1.0 - one_minus_w;
        return (6.0 / PI * (w.sqrt().asin() - FRAC_PI_3)).clamp(0.0, 1.0);
    }
    let size = n as f64;
    let log = one_minus_w.ln();
    let (y, mean, log_deviation) = if n <= 11 {
        let bound = polynomial(&[-2.273, 0.459], size);
        if log >= bound {
            return 0.0;
        }
        (
            -(bound - log).ln(),
            polynomial(&[0.544, -0.399_78, 0.025_054, -6.714e-4], size),
            polynomial(&[1.3822, -0.778_57, 0.062_767, -0.002_032_2], size),
        )
    } else {
        let log_size = size.ln();
        (
            log,
            polynomial(&[-1.5861, -0.310_82, -0.083_751, 0.003_891_5], log_size),
            polynomial(&[-0.4803, -0.082_676, 0.003_030_2], log_size),
        )
    };
    upper_tail((y - mean) / log_deviation.exp())
}

/// Coefficients from the constant term up.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod reference;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, sorted};

    /// The samples are made here and, in the same way, in the Python that produced the reference values. The generator
    /// is ours, so that both sides see identical numbers.
    fn sample(shape: &str, n: usize) -> Vec<f64> {
        let mut rng = Rng::new(n as u64);
        let mut draw = || {
            let u = rng.unit_f64();
            match shape {
                "uniform" => u,
                "exponential" => -(1.0 - u).ln(),
                // The sum of twelve uniforms is normal enough, and exactly the same in any language.
                "normal" => u + (1..12).map(|_| rng.unit_f64()).sum::<f64>() - 6.0,
                "ties" => (u * 8.0).floor(),
                _ => unreachable!(),
            }
        };
        sorted(&(0..n).map(|_| draw()).collect::<Vec<_>>())
    }

    #[test]
    fn matches_scipy() {
        for (shape, n, w, p) in reference::REFERENCE {
            let found = shapiro_wilk_sorted(&sample(shape, n)).unwrap();
            assert!((found.w - w).abs() < 1e-6, "{shape} {n}: W {} instead of {w}", found.w);
            let tolerance = 1e-5_f64.max(p * 1e-3);
            assert!((found.p - p).abs() < tolerance, "{shape} {n}: p {} instead of {p}", found.p);
        }
    }

    #[test]
    fn scale_and_offset_do_not_matter() {
        let values = sample("exponential", 50);
        let moved: Vec<f64> = values.iter().map(|value| 1e6 + 1e-3 * value).collect();
        let (here, there) = (shapiro_wilk_sorted(&values).unwrap(), shapiro_wilk_sorted(&moved).unwrap());
        assert!((here.w - there.w).abs() < 1e-6);
    }

    #[test]
    fn larger_samples_are_thinned_to_the_same_verdict() {
        assert_eq!(thinned(&sample("normal", 20_000)).len(), LARGEST);
        let thin = thinned(&[1.0; 4]).len();
        assert_eq!(thin, 4);
        assert!(shapiro_wilk_sorted(&sample("exponential", 20_000)).unwrap().p < 1e-6);
        assert!(shapiro_wilk_sorted(&sample("normal", 20_000)).unwrap().w > 0.999);
    }

    #[test]
    fn unusable_input_has_no_answer() {
        assert_eq!(shapiro_wilk_sorted(&[]), None);
        assert_eq!(shapiro_wilk_sorted(&[2.0; 10]), None);
        assert_eq!(shapiro_wilk_sorted(&[1.0, 2.0, f64::INFINITY]), None);
        assert_eq!(shapiro_wilk_sorted(&[1.0, 2.0, f64::NAN]), None);
    }
}
