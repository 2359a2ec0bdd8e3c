//! Why a Trace could not be put into another format.

use std::io;
use swtch_trace::TraceError;
use swtch_trace::tables::TABLES;

/// Why a Trace could not be put into another format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The Trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// There is no table of that name.
    #[error("there is no table '{name}'; the tables are {}", TABLES.join(", "))]
    NoTable {
        /// What was asked for.
        name: String,
    },
    /// The table is one of those that this Trace does not have.
    #[error("this Trace has no table '{table}': {why}")]
    Absent {
        /// The table.
        table: &'static str,
        /// Why it is not there.
        why: String,
    },
    /// What came out could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl From<ExportError> for io::Error {
    /// For callers that write files; the message stays.
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Write(error) => error,
            other => Self::other(other),
        }
    }
}
