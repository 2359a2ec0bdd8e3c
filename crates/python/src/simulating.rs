//! Simulations.

use crate::errors::{SimulationError, UsageError, mistake};
use crate::reading;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::io;
use std::path::Path;
use std::time::Instant;
use swtch_profile::Profile;
use swtch_sim::plan::{Files, Plan, Recording, Wishes, Work};
use swtch_sim::recorded::Recorded;
use swtch_sim::run::run;
use swtch_sim::sink::Sink;
use swtch_sim::summary::{Document, Summary};
use swtch_sim::{Jitter, Refused, SimError};
use swtch_topology::{Host, TopologyError};
use swtch_trace::model::Origin;
use swtch_trace::{Trace, TraceError};

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
}

/// The runs as JSON, `swtch/simulate/1`.
#[pyfunction]
pub(crate) fn simulate(py: Python<'_>, asking: Asking) -> PyResult<String> {
    let profile = asking.profile.as_deref().map(reading::parse).transpose()?;
    let work = match asking.kind.as_str() {
        "text" => Work::Text(&asking.spec),
        "recording" => Work::Recording(&asking.spec),
        _ => Work::Named(&asking.spec),
    };
    let jitter = asking.jitter.as_deref().map(Jitter::named).transpose();
    let jitter = jitter.map_err(|error| UsageError::new_err(error.to_string()))?;
    let wishes = Wishes {
        machine: asking.machine.clone(),
        policies: asking.policies.clone(),
        seed: asking.seed,
        duration_ns: asking.duration_ns,
        limit_ns: asking.limit_ns,
        jitter,
        ..Wishes::default()
    };
    let mut listener = Listener::default();
    let found = py.detach(|| all(work, &wishes, profile.as_ref(), &mut listener));
    if let Some(raised) = listener.raised {
        return Err(raised);
    }
    let document = found.map_err(exception)?;
    serde_json::to_string(&document).map_err(mistake)
}

fn all(
    work: Work<'_>,
    wishes: &Wishes,
    profile: Option<&Profile>,
    listener: &mut Listener,
) -> Result<Document, Failure> {
    let plan = Plan::of(work, "", wishes, profile, &mut Disk)?;
    let mut document = Document::new(&plan);
    for policy in &plan.policies {
        let began = Instant::now();
        let run = run(&plan.setting, policy, Heard(listener))?;
        let mut summary = Summary::of(&plan, policy, &run);
        summary.check(&run, plan.setting.machine.cpus.len() as u64, plan.setting.fastest())?;
        summary.wall_seconds = Some(began.elapsed().as_secs_f64());
        document.runs.push(summary);
    }
    document.compare();
    document.check()?;
    Ok(document)
}

/// What can go wrong, until there is an interpreter to raise it in.
enum Failure {
    Sim(SimError),
    Refused(Refused),
    Read { path: String, source: io::Error },
    Host(TopologyError),
    Trace(TraceError),
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Self {
        Self::Sim(error)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// What cannot be simulated is a `UsageError`, what goes wrong in the simulation a `SimulationError`, what the system refused an `OSError`.
fn exception(failure: Failure) -> PyErr {
    match failure {
        Failure::Sim(SimError::Stopped { .. }) => PyKeyboardInterrupt::new_err(()),
        Failure::Sim(
            error @ (SimError::Deadlock { .. }
            | SimError::Endless { .. }
            | SimError::NoTimePasses { .. }
            | SimError::Policy { .. }
            | SimError::Stalled { .. }),
        ) => SimulationError::new_err(error.to_string()),
        Failure::Refused(refused) => SimulationError::new_err(format!(
            "the simulation contradicts itself: {refused}; please report this defect with the call, which gives the same again"
        )),
        Failure::Sim(error) => UsageError::new_err(error.to_string()),
        Failure::Read { path, source } => {
            io::Error::new(source.kind(), format!("cannot read {path}: {source}")).into()
        }
        Failure::Host(error) => io::Error::other(error.to_string()).into(),
        Failure::Trace(TraceError::Read { path, source }) => {
            io::Error::new(source.kind(), format!("cannot read {}: {source}", path.display())).into()
        }
        Failure::Trace(error) => UsageError::new_err(error.to_string()),
    }
}

struct Disk;

impl Files for Disk {
    type Error = Failure;

    fn text(&mut self, path: &str) -> Result<String, Failure> {
        std::fs::read_to_string(path).map_err(|source| Failure::Read { path: path.to_owned(), source })
    }

    fn host(&mut self) -> Result<Host, Failure> {
        Host::read(Path::new("/")).map_err(Failure::Host)
    }

    fn recording(&mut self, path: &str) -> Result<Recording, Failure> {
        let trace = Trace::open(Path::new(path)).map_err(Failure::Trace)?;
        let switches = trace.switches().collect::<Result<Vec<_>, _>>().map_err(Failure::Trace)?;
        let simulated = trace.header.provenance.origin == Origin::Simulated;
        let recorded = Some(Recorded::of(&trace));
        let recorder = trace.header.provenance.recorder.clone();
        Ok(Recording { host: trace.header.host, simulated, recorder, tasks: trace.tasks, switches, recorded })
    }
}

/// Asks now and then whether a signal came in; the simulation runs detached from the interpreter.
#[derive(Default)]
struct Listener {
    raised: Option<PyErr>,
    interpreter_gone: bool,
}

fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

struct Heard<'a>(&'a mut Listener);

impl Sink for Heard<'_> {
    fn goes_on(&mut self, _now_ns: u64, _events: u64) -> bool {
        match Python::try_attach(check_signals) {
            Some(answer) => self.0.raised = answer.err(),
            None => self.0.interpreter_gone = true,
        }
        self.0.raised.is_none() && !self.0.interpreter_gone
    }
}
