//! What can go wrong.

use std::path::PathBuf;

/// Why a scheduler did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerError {
    /// Loading needs root.
    #[error(
        "a scheduler can only be loaded by root; run it with sudo, or try it in a virtual machine: swtch vm"
    )]
    NotRoot,
    /// The kernel has no sched_ext.
    #[error(
        "the kernel here, {release}, has no sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12 and later); try it in a virtual machine: swtch vm"
    )]
    NoSchedExt {
        /// As `uname -r` has it.
        release: String,
    },
    /// There can be only one.
    #[error(
        "another sched_ext scheduler is loaded, {name}; end its program first (cat /sys/kernel/sched_ext/root/ops names it)"
    )]
    AnotherLoaded {
        /// As the kernel names it.
        name: String,
    },
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
    /// A file of the kernel's cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no such process or control group.
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
