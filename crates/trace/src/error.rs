//! Why a Trace could not be read or written.

use crate::model::SCHEMA;
use std::io;
use std::path::PathBuf;
use swtch_columns::TableError;
use swtch_units::input_error::Refused;

/// Why a Trace could not be read or written. Every message is one line: what failed, the cause, the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A file of the Trace cannot be read.
    #[error("cannot read {}: {source}; check the path", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The path does not hold a Trace.
    #[error("{} is not a Trace: {why}; a Trace is a directory that 'swtch record' writes", path.display())]
    NotATrace {
        /// The path.
        path: PathBuf,
        /// What it is, or lacks.
        why: String,
    },
    /// A header of another kind or version.
    #[error("{} has the schema '{found}', not '{SCHEMA}'; {advice}", path.display())]
    Foreign {
        /// The header.
        path: PathBuf,
        /// The schema it names.
        found: String,
        /// What to do about it.
        advice: &'static str,
    },
    /// A file of the Trace names the right schema and breaks it.
    #[error("{} is damaged: {why}; copy the Trace again or record it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is missing or wrong, and where.
        why: String,
    },
    /// Figures of the Trace cannot be true.
    #[error(
        "{} has a figure that cannot be true: {source}; none of it is used; report this defect of swtch with it, or record \
         again",
        path.display()
    )]
    Impossible {
        /// The Trace.
        path: PathBuf,
        /// The figures, and what they contradict.
        source: Refused,
    },
    /// A file could not be written; what was there before is still there.
    #[error("cannot write {}: {source}; what was written before can still be read", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A Trace cannot be created; there is nothing of it.
    #[error("cannot create the Trace {}: {source}; {}", path.display(), if source.kind() == io::ErrorKind::NotFound { "create its directory first" } else { "choose another place" })]
    Create {
        /// The Trace.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A Trace cannot be created where something else is; that was left as it is.
    #[error("cannot write a Trace to {}: {why}; nothing was changed there, choose another name", path.display())]
    Occupied {
        /// The path.
        path: PathBuf,
        /// What is there.
        why: String,
    },
    /// The directory that was being written to is gone, or another one has taken its name.
    #[error("cannot write {}: the directory was moved, deleted or replaced meanwhile; record again under another name", path.display())]
    Replaced {
        /// The directory.
        path: PathBuf,
    },
}

impl From<TableError> for TraceError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Read { path, source } => Self::Read { path, source },
            TableError::Damaged { path, why } => Self::Damaged { path, why },
            other => Self::Damaged { path: PathBuf::new(), why: other.to_string() },
        }
    }
}

impl TraceError {
    /// Whether a disk or a quota is full: the recorder then ends with [`DiskFull`](crate::model::Ended::DiskFull).
    ///
    /// ```
    /// let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
    /// assert!(swtch_trace::TraceError::Write { path: "run.swtch/header.json".into(), source }.is_disk_full());
    /// ```
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Write { source, .. } | Self::Create { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}
