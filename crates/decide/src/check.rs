//! Budgets for context switches: a regression guard.
//!
//! Modules: `budget` (the file of budgets), `baseline` (what they are compared with), `guest` and `member` (an ensemble of runs in a deterministic guest),
//! `here` (runs on this machine), `who` (which tasks made the switches), `judge` (the limits), `error`.

mod baseline;
mod budget;
mod error;
mod guest;
mod here;
mod judge;
mod member;
mod who;

pub use baseline::{BASELINE_FILE, Baseline, BudgetBaseline};
pub use budget::{Budget, FigureLimit, Place, read_budgets};
pub use error::CheckError;
pub use judge::{BudgetResult, CheckResult, MetricResult, Status};
pub use member::{MemberJob, run_members};
pub use who::{Who, WhoDifference};

use guest::Ensemble;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use swtch_cost::CostModel;
use swtch_units::Observer;

/// What a check's document is called.
const SCHEMA: &str = "swtch/check/1";

/// The JSON Schema of `swtch/check/1`, generated from the types; published as `docs/schemas/check-1.json`.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(CheckResult).to_value()
}

/// What to check.
#[derive(Clone, Debug)]
pub struct CheckJob {
    /// The file of budgets.
    pub budgets: PathBuf,
    /// A file or a commit; the file beside the budgets when not given.
    pub baseline: Option<String>,
    /// Whether the baseline is written anew, so that the old one need not be of this machine.
    pub accept: bool,
    /// Where Traces of new and broken budgets go.
    pub traces: PathBuf,
    /// This program, which guests need.
    pub program: PathBuf,
    /// Prices of this machine, where there are any.
    pub model: Option<CostModel>,
}

/// What is being done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// The budget, and what.
    pub text: String,
}

/// Runs the commands of all budgets, and judges them. Also returns what they did, which becomes the baseline where it is accepted.
///
/// # Errors
/// When the budgets or the baseline cannot be read, a command fails, or the baseline is of another machine or kernel.
pub fn check(
    job: &CheckJob,
    observer: &mut dyn Observer<CheckProgress>,
) -> Result<(CheckResult, Baseline), CheckError> {
    let budgets = read_budgets(&job.budgets)?;
    let beside = job.budgets.with_file_name(BASELINE_FILE);
    let baseline = if job.accept { None } else { Baseline::read(job.baseline.as_deref(), &beside)? };
    let scratch = tempfile::tempdir().map_err(CheckError::system("making a directory for Traces"))?;
    let mut results = Vec::new();
    let mut accepted = BTreeMap::new();
    for budget in &budgets {
        let of = |source: CheckError| match source {
            CheckError::Interrupted => CheckError::Interrupted,
            source => CheckError::Of { budget: budget.name.clone(), source: Box::new(source) },
        };
        let mut ensemble = match budget.place {
            Place::Vm => guest::run(budget, &job.program, scratch.path(), observer).map_err(of)?,
            Place::Here => here::run(budget, job, scratch.path(), observer).map_err(of)?,
        };
        let old = baseline.as_ref().and_then(|baseline| baseline.budgets.get(&budget.name));
        let mut result = judge::judge(budget, &ensemble, old)?;
        let has_functions = old.is_some_and(|old| old.who.iter().any(|who| who.function.is_some()));
        if budget.place == Place::Vm && (job.accept || result.status == Status::Broken && has_functions) {
            ensemble
                .who
                .extend(guest::functions(budget, &job.program, scratch.path(), observer).map_err(of)?);
            result = judge::judge(budget, &ensemble, old)?;
        }
        if result.status != Status::Kept {
            result.trace = keep(&ensemble, budget, &job.traces)?;
        }
        results.push(result);
        accepted.insert(budget.name.clone(), of_ensemble(ensemble));
    }
    Ok((result(&job.budgets, results), Baseline::new(accepted)))
}

fn result(budgets: &Path, results: Vec<BudgetResult>) -> CheckResult {
    let folder = budgets.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The time of the commit, so that the same check writes the same documents.
    let git = Command::new("git").arg("-C").arg(folder).args(["log", "-1", "--format=%H %cI"]).output();
    let said = git.ok().filter(|output| output.status.success());
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let commit = said.as_deref().and_then(|said| said.split_once(' '));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let has = |status| results.iter().any(|result| result.status == status);
    let statuses = [Status::Broken, Status::New];
    CheckResult {
        schema: SCHEMA.to_owned(),
        status: statuses.into_iter().find(|status| has(*status)).unwrap_or(Status::Kept),
        commit: commit.map(|(commit, _)| commit.to_owned()),
        time: commit.map_or_else(|| utc(now), |(_, time)| time.to_owned()),
        budgets: results,
    }
}

/// In ISO 8601.
fn utc(unix_s: u64) -> String {
    let [year, month, day, hour, minute, second] = swtch_units::utc(unix_s);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
}

fn of_ensemble(ensemble: Ensemble) -> BudgetBaseline {
    let Ensemble { made_with, inputs, mut figures, who, .. } = ensemble;
    for values in figures.values_mut() {
        values.sort_by(f64::total_cmp);
    }
    BudgetBaseline { made_with, inputs, figures, who }
}

/// Moves the Trace of a budget to where it is kept; one of an earlier check is replaced.
fn keep(ensemble: &Ensemble, budget: &Budget, folder: &Path) -> Result<Option<PathBuf>, CheckError> {
    let Some(trace) = &ensemble.trace else { return Ok(None) };
    let place = folder.join(format!("{}.swtch", budget.name));
    let doing = || CheckError::system(format!("keeping the Trace {}", place.display()));
    fs::create_dir_all(folder).map_err(doing())?;
    if place.exists() {
        fs::remove_dir_all(&place).map_err(doing())?;
    }
    copy(trace, &place).map_err(doing())?;
    Ok(Some(place))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
