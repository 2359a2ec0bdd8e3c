//! Simulations.

use crate::errors::{SimulationError, UsageError, mistake};
use crate::listener::Listener;
use crate::reading;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::io;
use std::path::PathBuf;
use swtch_sim::plan::{Overrides, Plan, PlanError, Work};
use swtch_sim::policies::fair_class_of;
use swtch_sim::{Jitter, SimError, SimulateError, WhatIf};
use swtch_topology::host::Kernel;
use swtch_trace::TraceError;

/// What is asked for, a dict with all of these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asking {
    /// `named`, `text` or `recording`: what `spec` is.
    kind: String,
    spec: String,
    policies: Vec<String>,
    machine: Option<String>,
    /// A Profile as JSON.
    profile: Option<String>,
    seed: Option<u64>,
    /// `none` or `typical`.
    jitter: Option<String>,
    duration_ns: Option<u64>,
    limit_ns: Option<u64>,
    seeds: Option<u32>,
    sets: Vec<String>,
    beside: Vec<String>,
    without: Vec<String>,
}

/// The runs as JSON, `swtch/simulate/1`; with `traces`, each also as a Trace in that directory.
#[pyfunction]
#[pyo3(signature = (asking, traces=None))]
pub(crate) fn simulate(py: Python<'_>, asking: Asking, traces: Option<PathBuf>) -> PyResult<String> {
    let profile = asking.profile.as_deref().map(reading::parse).transpose()?;
    let work = match asking.kind.as_str() {
        "text" => Work::Text(&asking.spec),
        "recording" => Work::Recording(&asking.spec),
        _ => Work::Named(&asking.spec),
    };
    let jitter = asking.jitter.as_deref().map(Jitter::named).transpose();
    let jitter = jitter.map_err(|error| UsageError::new_err(error.to_string()))?;
    let overrides = Overrides {
        machine: asking.machine.clone(),
        policies: asking.policies.clone(),
        seed: asking.seed,
        duration_ns: asking.duration_ns,
        limit_ns: asking.limit_ns,
        jitter,
        seeds: asking.seeds,
        what_if: WhatIf {
            set: asking.sets.clone(),
            with: asking.beside.clone(),
            without: asking.without.clone(),
        },
        ..Overrides::default()
    };
    let mut listener = Listener::new(None);
    let found = py.detach(|| {
        let plan = Plan::of(work, "", &overrides, profile.as_ref()).map_err(Failure::Plan)?;
        swtch_sim::simulate(&plan, traces.as_deref(), &mut listener).map_err(Failure::Simulate)
    });
    if let Some(raised) = listener.raised {
        return Err(raised);
    }
    let (document, _) = found.map_err(exception)?;
    serde_json::to_string(&document).map_err(mistake)
}

/// The policy that models the fair class of a kernel, by its release (`uname -r`).
#[pyfunction]
pub(crate) fn fair_class(release: String) -> Option<&'static str> {
    fair_class_of(Kernel { release, ..Kernel::default() }.major_minor()?)
}

/// An error that is kept until an interpreter is attached, which can raise it.
enum Failure {
    Plan(PlanError),
    Simulate(SimulateError),
}

/// A request that cannot be simulated raises a `UsageError`. A failure in the simulation raises a `SimulationError`, one of the system an `OSError`.
fn exception(failure: Failure) -> PyErr {
    match failure {
        Failure::Plan(PlanError::Sim(error)) => of_the_simulator(&error),
        Failure::Simulate(SimulateError::Run { source, .. }) => of_the_simulator(&source),
        Failure::Plan(
            PlanError::Read { path, source } | PlanError::Trace(TraceError::Read { path, source }),
        ) => io::Error::new(source.kind(), format!("cannot read {}: {source}", path.display())).into(),
        Failure::Plan(PlanError::Host(error)) => io::Error::other(error.to_string()).into(),
        Failure::Plan(error) => UsageError::new_err(error.to_string()),
        Failure::Simulate(error @ SimulateError::Impossible { .. }) => {
            SimulationError::new_err(error.to_string())
        }
        Failure::Simulate(error) => io::Error::other(error.to_string()).into(),
    }
}

fn of_the_simulator(error: &SimError) -> PyErr {
    match error {
        SimError::Stopped { .. } => PyKeyboardInterrupt::new_err(()),
        error if error.is_of_the_run() => SimulationError::new_err(error.to_string()),
        error => UsageError::new_err(error.to_string()),
    }
}
