//! The libraries' errors as exceptions. Each carries the library's one line unchanged.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::io;
use swtch_profile::FileError;

/// Declares exceptions: name, base, what it says.
macro_rules! exceptions {
    ($($name:ident($base:ident) = $about:literal;)+) => {
        $(pyo3::create_exception!(swtch, $name, $base, $about);)+
    };
}

exceptions! {
    UsageError(PyValueError) = "A request that cannot be met; the message says which, and what can be asked for.";
    MeasureError(PyRuntimeError) = "Nothing could be measured on this machine.";
    ProfileError(PyValueError) = "A file or text that is not a Profile of this version.";
    SimulationError(PyRuntimeError) = "A simulation that did not end: a deadlock, an endless run, or a policy that failed.";
    RecordError(PyRuntimeError) = "Nothing could be recorded, or a figure of the recording cannot be true.";
    TraceError(PyValueError) = "A directory that is not a Trace of this version, or a table that a Trace lacks.";
}

pub(crate) fn measure_error(error: &swtch_measure::MeasureError) -> PyErr {
    match error {
        swtch_measure::MeasureError::Options(wish) => UsageError::new_err(wish.to_string()),
        other => MeasureError::new_err(other.to_string()),
    }
}

/// What the system refused is an `OSError` of its kind (`FileNotFoundError` ...); what the file holds is a `ProfileError`.
pub(crate) fn file_error(error: &FileError) -> PyErr {
    match error.system() {
        Some(source) => io::Error::new(source.kind(), error.to_string()).into(),
        None => ProfileError::new_err(error.to_string()),
    }
}

/// What the system refused is an `OSError` of its kind; what the directory holds is a `TraceError`.
pub(crate) fn trace_error(error: &swtch_trace::TraceError) -> PyErr {
    use swtch_trace::TraceError as Cause;
    let kind = match error {
        Cause::Read { source, .. } | Cause::Write { source, .. } | Cause::Create { source, .. } => {
            source.kind()
        }
        Cause::Occupied { .. } => io::ErrorKind::AlreadyExists,
        other => return TraceError::new_err(other.to_string()),
    };
    io::Error::new(kind, error.to_string()).into()
}

/// Sides that cannot be compared are a `UsageError`; otherwise the error is that of the file.
pub(crate) fn diff_error(error: &swtch_decide::DiffError) -> PyErr {
    use swtch_decide::DiffError as Cause;
    match error {
        Cause::Trace(source) => trace_error(source),
        Cause::Profile(source) => file_error(source),
        other => UsageError::new_err(other.to_string()),
    }
}

/// A target that is not there is a `UsageError`, what the system refused an `OSError` of its kind.
pub(crate) fn record_error(error: swtch_record::RecordError) -> PyErr {
    use swtch_record::RecordError as Cause;
    match error {
        Cause::NoCommand | Cause::NoProcess(_) | Cause::Cgroup(_) => UsageError::new_err(error.to_string()),
        Cause::Start { ref source, .. } => io::Error::new(source.kind(), error.to_string()).into(),
        Cause::Trace(error) => trace_error(&error),
        other => RecordError::new_err(other.to_string()),
    }
}

/// For what cannot fail unless swtch is wrong, such as writing its own types as JSON.
pub(crate) fn mistake(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("{error}; please report this defect of swtch"))
}
