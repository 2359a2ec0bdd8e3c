//! Many loads under many schedulers, in guests that count instructions: several boots for each scheduler, with all loads in each of them.
//!
//! The stock class is there twice, with other seeds: what differs there is chance.

mod boots;
mod column;
mod kept;
mod load;
mod member;
mod recorded;

pub use boots::guests_at_a_time;
pub use column::{Boot, Column, LoadRuns, Run};
pub use load::{
    Load, LoadMetric, SimulatedFigure, SimulatedLoad, SimulatedTimes, Statistic, WHOLE_RUN, loads,
    loads_named,
};
pub use member::{run_boot, run_load_here};
pub use recorded::{PreemptedBy, RecordedRun};

use crate::SchedProgress;
use crate::compare::Policy;
use crate::error::SchedError;
use crate::find::SearchPath;
use boots::{Booted, Others, Task};
use kept::{keep, kept};
use std::path::PathBuf;
use std::str::FromStr;
use swtch_units::Observer;
use swtch_vm::Spec;

/// The name of the second column of the stock class.
pub const AGAIN: &str = "stock again";
/// Columns of the stock class.
const STOCK_COLUMNS: usize = 2;

/// What to run.
#[derive(Clone, Debug)]
pub struct BenchJob {
    /// The loads.
    pub loads: Vec<Load>,
    /// The schedulers; the stock class, which comes first and twice, is not among them.
    pub policies: Vec<Policy>,
    /// Boots of each scheduler. Boots differ, so they are what is compared.
    pub boots: usize,
    /// Counted runs of each load in each boot.
    pub runs: Runs,
    /// Whether the first boot of each scheduler records each load once, after all counted runs.
    pub record: bool,
    /// Draws other boots.
    pub seed: u32,
    /// Guests that run at the same time. No figure depends on it.
    pub at_a_time: usize,
    /// Where the results of each scheduler are kept as they come, and looked for.
    pub folder: Option<PathBuf>,
    /// The part of the schedulers that runs here; the others are taken from the directory, where they are there.
    pub shard: Shard,
    /// The guest; its command and what travels are replaced.
    pub spec: Spec,
    /// This program.
    pub program: PathBuf,
    /// Where schedulers are looked for.
    pub search_path: SearchPath,
}

/// How often a load runs in a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Runs {
    /// At least this often.
    pub least: usize,
    /// And up to this often where its times or its switches differ by more than a tenth: their median says little otherwise.
    pub most: usize,
}

impl From<usize> for Runs {
    /// As often, whatever they are.
    fn from(runs: usize) -> Self {
        Self { least: runs, most: runs }
    }
}

/// One of several equal parts of the schedulers, each for a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    pub part: usize,
    /// Of how many.
    pub of: usize,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Self = Self { part: 1, of: 1 };

    fn has(self, index: usize) -> bool {
        index % self.of == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers =
            text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Self { part, of }),
            _ => Err("say which part of how many, as in 2/3".to_owned()),
        }
    }
}

/// What ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Benched {
    /// The loads.
    pub loads: Vec<Load>,
    /// CPUs of the guest.
    pub cpus: u32,
    /// Boots of each scheduler.
    pub boots: usize,
    /// Runs of each load in each boot.
    pub runs: usize,
    /// The stock class, the same again, then the others.
    pub columns: Vec<Column>,
    /// The schedulers that a load or the kernel got the better of, and how.
    pub failed: Vec<(String, String)>,
    /// The schedulers of other shards that the directory does not have.
    pub missing: Vec<String>,
}

/// Runs what the directory does not have yet.
///
/// # Errors
/// When a guest, a scheduler or a load fails, or the directory has results of other programs.
pub fn bench(job: &BenchJob, observer: &mut dyn Observer<SchedProgress>) -> Result<Benched, SchedError> {
    let stock = [("stock".to_owned(), Policy::Stock), (AGAIN.to_owned(), Policy::Stock)];
    let others = job.policies.iter().map(|policy| (policy.to_string(), policy.clone()));
    let wanted: Vec<(String, Policy)> = stock.into_iter().chain(others).collect();
    for (index, (name, policy)) in wanted.iter().enumerate() {
        if wanted[..index].iter().any(|(other, _)| other == name) {
            return Err(SchedError::Wish(format!(
                "{name} is given twice; stock is always there, name each other once"
            )));
        }
        policy.prepare(&job.search_path)?;
    }
    let (mut columns, failed) = columns(job, &wanted, STOCK_COLUMNS, observer)?;
    let names =
        columns.iter().filter(|column| !column.is_whole(job.boots)).map(|column| column.scheduler.clone());
    let missing = names.filter(|name| !failed.iter().any(|(other, _)| other == name)).collect();
    columns.retain(|column| {
        !column.boots.is_empty() && !failed.iter().any(|(name, _)| *name == column.scheduler)
    });
    Ok(Benched {
        loads: job.loads.clone(),
        cpus: job.spec.cpus,
        boots: job.boots,
        runs: job.runs.least,
        columns,
        failed,
        missing,
    })
}

/// Schedulers that did not get to the end, and why.
type Failed = Vec<(String, String)>;

/// Boots the columns of these names as far as the directory does not have them. The first `needed` must get to the end.
pub(crate) fn columns(
    job: &BenchJob,
    wanted: &[(String, Policy)],
    needed: usize,
    observer: &mut dyn Observer<SchedProgress>,
) -> Result<(Vec<Column>, Failed), SchedError> {
    // All are read before any runs: a directory of other programs is refused at once.
    let mut columns =
        wanted.iter().map(|(name, policy)| kept(job, name, policy)).collect::<Result<Vec<_>, _>>()?;
    let tasks: Vec<Task<'_>> = wanted
        .iter()
        .enumerate()
        .filter(|(index, _)| job.shard.has(*index))
        .flat_map(|(column, (name, policy))| {
            (0..job.boots).map(move |number| Task { column, name, policy, number })
        })
        .filter(|task| !columns[task.column].has(task.number))
        .collect();
    let mut failed = Failed::new();
    boots::make(job, &tasks, observer, |index, booted| {
        let column = &mut columns[index];
        match booted {
            Ok(booted) => add(job, column, booted).map(|()| Others::GoOn),
            // A scheduler that a load or the kernel gets the better of is a result.
            Err(error @ (SchedError::InGuest(_) | SchedError::Vm { .. })) if index >= needed => {
                if !failed.iter().any(|(name, _)| *name == column.scheduler) {
                    failed.push((column.scheduler.clone(), error.to_string()));
                }
                Ok(Others::GivenUp)
            }
            Err(error) => Err(error),
        }
    })?;
    for column in &mut columns {
        column.boots.retain(|boot| boot.number < job.boots);
    }
    Ok((columns, failed))
}

/// Puts a boot into its place among the others, and keeps them.
fn add(job: &BenchJob, column: &mut Column, booted: Booted) -> Result<(), SchedError> {
    if column.boots.is_empty() {
        column.kernel.clone_from(&booted.kernel);
    }
    if column.kernel != booted.kernel {
        let (before, now) = (&column.kernel, &booted.kernel);
        return Err(SchedError::Wish(format!(
            "the other boots of {} are of Linux {before}, this one of {now}; give the same --kernel, or another directory",
            column.scheduler
        )));
    }
    let place = column.boots.partition_point(|boot| boot.number < booted.boot.number);
    column.boots.insert(place, booted.boot);
    keep(job, column)
}
