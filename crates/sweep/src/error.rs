//! Why a sweep does not go on.

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use swtch_columns::TableError;
use swtch_profile::FileError;
use swtch_sim::sweep::SweepError;

/// The exit status of wrong usage.
const WRONG: i32 = 2;

/// Why a sweep does not go on. What is done stays done, and the same command continues.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for cannot be.
    #[error("{0}")]
    Wrong(String),
    /// A file could not be read or written.
    #[error("{what}: {source}")]
    File {
        /// What was to be done with which file, and what to do about it.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A worker failed, with its own message.
    #[error("{0}")]
    Worker(String),
    /// The sweep or what it names cannot be, or cannot be read.
    #[error(transparent)]
    Sweep(SweepError),
    /// A part could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] FileError),
}

impl Error {
    /// That of a child of this program, which has said why in one line.
    pub(crate) fn of_child(status: ExitStatus, complaint: &str) -> Self {
        let complaint = complaint.trim().strip_prefix("swtch: ").unwrap_or(complaint.trim()).to_owned();
        if status.code() == Some(WRONG) { Self::Wrong(complaint) } else { Self::Worker(complaint) }
    }

    /// Whether the arguments or the inputs are at fault.
    pub fn is_wrong_usage(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Sweep(SweepError::Wrong(_)))
    }
}

impl From<SweepError> for Error {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Wrong(problem) => Self::Wrong(problem),
            other => Self::Sweep(other),
        }
    }
}

/// `cannot read PATH`.
pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let what = format!("cannot read {}", path.display());
    move |source| Error::File { what, source }
}

/// `cannot write PATH`, with what becomes of the sweep.
pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let what = format!("cannot write {}; finished shards are kept", path.display());
    move |source| Error::File { what, source }
}
