//! Summaries of Profiles, and what differs between two sides.

use crate::errors::{UsageError, diff_error, file_error, mistake};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use swtch_cost::CostModel;
use swtch_decide::{Diff, DiffOptions, LimitError};
use swtch_profile::{Profile, file};
use swtch_report::terminal;

/// The Profile in a JSON text.
pub(crate) fn parse(document: &str) -> PyResult<Profile> {
    file::parse(document.as_bytes(), Path::new("this object")).map_err(|error| file_error(&error))
}

/// A Profile (JSON) as text for a terminal; its first paragraph is the answer.
#[pyfunction]
pub(crate) fn summary(profile: String) -> PyResult<String> {
    Ok(terminal::profile(&parse(&profile)?))
}

/// What differs between two sides of files, as JSON; `--fail-if` gives limits.
#[pyfunction]
pub(crate) fn diff(
    py: Python<'_>,
    old: Vec<PathBuf>,
    new: Vec<PathBuf>,
    fail_if: Vec<String>,
) -> PyResult<String> {
    let limits: Result<_, LimitError> = fail_if.iter().map(|limit| limit.parse()).collect();
    let fail_if = limits.map_err(|error| UsageError::new_err(error.to_string()))?;
    let own = file::read_own().map_err(|error| file_error(&error))?;
    let options = DiffOptions { model: own.as_ref().map(CostModel::of), fail_if };
    document(&py.detach(|| swtch_decide::diff(&old, &new, &options)).map_err(|error| diff_error(&error))?)
}

/// The same of Profiles, each as JSON.
#[pyfunction]
pub(crate) fn diff_profiles(py: Python<'_>, old: Vec<String>, new: Vec<String>) -> PyResult<String> {
    let side = |texts: &[String]| texts.iter().map(|text| parse(text)).collect::<PyResult<Vec<_>>>();
    let (old, new) = (side(&old)?, side(&new)?);
    document(&py.detach(|| swtch_decide::diff_profiles(&old, &new)))
}

fn document(found: &Diff) -> PyResult<String> {
    found.check().map_err(mistake)?;
    serde_json::to_string(found).map_err(mistake)
}
