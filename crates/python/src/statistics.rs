//! Figures from numbers, by the same code as those of Profiles.

use pyo3::prelude::*;
use serde_json::{Value, json};
use swtch_stats::{
    bootstrap_interval, coefficient_of_variation, holm, mean, median_interval_sorted,
    quantile_interval_sorted, quantile_sorted, rank_sum, sign_flips, sorted,
};

/// Of all intervals.
const CONFIDENCE: f64 = 0.95;
const RESAMPLES: usize = 2_000;
/// With fewer values than this, a bootstrap interval is too narrow to be given.
const ENOUGH_TO_RESAMPLE: usize = 10;

/// Statistics of numbers, as JSON. `median` has the 95 % interval of order statistics, `low` and `high`. With fewer than 6 values these are
/// their range, and `confidence` is what that is worth. `mean` has its bootstrap interval `mean_low`, `mean_high`, null with fewer than 10
/// values. `minimum`, `cov` and `n` follow. Each of the quantiles asked for has its interval; an end is null where there are too few values
/// for it. `null` for no values.
#[pyfunction]
pub(crate) fn estimate(py: Python<'_>, values: Vec<f64>, quantiles: Vec<f64>) -> String {
    py.detach(|| of(&values, &quantiles)).to_string()
}

/// Two-sided p-values of the rank-sum test of each pair of samples, and the same corrected by Holm's method for their number, as two lists. A
/// pair with an empty sample has 1.
#[pyfunction]
pub(crate) fn rank_tests(py: Python<'_>, pairs: Vec<(Vec<f64>, Vec<f64>)>) -> (Vec<f64>, Vec<f64>) {
    py.detach(|| {
        let bare: Vec<f64> = pairs.iter().map(|(one, other)| rank_sum(one, other).unwrap_or(1.0)).collect();
        let adjusted = holm(&bare);
        (bare, adjusted)
    })
}

/// p-values corrected by Holm's method for their number.
#[pyfunction(name = "holm")]
pub(crate) fn holm_adjusted(p_values: Vec<f64>) -> Vec<f64> {
    holm(&p_values)
}

/// Two-sided p-values of the randomisation test of each list of differences of pairs, and the same corrected by Holm's method for their
/// number, as two lists. A list without a pair has 1.
#[pyfunction]
pub(crate) fn sign_flip_tests(py: Python<'_>, lists: Vec<Vec<f64>>) -> (Vec<f64>, Vec<f64>) {
    py.detach(|| {
        let bare: Vec<f64> = lists.iter().map(|one| sign_flips(one).unwrap_or(1.0)).collect();
        let adjusted = holm(&bare);
        (bare, adjusted)
    })
}

/// The median of numbers, both ends of its interval, and the probability that the interval holds the median. With fewer than 6 values the
/// ends are their range. None for no values.
#[pyfunction]
pub(crate) fn median(values: Vec<f64>) -> Option<(f64, f64, f64, f64)> {
    let ordered = sorted(&values);
    let (low, high, coverage) = interval(&ordered)?;
    Some((quantile_sorted(&ordered, 0.5), low, high, coverage))
}

/// Quantiles of numbers, between neighbours where they fall between two; NaN for no values.
#[pyfunction]
pub(crate) fn quantiles(py: Python<'_>, values: Vec<f64>, at: Vec<f64>) -> Vec<f64> {
    py.detach(|| {
        let ordered = sorted(&values);
        at.iter().map(|q| quantile_sorted(&ordered, *q)).collect()
    })
}

/// The interval of the median and its coverage; absent for no values.
fn interval(ordered: &[f64]) -> Option<(f64, f64, f64)> {
    let (smallest, largest) = (ordered.first()?, ordered.last()?);
    let found = median_interval_sorted(ordered, CONFIDENCE).map(|one| (one.low, one.high, one.coverage));
    Some(found.unwrap_or((*smallest, *largest, range_coverage(ordered.len()))))
}

fn of(values: &[f64], quantiles: &[f64]) -> Value {
    let ordered = sorted(values);
    let Some((low, high, coverage)) = interval(&ordered) else {
        return Value::Null;
    };
    let (confidence, smallest) = (coverage.min(CONFIDENCE), ordered[0]);
    let of_mean = (ordered.len() >= ENOUGH_TO_RESAMPLE)
        .then(|| bootstrap_interval(values, |sample| mean(sample), RESAMPLES, CONFIDENCE, 1));
    let quantiles: Vec<Value> = quantiles
        .iter()
        .map(|q| {
            let interval = quantile_interval_sorted(&ordered, *q, CONFIDENCE);
            json!({ "q": q, "value": quantile_sorted(&ordered, *q), "low": interval.low, "high": interval.high })
        })
        .collect();
    let cov = coefficient_of_variation(values);
    json!({
        "median": quantile_sorted(&ordered, 0.5), "low": low, "high": high, "confidence": confidence,
        "mean": mean(values), "mean_low": of_mean.map(|one| one.low), "mean_high": of_mean.map(|one| one.high),
        "minimum": smallest, "cov": if cov.is_finite() { cov } else { 0.0 }, "n": values.len(),
        "quantiles": quantiles,
    })
}

/// The chance that the range of `n` values holds the median. All are on one side of it with the chance that `n` tosses of a coin are alike.
fn range_coverage(n: usize) -> f64 {
    1.0 - 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX) - 1)
}
