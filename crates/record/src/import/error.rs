//! Why a text could not be made a Trace.

use std::io;
use std::path::PathBuf;
use swtch_trace::TraceError;
use swtch_units::input_error::Refused;

/// Why a text could not be made a Trace. Every message is one line: what failed, the cause, the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text cannot be read.
    #[error("cannot read {}: {source}; check the path", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A recording, or something packed, and not its text.
    #[error("{} is {what}, not its text; run '{command}' and import that", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What makes text of it.
        command: String,
    },
    /// There is no context switch in the text.
    #[error(
        "{} has no sched_switch event in its {lines} lines ({malformed} could not be parsed); \
         'perf script' after 'perf sched record', 'trace-cmd report' and /sys/kernel/tracing/trace can be imported",
        path.display()
    )]
    NoSwitch {
        /// The file.
        path: PathBuf,
        /// Its lines.
        lines: u64,
        /// Those that could not be understood.
        malformed: u64,
    },
    /// The text contradicts itself.
    #[error(
        "{} contradicts itself: {source}; no Trace was written: record again, or report this as a defect of swtch with the text",
        path.display()
    )]
    Impossible {
        /// The file.
        path: PathBuf,
        /// The figures, and what they contradict.
        source: Refused,
    },
    /// The Trace cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}
