//! Summaries and comparisons of Profiles.

use crate::errors::{file_error, mistake};
use pyo3::prelude::*;
use std::path::Path;
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

/// What changed from one Profile to another (JSON).
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, old: String, new: String) -> PyResult<String> {
    let (old, new) = (parse(&old)?, parse(&new)?);
    let found = py.detach(|| swtch_profile::compare::compare(&old, &new));
    serde_json::to_string(&found).map_err(mistake)
}
