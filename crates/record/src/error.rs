//! Why a recording could not be made.

use crate::sources::bpf::BpfError;
use crate::sources::perf::PerfError;
use crate::sources::procfs::ProcfsError;
use crate::system::CgroupError;
use std::io;
use std::path::PathBuf;
use swtch_topology::TopologyError;
use swtch_trace::TraceError;
use swtch_units::input_error::Refused;

/// Why a recording could not be made, or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is no command to run.
    #[error("no command given; say what to record: swtch record -- COMMAND, or -p PID, --cgroup PATH, -a")]
    NoCommand,
    /// The command cannot be started.
    #[error("cannot start '{command}': {source}")]
    Start {
        /// Its name.
        command: String,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no such process.
    #[error("there is no process {0}; 'ps -e' lists them")]
    NoProcess(u32),
    /// There is no such cgroup.
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    /// BPF was asked for and is not to be had.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// Perf events were asked for and are not to be had.
    #[error(transparent)]
    Perf(#[from] PerfError),
    /// `/proc` cannot be sampled.
    #[error(transparent)]
    Procfs(#[from] ProcfsError),
    /// The machine's facts cannot be read.
    #[error(transparent)]
    Facts(#[from] TopologyError),
    /// The Trace cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Kept events cannot be written.
    #[error("cannot write Traces to {}: {source}; name another directory with --dumps", folder.display())]
    DumpFolder {
        /// The directory.
        folder: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A figure of the recording cannot be true.
    #[error(
        "this recording has a figure that cannot be true: {source}; none of it is shown; please report this defect of swtch with the \
         Trace, which is kept in {}",
        folder.display()
    )]
    Impossible {
        /// Where the Trace is.
        folder: PathBuf,
        /// The figures, and what they contradict.
        source: Refused,
    },
    /// A system call that must not fail did.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl RecordError {
    /// The status with which a shell ends for a command that cannot be started: 127 when it is not found, 126 otherwise.
    ///
    /// ```
    /// use swtch_record::RecordError;
    /// let source = std::io::Error::from(std::io::ErrorKind::NotFound);
    /// assert_eq!(RecordError::Start { command: "x".into(), source }.shell_status(), Some(127));
    /// assert_eq!(RecordError::NoCommand.shell_status(), None);
    /// ```
    pub fn shell_status(&self) -> Option<u8> {
        match self {
            Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => Some(127),
            Self::Start { .. } => Some(126),
            _ => None,
        }
    }
}
