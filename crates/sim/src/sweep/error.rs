//! Why a sweep did not come to its end.

use crate::error::SimError;
use crate::plan::PlanError;
use std::io;
use swtch_profile::FileError;
use thiserror::Error;

/// Why a sweep did not finish. The runs that are done are kept, and the same call continues with the others.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The file, a workload in it, or what is at the table's place cannot be.
    #[error("{0}")]
    Wrong(String),
    /// A file could not be read or written.
    #[error("{what}: {source}")]
    File {
        /// What was to be done with which file.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A Profile could not be read, or the table not be written.
    #[error(transparent)]
    Document(#[from] FileError),
    /// What a workload names could not be read.
    #[error(transparent)]
    Plan(PlanError),
    /// It was stopped.
    #[error("interrupted: {done} of {all} runs are done; run the same command again to continue")]
    Interrupted {
        /// Runs that are kept.
        done: usize,
        /// Runs of the part.
        all: usize,
    },
}

impl From<SimError> for SweepError {
    fn from(error: SimError) -> Self {
        Self::Wrong(error.to_string())
    }
}

pub(super) fn file_error(what: String) -> impl FnOnce(io::Error) -> SweepError {
    move |source| SweepError::File { what, source }
}
