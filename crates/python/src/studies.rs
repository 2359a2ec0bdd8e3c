//! Studies, of functions and of AI workloads: what Python writes, checked and read by the same code that reads their files. Also the figures of
//! a function's answer.

use crate::errors::mistake;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use swtch_faas::Tiers;
use swtch_study::{Run, Study};
use swtch_units::input_error::Refused;

/// The figures of a study of tiers (JSON, `swtch/faas-tiers/3`) that cannot be true, each with what it contradicts.
#[pyfunction]
pub(crate) fn check_tiers(study: &str) -> Vec<(String, String)> {
    impossible(study, swtch_faas::check)
}

/// Likewise of a study of AI workloads (JSON, `swtch/study/2`).
#[pyfunction]
pub(crate) fn check_study(study: &str) -> Vec<(String, String)> {
    impossible(study, |study: &Study| swtch_study::check(study).finish())
}

/// Likewise of one of its runs (JSON).
#[pyfunction]
pub(crate) fn check_run(run: &str) -> Vec<(String, String)> {
    impossible(run, |run: &Run| swtch_study::check_run(run).finish())
}

/// What the document's own type refuses, such as a count below zero, is refused too.
fn impossible<T: DeserializeOwned>(
    document: &str,
    check: impl Fn(&T) -> Result<(), Refused>,
) -> Vec<(String, String)> {
    match serde_json::from_str(document).map(|document| check(&document)) {
        Ok(Ok(())) => Vec::new(),
        Ok(Err(refused)) => refused.figures.into_iter().map(|one| (one.figure, one.reason)).collect(),
        Err(error) => vec![("the document".to_owned(), error.to_string())],
    }
}

/// The part of its time that unthrottled work of a study of tiers (JSON) waited for a CPU. None where other programs need not explain it.
#[pyfunction]
pub(crate) fn disturbed(study: &str) -> PyResult<Option<f64>> {
    let study: Tiers = serde_json::from_str(study).map_err(mistake)?;
    Ok(study.disturbed())
}

/// A handler's answer (JSON, `swtch/faas/2` or `swtch/faas/1`) with its figures, as `swtch/faas/2`: statistics of its batches, and the quota
/// that its spinners' intervals show.
#[pyfunction]
pub(crate) fn complete_answer(py: Python<'_>, answer: &str) -> PyResult<String> {
    let completed = py.detach(|| swtch_faas::figures::complete(answer));
    completed.map(|document| document.to_string()).map_err(|error| PyValueError::new_err(error.to_string()))
}
