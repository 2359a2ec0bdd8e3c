//! Many loads under many schedulers, in guests that count instructions: a boot for each scheduler, with all loads in it.
//!
//! The stock class is there twice, with other seeds: what differs there is chance.

mod load;
mod member;

pub use load::{Better, Load, LoadMetric, SimulatedLoad, loads, loads_named};
pub use member::run_column;

use crate::SchedProgress;
use crate::compare::{Policy, run_in_guest, take_along};
use crate::error::SchedError;
use crate::find::SearchPath;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use swtch_units::Observer;
use swtch_vm::{KeptOutput, Spec};

/// The name of the second column of the stock class.
pub const AGAIN: &str = "stock again";

/// What to run.
#[derive(Clone, Debug)]
pub struct BenchJob {
    /// The loads.
    pub loads: Vec<Load>,
    /// The schedulers; the stock class, which comes first and twice, is not among them.
    pub policies: Vec<Policy>,
    /// Counted runs of each load under each.
    pub runs: usize,
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

/// The loads under one scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, with options.
    pub scheduler: String,
    /// A digest of the programs, the loads and the guest's size: results of others are not mixed with these.
    pub identity: String,
    /// A digest of everything that the guest got, its kernel and all programs among them: the same gives the same figures.
    #[serde(default)]
    pub inputs: String,
    /// The guest's kernel.
    pub kernel: String,
    /// The loads, in the order in which they ran.
    pub loads: Vec<LoadRuns>,
}

/// The runs of a load under a scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRuns {
    /// Its name.
    pub load: String,
    /// The runs.
    pub runs: Vec<Run>,
}

/// One run of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// From its start to its end, virtual.
    pub seconds: f64,
    /// Switches of its tasks because they waited for something.
    pub voluntary: u64,
    /// Those where they could have gone on.
    pub involuntary: u64,
    /// Its figures, in the load's order.
    pub metrics: Vec<f64>,
}

/// What ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Benched {
    /// The loads.
    pub loads: Vec<Load>,
    /// CPUs of the guest.
    pub cpus: u32,
    /// Runs of each load under each scheduler.
    pub runs: usize,
    /// The stock class, the same again, then the others.
    pub columns: Vec<Column>,
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
    // All are read before any runs: a directory of other programs is refused at once.
    let kept = wanted.iter().map(|(name, policy)| kept(job, name, policy)).collect::<Result<Vec<_>, _>>()?;
    let of = wanted.len();
    let mut columns = Vec::with_capacity(of);
    let mut missing = Vec::new();
    for (done, ((name, policy), kept)) in wanted.iter().zip(kept).enumerate() {
        if let Some(column) = kept {
            columns.push(column);
            continue;
        }
        if !job.shard.has(done) {
            missing.push(name.clone());
            continue;
        }
        let say = |doing: &str| SchedProgress::Step { done, of, next: format!("{name}: {doing}") };
        let mut column = boot(job, policy, done as u64, name, KeptOutput::new(observer, say))?;
        column.scheduler.clone_from(name);
        column.identity = identity(job, policy)?;
        keep(job, &column)?;
        columns.push(column);
    }
    observer.event(&SchedProgress::Step { done: of, of, next: String::new() });
    Ok(Benched { loads: job.loads.clone(), cpus: job.spec.cpus, runs: job.runs, columns, missing })
}

fn boot(
    job: &BenchJob,
    policy: &Policy,
    seed: u64,
    name: &str,
    printed: KeptOutput<'_, SchedProgress, impl Fn(&str) -> SchedProgress>,
) -> Result<Column, SchedError> {
    let names: Vec<&str> = job.loads.iter().map(|load| load.name.as_str()).collect();
    let mut command: Vec<OsString> = vec![job.program.clone().into()];
    command.extend(["sched", "bench", "--member-seed"].map(OsString::from));
    command.extend([seed.to_string().into(), "--schedulers".into(), policy.to_string().into()]);
    command.extend(["--loads".into(), names.join(",").into(), "--runs".into(), job.runs.to_string().into()]);
    let mut spec = Spec { command, deterministic: true, ..job.spec.clone() };
    for load in &job.loads {
        for program in load.command.iter().take(1).chain(&load.copy) {
            let path = swtch_vm::program_on_path(program)
                .ok_or_else(|| SchedError::NoProgram { load: load.name.clone(), program: program.clone() })?;
            if !spec.copy.contains(&path) {
                spec.copy.push(path);
            }
        }
    }
    let made = tempfile::tempdir().map_err(SchedError::system("making a directory for schedulers"))?;
    take_along(&mut spec, policy, &job.search_path, made.path())?;
    let (printed, outcome) = run_in_guest(&spec, &job.program, name, printed)?;
    let column: Column = serde_json::from_slice(&printed).map_err(|error| {
        SchedError::InGuest(format!("{name}: the guest's figures cannot be read: {error}"))
    })?;
    Ok(Column { kernel: outcome.kernel, inputs: outcome.inputs, ..column })
}

/// Of everything that decides a column, but the guest's kernel and the programs of the loads.
fn identity(job: &BenchJob, policy: &Policy) -> Result<String, SchedError> {
    let mut hasher = DefaultHasher::new();
    (job.runs, job.spec.cpus, job.spec.memory_mib, policy.to_string(), &job.spec.kernel).hash(&mut hasher);
    serde_json::to_string(&job.loads).unwrap_or_default().hash(&mut hasher);
    let found = policy.prepare(&job.search_path)?.found;
    let others = found.into_iter().flat_map(|found| std::iter::once(found.path).chain(found.file));
    let programs = job.loads.iter().flat_map(|load| load.command.iter().take(1).chain(&load.copy));
    let programs = programs.filter_map(|program| swtch_vm::program_on_path(program));
    for path in std::iter::once(job.program.clone()).chain(others).chain(programs) {
        let reading = format!("reading {}", path.display());
        fs::read(&path).map_err(SchedError::system(reading))?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}.json", name.replace([' ', '/'], "_")))
}

/// What the directory has of this column.
fn kept(job: &BenchJob, name: &str, policy: &Policy) -> Result<Option<Column>, SchedError> {
    let Some(folder) = &job.folder else { return Ok(None) };
    let path = place(folder, name);
    if !path.exists() {
        return Ok(None);
    }
    let other = |why: String| SchedError::OtherResults { path: path.clone(), why };
    let bytes = fs::read(&path).map_err(|error| other(error.to_string()))?;
    let column: Column = serde_json::from_slice(&bytes).map_err(|error| other(error.to_string()))?;
    if column.identity != identity(job, policy)? {
        return Err(other("it is of other programs, loads, runs or another guest".to_owned()));
    }
    Ok(Some(column))
}

/// Written beside its place first: what is there is whole, even after a kill.
fn keep(job: &BenchJob, column: &Column) -> Result<(), SchedError> {
    let Some(folder) = &job.folder else { return Ok(()) };
    let path = place(folder, &column.scheduler);
    let failed = || SchedError::system(format!("writing {}", path.display()));
    fs::create_dir_all(folder).map_err(failed())?;
    let text = serde_json::to_string_pretty(column).map_err(|error| failed()(error.into()))?;
    let beside = path.with_extension("part");
    fs::write(&beside, text + "\n").map_err(failed())?;
    fs::rename(&beside, &path).map_err(failed())
}
