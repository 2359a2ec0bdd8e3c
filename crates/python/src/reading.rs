//! Summaries of Profiles, and what differs between two sides.

use crate::errors::{UsageError, diff_error, file_error, mistake};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use swtch_cost::CostModel;
use swtch_decide::{Diff, DiffOptions, FailIf, LimitError};
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

/// This machine's Profile (JSON), where it has one.
#[pyfunction]
pub(crate) fn own_profile() -> PyResult<Option<String>> {
    let own = file::read_own().map_err(|error| file_error(&error))?;
    own.map(|profile| serde_json::to_string(&profile).map_err(mistake)).transpose()
}

/// What differs between two sides of files, as JSON; `--fail-if` gives limits.
#[pyfunction]
pub(crate) fn diff(
    py: Python<'_>,
    old: Vec<PathBuf>,
    new: Vec<PathBuf>,
    fail_if: Vec<String>,
) -> PyResult<String> {
    let fail_if = conditions(&fail_if)?;
    let own = file::read_own().map_err(|error| file_error(&error))?;
    let options = DiffOptions { model: own.as_ref().map(CostModel::of), fail_if };
    document(&py.detach(|| swtch_decide::diff(&old, &new, &options)).map_err(|error| diff_error(&error))?)
}

/// What makes a comparison fail, as `--fail-if` takes it.
fn conditions(texts: &[String]) -> PyResult<Vec<FailIf>> {
    let found: Result<_, LimitError> = texts.iter().map(|text| text.parse()).collect();
    found.map_err(|error| UsageError::new_err(error.to_string()))
}

/// The same of Profiles, each as JSON.
#[pyfunction]
pub(crate) fn diff_profiles(
    py: Python<'_>,
    old: Vec<String>,
    new: Vec<String>,
    fail_if: Vec<String>,
) -> PyResult<String> {
    let fail_if = conditions(&fail_if)?;
    let side = |texts: &[String]| texts.iter().map(|text| parse(text)).collect::<PyResult<Vec<_>>>();
    let (old, new) = (side(&old)?, side(&new)?);
    if fail_if.iter().any(|one| one.limit().is_some()) {
        let error =
            "fail_if with a figure is about Traces, and these are Profiles; write a verdict such as 'worse'";
        return Err(UsageError::new_err(error));
    }
    let mut found = py.detach(|| swtch_decide::diff_profiles(&old, &new));
    found.add_verdicts(&fail_if);
    document(&found)
}

fn document(found: &Diff) -> PyResult<String> {
    found.check().map_err(mistake)?;
    serde_json::to_string(found).map_err(mistake)
}
