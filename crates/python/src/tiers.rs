//! Studies of a function's memory tiers.

use crate::errors::mistake;
use pyo3::prelude::*;
use swtch_faas::Tiers;

/// The part of its time that unthrottled work of a study (JSON, `swtch/faas-tiers/2`) waited for a CPU, and None where other programs need not
/// explain it.
#[pyfunction]
pub(crate) fn disturbed(study: &str) -> PyResult<Option<f64>> {
    let study: Tiers = serde_json::from_str(study).map_err(mistake)?;
    Ok(study.disturbed())
}
