//! Files: Profiles in and out, and the page.

use crate::errors::{UsageError, file_error, mistake};
use crate::reading::parse;
use pyo3::prelude::*;
use std::io::Write;
use std::path::PathBuf;
use swtch_profile::file;
use swtch_report::html::{NamedProfile, ReportError, render};

/// Reads a Profile file and returns it as JSON in which every field is present.
#[pyfunction]
pub(crate) fn load(path: PathBuf) -> PyResult<String> {
    let profile = file::read(&path).map_err(|error| file_error(&error))?;
    serde_json::to_string(&profile).map_err(mistake)
}

/// Writes a Profile (JSON) to `path` and its samples (Parquet), if there are any, next to it.
#[pyfunction]
pub(crate) fn save(py: Python<'_>, profile: String, samples: Option<Vec<u8>>, path: PathBuf) -> PyResult<()> {
    let mut profile = parse(&profile)?;
    py.detach(|| file::write_table(&mut profile, samples.as_deref(), &path))
        .map_err(|error| file_error(&error))
}

/// Writes one HTML page of any number of named Profiles (JSON).
#[pyfunction]
pub(crate) fn report(py: Python<'_>, profiles: Vec<(String, String)>, path: PathBuf) -> PyResult<()> {
    let profiles = profiles
        .into_iter()
        .map(|(name, document)| Ok(NamedProfile { name, document: parse(&document)? }))
        .collect::<PyResult<Vec<_>>>()?;
    let page = py.detach(|| render(&profiles)).map_err(|error| match error {
        ReportError::NoProfiles => UsageError::new_err("no profile to report on; give at least one"),
        other => mistake(other),
    })?;
    py.detach(|| file::replace(&path, |sink| sink.write_all(page.as_bytes())))
        .map_err(|error| file_error(&error))
}
