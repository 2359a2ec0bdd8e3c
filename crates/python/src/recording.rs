//! Recordings.

use crate::errors::{UsageError, record_error};
use crate::listener::Listener;
use crate::overrides::{seconds, size};
use crate::trace::Trace;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use swtch_record::{Cost, Mode, Options, STACK_ENTRIES, Target};
use swtch_trace::{Destination, SourceKind};

/// The arguments, a dict with all of these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asking<'py> {
    command: Option<Vec<OsString>>,
    pids: Option<Vec<u32>>,
    cgroup: Option<String>,
    out: PathBuf,
    force: bool,
    duration_s: Option<Bound<'py, PyAny>>,
    source: Option<String>,
    mode: Option<String>,
    events_for_s: Option<Bound<'py, PyAny>>,
    buffer: Option<Bound<'py, PyAny>>,
    cost: Option<String>,
    working_set: bool,
    stacks: bool,
    sample: f64,
    defer: bool,
}

impl Asking<'_> {
    fn options(self, folder: PathBuf) -> PyResult<Options> {
        let target = match (self.command, self.pids, self.cgroup) {
            (Some(command), None, None) => Target::Command(command),
            (None, Some(pids), None) => Target::Processes(pids),
            (None, None, Some(cgroup)) => Target::Cgroup(cgroup),
            (None, None, None) => Target::Machine,
            _ => {
                return Err(UsageError::new_err(
                    "command, pids and cgroup exclude each other; give one of them",
                ));
            }
        };
        let mode = match self.mode.as_deref() {
            None => None,
            Some("events") => Some(Mode::Events),
            Some("counts") => Some(Mode::Counts),
            Some(other) => {
                return Err(UsageError::new_err(format!("unknown mode '{other}'; write events or counts")));
            }
        };
        let sources: Vec<&str> = SourceKind::options().map(|(option, _)| option).collect();
        let sources = sources.join(", ");
        let source = named("source", self.source, SourceKind::from_option, &sources)?;
        let cost = named("cost", self.cost, Cost::from_name, "in-place or profile")?;
        let time = |what, value: Option<Bound<'_, PyAny>>| -> PyResult<Option<Duration>> {
            value.map(|value| seconds(what, &value)).transpose()
        };
        Ok(Options {
            duration: time("duration", self.duration_s)?,
            source,
            mode,
            events_for: if mode.is_none() { time("events_for", self.events_for_s)? } else { None },
            buffer_bytes: self.buffer.as_ref().map(size).transpose()?,
            cost: cost.unwrap_or_default(),
            working_set: self.working_set,
            stacks: self.stacks.then_some(STACK_ENTRIES),
            sample: part(self.sample)?,
            defer: self.defer,
            ..Options::new(target, folder)
        })
    }
}

/// A share of the whole.
fn part(share: f64) -> PyResult<f64> {
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err(UsageError::new_err(format!("sample is {share}; give a share from 0 to 1")))
}

fn named<T>(
    what: &str,
    name: Option<String>,
    find: impl Fn(&str) -> Option<T>,
    known: &str,
) -> PyResult<Option<T>> {
    let unknown = |name: &str| UsageError::new_err(format!("unknown {what} '{name}'; write {known}"));
    name.map(|name| find(&name).ok_or_else(|| unknown(&name))).transpose()
}

/// Records. Returns the Trace, or None where nothing was recorded, and the exception that stopped it, or None.
#[pyfunction]
#[pyo3(signature = (asking, progress=None))]
pub(crate) fn record<'py>(
    py: Python<'py>,
    asking: Asking<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Option<Trace>, Option<Bound<'py, PyBaseException>>)> {
    let destination =
        Destination::named(&asking.out, asking.force).map_err(|error| record_error(error.into()))?;
    let mut options = asking.options(destination.folder.clone())?;
    if matches!(options.target, Target::Command(_)) {
        options.spans = Some(destination.spans().map_err(|error| record_error(error.into()))?);
    }
    let mut listener = Listener::new(progress);
    let recorded = py.detach(|| {
        let recording = swtch_record::record(&options, &mut listener)?;
        destination.settle(recording.header.provenance.ended).map_err(Into::into)
    });
    let stopped_by = listener.raised.map(|error| error.into_value(py).into_bound(py));
    match (recorded, stopped_by) {
        (Ok(folder), stopped_by) => Ok((Some(Trace::open(py, &folder)?), stopped_by)),
        (Err(_), Some(stopped_by)) => Ok((None, Some(stopped_by))),
        (Err(error), None) => Err(record_error(error)),
    }
}
