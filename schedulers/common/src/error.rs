//! What can go wrong.

use std::path::PathBuf;

/// Why a scheduler did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerError {
    /// No scheduler can be loaded here.
    #[error(transparent)]
    Refusal(#[from] swtch_sched_ext::Refusal),
    /// libbpf or the kernel refused.
    #[error("cannot {what}: {source}")]
    Bpf {
        /// What was tried.
        what: String,
        /// What libbpf says.
        source: libbpf_rs::Error,
    },
    /// The object lacks something that the program needs: they do not belong together.
    #[error("the scheduler's object has no {what}")]
    Missing {
        /// What it lacks.
        what: String,
    },
    /// A constant cannot be set.
    #[error("{0}")]
    Constant(String),
    /// A file of the kernel's cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no such process or cgroup.
    #[error("{what}; nothing was loaded")]
    NoSuchTarget {
        /// Which, and what was expected.
        what: String,
    },
    /// A policy cannot be set.
    #[error("cannot move thread {tid} to the scheduler: {source}")]
    Policy {
        /// The thread.
        tid: i32,
        /// Why.
        source: std::io::Error,
    },
    /// A signal cannot be caught.
    #[error("cannot catch signals: {0}")]
    Signals(#[source] std::io::Error),
    /// What a scheduler's own half could not do.
    #[error("{0}")]
    Worker(String),
}

impl SchedulerError {
    /// Adds what was tried to libbpf's words.
    pub(crate) fn bpf(what: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> Self {
        let what = what.into();
        move |source| Self::Bpf { what, source }
    }

    pub(crate) fn missing(what: impl Into<String>) -> Self {
        Self::Missing { what: what.into() }
    }
}
