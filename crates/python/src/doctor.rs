//! What the machine allows.

use crate::errors::{MeasureError, mistake};
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use swtch_topology::Host;
use swtch_topology::capability::{Capability, Probes, judge};

/// The document that `swtch doctor --json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Doctor {
    schema: &'static str,
    host: Host,
    probes: Probes,
    capabilities: Vec<Capability>,
}

/// The machine's facts, what was tried on it, and what follows for measuring (JSON).
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>) -> PyResult<String> {
    py.detach(|| {
        let host = Host::read(Path::new("/")).map_err(|error| MeasureError::new_err(error.to_string()))?;
        let probes = swtch_measure::probe();
        let capabilities = judge(&host, &probes);
        let document = Doctor { schema: "swtch/doctor/1", host, probes, capabilities };
        serde_json::to_string(&document).map_err(mistake)
    })
}

/// The state of sched_ext as JSON, as `swtch sched status --json` prints it.
#[pyfunction]
pub(crate) fn sched_status() -> PyResult<String> {
    serde_json::to_string(&swtch_sched::status(Path::new("/"))).map_err(mistake)
}
