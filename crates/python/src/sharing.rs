//! Shares of fast cores.

use crate::errors::UsageError;
use pyo3::prelude::*;
use swtch_fairness::{Cores, Ddof, Demand, FairnessError, Parameters, Policy, Solution, Variant};
use swtch_report::shares::{Asked, json};

/// What is asked for, a dict with all of these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asking {
    fast: u32,
    slow: u32,
    speedups: Vec<f64>,
    policy: String,
    min_fairness: Option<f64>,
    similarity: Option<f64>,
    published: Option<bool>,
    uniformity: Option<f64>,
    r: Option<f64>,
    variant: Option<String>,
    threshold: Option<f64>,
    intervals: usize,
    ddof: u8,
    weights: Option<Vec<f64>>,
    threads: Option<Vec<u32>>,
}

/// The shares as JSON, `swtch/shares/1`.
#[pyfunction]
pub(crate) fn shares(asking: Asking) -> PyResult<String> {
    let refused = |error: FairnessError| UsageError::new_err(error.to_string());
    let ddof = match asking.ddof {
        0 => Ddof::Zero,
        1 => Ddof::One,
        other => return Err(UsageError::new_err(format!("ddof is {other}; it must be 0 or 1"))),
    };
    let parameters = Parameters {
        min_fairness: asking.min_fairness,
        similarity: asking.similarity,
        published: asking.published,
        uniformity: asking.uniformity,
        r: asking.r,
        variant: asking.variant.as_deref().map(Variant::from_name).transpose().map_err(refused)?,
        threshold: asking.threshold,
        ddof: Some(ddof),
    };
    let policy =
        Policy::from_name(&asking.policy).and_then(|policy| policy.with(&parameters)).map_err(refused)?;
    let Asking { fast, slow, speedups, intervals, weights, threads, .. } = asking;
    let demands = Demand::of_each(speedups.len(), weights.as_deref(), threads.as_deref()).map_err(refused)?;
    let cores = Cores::new(fast, slow).map_err(refused)?;
    let demands = demands.as_deref();
    let solution =
        Solution::with_demands(cores, &speedups, demands, &policy, ddof, intervals).map_err(refused)?;
    let asked = Asked { policy: policy.name(), fast, slow, speedups: &speedups, demands };
    Ok(json(&asked, &solution).to_string())
}
