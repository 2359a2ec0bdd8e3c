//! Why budgets could not be checked.

use crate::runs::RunsError;
use std::io;
use std::path::PathBuf;
use swtch_record::RecordError;
use swtch_units::input_error::ReadError;

/// What went wrong, its likely cause, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// There is no file of budgets.
    #[error("cannot read {}: {source}; --budget FILE names another file, and 'swtch book' shows how to write one", path.display())]
    NoBudgets {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of budgets has a mistake.
    #[error("{}: {why}", path.display())]
    Budget {
        /// The file.
        path: PathBuf,
        /// The mistake.
        why: String,
    },
    /// The baseline cannot be read.
    #[error(transparent)]
    Baseline(#[from] ReadError),
    /// The baseline of a commit cannot be read.
    #[error("cannot read the baseline of '{commit}': {why}; --baseline takes a file or a commit")]
    Commit {
        /// As it was given.
        commit: String,
        /// Why.
        why: String,
    },
    /// The baseline says nothing about this machine.
    #[error(
        "budget '{budget}': the baseline was made with another {what}: {old}, not {new}; use that one again, or accept a new baseline: swtch check --accept"
    )]
    Elsewhere {
        /// The budget.
        budget: String,
        /// What differs.
        what: String,
        /// In the baseline.
        old: String,
        /// Now.
        new: String,
    },
    /// The guard does not work.
    #[error(
        "budget '{budget}': the same bytes gave other figures than in the baseline ({figure}); the guest is not deterministic here, so no verdict is given: please report this defect"
    )]
    Inexact {
        /// The budget.
        budget: String,
        /// The first figure that differs.
        figure: String,
    },
    /// A figure cannot be had here.
    #[error("{figure} is unavailable here: {why}; leave it out, or write where = \"vm\"")]
    Unavailable {
        /// The figure.
        figure: String,
        /// Why.
        why: String,
    },
    /// There is no command to run.
    #[error("no command given; say what to run: command = \"PROGRAM ARGUMENTS\"")]
    NoCommand,
    /// The command of a budget failed.
    #[error("'{command}' {how}; a budget needs a command that succeeds")]
    Command {
        /// Its program.
        command: String,
        /// How it ended.
        how: String,
    },
    /// One budget cannot be checked.
    #[error("budget '{budget}': {source}")]
    Of {
        /// The budget.
        budget: String,
        /// Why.
        source: Box<CheckError>,
    },
    /// The guest, or the ensemble in it, failed.
    #[error("{0}")]
    Guest(String),
    /// The runs on this machine failed.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// The command could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A stop was requested.
    #[error("interrupted")]
    Interrupted,
    /// Something of this machine's failed.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl CheckError {
    pub(crate) fn system<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source: source.into() }
    }
}
