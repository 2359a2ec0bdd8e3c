//! What differs between two sides: Traces, Profiles or studies, one or several on each.

mod answer;
mod documents;
mod traces;
mod who;

pub use answer::words;
pub use documents::diff_profiles;
pub use traces::diff_traces;

use crate::files::{FileKind, NoDocument};
use crate::limit::{FailIf, Limit};
use crate::metric::PricedTrace;
use crate::verdict::{Change, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use swtch_cost::{Bill, Caveat, CostModel, Inputs, bill};
use swtch_profile::FileError;
use swtch_trace::{Trace, TraceError};
use swtch_units::input_error::{Checks, Refused};

/// The value of [`Diff::schema`].
const SCHEMA: &str = "swtch/diff/1";

/// What differs between two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    /// Always `swtch/diff/1`.
    pub schema: String,
    /// The verdict of the figures that decide.
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub answer: String,
    /// What amounts are given for: `second` of what goes on, `run` of what ends; absent for Profiles and studies.
    pub amounts_per: Option<String>,
    /// The old side.
    pub old: DiffSide,
    /// The new side.
    pub new: DiffSide,
    /// The figures that both sides have, those that decide first.
    pub changes: Vec<Change>,
    /// Tasks, pairs of tasks and functions whose figures differ, those that explain most first.
    pub who: Vec<Difference>,
    /// What else differs: machines, kernels, commands, settings. It may explain every change.
    pub circumstances: Vec<String>,
    /// What limits the figures.
    pub notes: Vec<String>,
    /// The limits of `--fail-if`.
    pub limits: Vec<LimitResult>,
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffSide {
    /// Its files.
    pub files: Vec<String>,
    /// Its runs.
    pub runs: usize,
    /// Length of the median recording, ns; absent for Profiles and studies.
    pub duration_ns: Option<u64>,
    /// What a reader has to know of its Profiles before the figures.
    #[serde(default)]
    pub caveats: Vec<Caveat>,
}

/// How a figure of a task, a pair of tasks or a function differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The program: tasks by name, as their numbers differ between runs.
    pub task: String,
    /// The other program: the one that preempted, woke or ran in front.
    pub peer: Option<String>,
    /// The function in which the task was switched away from, where both sides have stacks.
    pub function: Option<String>,
    /// The figure.
    pub metric: String,
    /// Its unit, as in `changes`.
    pub unit: String,
    /// Median of the old runs.
    pub old: f64,
    /// Median of the new runs.
    pub new: f64,
    /// `new` less `old`.
    pub difference: f64,
    /// Lower end of the 95 % interval of the difference; absent without repeats.
    pub ci_low: Option<f64>,
    /// Upper end of it.
    pub ci_high: Option<f64>,
    /// The difference as a share of the larger side's sum of this figure.
    pub share: f64,
}

/// Whether a limit holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitResult {
    /// As it was written.
    pub limit: String,
    /// Whether it holds, so that the command fails.
    pub holds: bool,
    /// The figure that it was compared with; absent where the limit is a verdict.
    pub change: Option<Change>,
}

/// What to compare by.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// Prices of switches.
    pub model: Option<CostModel>,
    /// What must not hold.
    pub fail_if: Vec<FailIf>,
}

/// Why there is no difference.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// The files are not of one kind.
    #[error("{0} cannot be compared with each other; name files of one kind")]
    Mixed(String),
    /// A limit is one of Traces.
    #[error(
        "--fail-if with a figure is about Traces, and these are {0}; write a verdict such as --fail-if worse"
    )]
    LimitsOfTraces(&'static str),
    /// A side does not have the figure of a limit.
    #[error(
        "--fail-if '{limit}' cannot be decided: {side} has no {figure}; record with another source, or leave it out"
    )]
    NoFigure {
        /// The limit.
        limit: String,
        /// The side.
        side: &'static str,
        /// The figure.
        figure: String,
    },
    /// A path holds nothing.
    #[error(transparent)]
    Nothing(#[from] NoDocument),
    /// A Trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A Profile cannot be read.
    #[error(transparent)]
    Profile(#[from] FileError),
    /// A study cannot be read.
    #[error(transparent)]
    Study(#[from] swtch_study::StudyError),
    /// A measurement of functions cannot be read.
    #[error(transparent)]
    Faas(#[from] swtch_faas::FileError),
}

impl DiffError {
    /// Whether the request was wrong rather than a file.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Mixed(_) | Self::LimitsOfTraces(_))
    }
}

impl Diff {
    /// Whether a limit holds.
    pub fn fails(&self) -> bool {
        self.limits.iter().any(|limit| limit.holds)
    }

    /// Adds what `fail_if` says of the verdict.
    pub fn add_verdicts(&mut self, fail_if: &[FailIf]) {
        for wanted in fail_if.iter().filter_map(FailIf::verdict) {
            let holds = self.verdict == wanted;
            self.limits.push(LimitResult { limit: wanted.name().to_owned(), holds, change: None });
        }
    }

    /// Checks that every ratio and verdict follows from its figures.
    ///
    /// # Errors
    /// [`Refused`] when one does not.
    pub fn check(&self) -> Result<(), Refused> {
        let mut checks = Checks::default();
        self.changes.iter().for_each(|change| change.check(&mut checks));
        checks.finish()
    }
}

/// Reads the files of both sides, which are all of one kind, and compares them.
///
/// # Errors
/// When a file cannot be read, the files are of several kinds, or a limit cannot be decided.
pub fn diff(old: &[PathBuf], new: &[PathBuf], options: &DiffOptions) -> Result<Diff, DiffError> {
    let kinds = FileKind::among(old.iter().chain(new))?;
    let [kind] = kinds[..] else { return Err(DiffError::Mixed(FileKind::names(&kinds))) };
    let limits: Vec<Limit> = options.fail_if.iter().filter_map(FailIf::limit).cloned().collect();
    if kind != FileKind::Trace && !limits.is_empty() {
        return Err(DiffError::LimitsOfTraces(kind.plural()));
    }
    let mut found = match kind {
        FileKind::Trace => {
            let [old, new] = [priced(old, options)?, priced(new, options)?];
            let [before, after] = [&old, &new].map(|side| side.iter().map(view).collect::<Vec<_>>());
            diff_traces(&before, &after, None, &limits)?
        }
        FileKind::Profile => documents::profiles(old, new)?,
        FileKind::Study => documents::studies(old, new)?,
        FileKind::Faas => documents::functions(old, new)?,
    };
    let names = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
    found.old.files = names(old);
    found.new.files = names(new);
    found.add_verdicts(&options.fail_if);
    Ok(found)
}

fn priced(paths: &[PathBuf], options: &DiffOptions) -> Result<Vec<(Trace, Bill)>, DiffError> {
    let read = |path: &PathBuf| {
        let trace = Trace::open(path)?;
        let bill = bill(Inputs { trace: trace.view(), model: options.model.as_ref(), price: None });
        Ok((trace, bill))
    };
    paths.iter().map(read).collect()
}

fn view((trace, bill): &(Trace, Bill)) -> PricedTrace<'_> {
    PricedTrace { trace: trace.view(), bill, requests: None }
}

#[cfg(test)]
mod tests;
