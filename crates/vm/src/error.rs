//! Why a command could not be run in a virtual machine.

use crate::protocol::FrameError;
use std::io;
use std::path::PathBuf;

/// What went wrong, its likely cause, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VmError {
    /// There is no command to run.
    #[error("no command given; say what to run: swtch vm -- COMMAND")]
    NoCommand,
    /// The command is not on this machine.
    #[error(
        "'{command}' is neither a program on PATH nor an executable file; programs travel into the guest from here, so install it first"
    )]
    CommandNotFound {
        /// As it was given.
        command: String,
    },
    /// What was asked for cannot be done with what is here: a library, a scheduler or a kernel's option is missing, or a number is out of range.
    #[error("{0}")]
    Wish(String),
    /// A file cannot be taken along.
    #[error("cannot take {path} into the guest: {source}; check the name and its permissions", path = path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// QEMU is missing: the name of its program.
    #[error("QEMU is not installed: there is no {0} on PATH; on Debian: apt-get install qemu-system-x86")]
    NoQemu(&'static str),
    /// No kernel could be had, and why.
    #[error(
        "no kernel with sched_ext could be fetched from Debian's packages: {0}; give one with --kernel FILE"
    )]
    NoKernel(String),
    /// QEMU's threads cannot be kept in step.
    #[error(
        "this QEMU does not let its threads be kept in step (a library is preloaded into it), so two runs could differ; take a QEMU that is linked dynamically and names its threads, as distributions' do, or leave out --deterministic"
    )]
    Inexact,
    /// The guest did not boot, hung, ended before its command had, or took too long.
    #[error("{0}")]
    Guest(String),
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The command cannot be started in the guest.
    #[error("cannot start '{command}' in the guest: {why}")]
    Start {
        /// Its name.
        command: String,
        /// Why.
        why: String,
    },
    /// A file to bring back is not there.
    #[error("cannot bring {path} back from the guest: {why}", path = path.display())]
    Fetch {
        /// As it was asked for.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The guest sent what is no message.
    #[error("{0}; the command may have written to the guest's own channel")]
    Frame(#[from] FrameError),
    /// Something of this machine's failed.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl VmError {
    /// The status with which a shell ends for a command that cannot be started, where that is what failed.
    ///
    /// ```
    /// use swtch_vm::VmError;
    ///
    /// assert_eq!(VmError::CommandNotFound { command: "make".into() }.shell_status(), Some(127));
    /// assert_eq!(VmError::Interrupted.shell_status(), None);
    /// ```
    pub fn shell_status(&self) -> Option<u8> {
        match self {
            Self::CommandNotFound { .. } => Some(127),
            Self::Start { .. } => Some(126),
            _ => None,
        }
    }

    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }
}
