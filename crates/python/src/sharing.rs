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

impl Asking {
    /// Weights and threads of the applications, where any are given.
    fn demands(&self) -> Result<Option<Vec<Demand>>, FairnessError> {
        let expected = self.speedups.len();
        let given = [
            ("weights", self.weights.as_ref().map(Vec::len)),
            ("threads", self.threads.as_ref().map(Vec::len)),
        ];
        for (what, found) in given {
            if let Some(found) = found.filter(|found| *found != expected) {
                return Err(FairnessError::Length { what, found, expected });
            }
        }
        if self.weights.is_none() && self.threads.is_none() {
            return Ok(None);
        }
        let demand = |place: usize| {
            let threads = self.threads.as_ref().map_or(1, |threads| threads[place]);
            let weight = self.weights.as_ref().map_or(f64::from(threads.max(1)), |weights| weights[place]);
            Demand { weight, threads }
        };
        Ok(Some((0..expected).map(demand).collect()))
    }
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
    let demands = asking.demands().map_err(refused)?;
    let Asking { fast, slow, speedups, intervals, .. } = asking;
    let cores = Cores::new(fast, slow).map_err(refused)?;
    let solution = match &demands {
        Some(demands) => Solution::by_weight(cores, &speedups, demands, &policy, ddof, intervals),
        None => Solution::of(cores, &speedups, &policy, ddof, intervals),
    };
    let solution = solution.map_err(refused)?;
    let demands = demands.as_deref();
    let asked = Asked { policy: policy.name(), fast, slow, speedups: &speedups, demands };
    Ok(json(&asked, &solution).to_string())
}
