//! What the documents look like.

use crate::doctor::Doctor;
use crate::trace::Priced;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use swtch_decide::Diff;

/// The JSON Schemas of the documents, by their names in Python.
#[pyfunction]
pub(crate) fn schemas() -> BTreeMap<&'static str, String> {
    let schemas = [
        ("Profile", swtch_profile::json_schema()),
        ("Diff", schemars::schema_for!(Diff).to_value()),
        ("Doctor", schemars::schema_for!(Doctor).to_value()),
        ("Trace", swtch_trace::json_schema()),
        ("Bill", schemars::schema_for!(Priced<'_>).to_value()),
    ];
    schemas.map(|(name, schema)| (name, schema.to_string())).into()
}
