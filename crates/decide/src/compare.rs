//! Commands compared by their runs: the document of `swtch compare`.

mod parameters;
mod runs_needed;

pub use parameters::{Filled, Parameter, ParameterError, Template, expand};

use crate::runs::{CommandRun, RunPlan, Runs, Stopped};
use crate::verdict::{Change, RunOrder, Verdict, correct, judge_all, overall};
pub(crate) use runs_needed::runs_needed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swtch_sched::RunFigure;
use swtch_trace::model::Unavailable;

/// The version of the document.
pub const SCHEMA: &str = "swtch/compare/1";

/// Commands, each run several times, in random order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandComparison {
    /// `swtch/compare/1`.
    pub schema: String,
    /// What wrote it.
    pub swtch_version: String,
    /// Of all commands against the first; absent for a single command.
    pub verdict: Option<Verdict>,
    /// The commands, in the order given.
    pub runs: Vec<ComparedCommand>,
    /// What counted switches and waits: `bpf-counts`, or `wait4` for the processes that were waited for.
    pub source: String,
    /// Why that.
    pub why: String,
    /// Release of the kernel.
    pub kernel: String,
    /// CPUs that the commands could use.
    pub cpus: usize,
    /// Runs of each command before those that count.
    pub warmup: usize,
    /// Seed of the random order.
    pub seed: u64,
    /// What ended it early: `interrupted` or `time-limit`.
    pub stopped: Option<Stopped>,
    /// What is missing, and why.
    pub unavailable: Vec<Unavailable>,
}

/// The runs of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCommand {
    /// As it was given, parameters filled in.
    pub command: String,
    /// The parameters.
    pub parameters: BTreeMap<String, String>,
    /// How many runs count.
    pub count: usize,
    /// The exit statuses of the runs, each once.
    pub exit_statuses: Vec<i32>,
    /// From its start to its end, s.
    pub seconds: RunFigure,
    /// CPU time of all its tasks, s.
    pub cpu_seconds: RunFigure,
    /// Context switches of its tasks, voluntary and involuntary.
    pub context_switches: RunFigure,
    /// Those that the tasks asked for.
    pub voluntary: RunFigure,
    /// Those that they did not ask for.
    pub involuntary: RunFigure,
    /// Time of its tasks in run queues, s.
    pub wait_seconds: Option<RunFigure>,
    /// What the switches cost, as a share of the CPU time: the middle of the bill; its interval holds the bill's range too.
    pub bill_share: Option<RunFigure>,
    /// Against the first command; absent for that.
    pub verdict: Option<Verdict>,
    /// Every figure against that of the first command.
    pub changes: Vec<Change>,
    /// Where the verdict is `unclear`: about how many runs of each would decide at this noise; absent where no number would.
    pub runs_needed: Option<u64>,
}

/// A figure of a run, by the name that it has in verdicts.
type Taken = (&'static str, fn(&CommandRun) -> Option<f64>);

/// The figures that are compared. Times are in ns here, as in all verdicts.
const FIGURES: [Taken; 7] = [
    ("elapsed", |run| Some(run.end.elapsed_ns as f64)),
    ("cpu.time", |run| Some(run.cpu_seconds() * 1e9)),
    ("switches", |run| Some((run.voluntary() + run.involuntary()) as f64)),
    ("voluntary", |run| Some(run.voluntary() as f64)),
    ("involuntary", |run| Some(run.involuntary() as f64)),
    ("wait.total", |run| run.wait_seconds().map(|seconds| seconds * 1e9)),
    ("bill", |run| run.bill_share().map(|share| share.high)),
];

/// Compares the runs of the plan's commands. Absent where a command has no run that counts.
pub fn compare(
    plan: &RunPlan,
    parameters: &[BTreeMap<String, String>],
    found: &Runs,
) -> Option<CommandComparison> {
    let of =
        |index: usize| -> Vec<&CommandRun> { found.runs.iter().filter(|run| run.command == index).collect() };
    let all: Vec<Vec<&CommandRun>> = (0..plan.commands.len()).map(of).collect();
    let first = all.first()?;
    if all.iter().any(Vec::is_empty) {
        return None;
    }
    let mut changes: Vec<Vec<Change>> = all.iter().skip(1).map(|runs| against(first, runs)).collect();
    let verdict = judge_all(&mut changes);
    changes.insert(0, Vec::new());
    let commands = plan.commands.iter().zip(&all).zip(changes).enumerate();
    let runs = commands.map(|(index, ((command, runs), changes))| ComparedCommand {
        parameters: parameters.get(index).cloned().unwrap_or_default(),
        ..compared(&command.name, runs, changes)
    });
    let header = &first.first()?.header;
    Some(CommandComparison {
        schema: SCHEMA.to_owned(),
        swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
        verdict: (all.len() > 1).then_some(verdict),
        runs: runs.collect(),
        source: if found.is_counted() { "bpf-counts" } else { "wait4" }.to_owned(),
        why: found.why.clone(),
        kernel: header.host.kernel.release.clone(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        warmup: plan.warmup,
        seed: plan.seed,
        stopped: found.stopped,
        unavailable: found.unavailable(plan.model.is_some()),
    })
}

fn against(first: &[&CommandRun], runs: &[&CommandRun]) -> Vec<Change> {
    FIGURES.iter().filter_map(|taken| change(taken, first, runs)).collect()
}

/// All commands run once in each round, so runs of one round are a pair.
fn change((name, of): &Taken, first: &[&CommandRun], runs: &[&CommandRun]) -> Option<Change> {
    let values = |runs: &[&CommandRun]| runs.iter().map(|run| of(run)).collect::<Option<Vec<f64>>>();
    Change::between(name.parse().ok()?, &values(first)?, &values(runs)?, RunOrder::Pairs)
}

/// One figure of each command but the first against the first, where that figure alone decides: corrected for the commands only.
pub(crate) fn changes_of(metric: &str, commands: usize, found: &Runs) -> Vec<Option<Change>> {
    let of = |index: usize| found.runs.iter().filter(|run| run.command == index).collect::<Vec<_>>();
    let Some(taken) = FIGURES.iter().find(|(name, _)| *name == metric) else { return Vec::new() };
    let first = of(0);
    let mut changes: Vec<Option<Change>> =
        (1..commands).map(|index| change(taken, &first, &of(index))).collect();
    correct(&mut changes.iter_mut().flatten().collect::<Vec<_>>());
    changes
}

fn compared(name: &str, runs: &[&CommandRun], changes: Vec<Change>) -> ComparedCommand {
    let figure =
        |of: fn(&CommandRun) -> f64| RunFigure::of(&runs.iter().map(|run| of(run)).collect::<Vec<_>>());
    let part = |of: fn(&CommandRun) -> Option<f64>| {
        runs.iter().map(|run| of(run)).collect::<Option<Vec<f64>>>().map(|values| RunFigure::of(&values))
    };
    let bill = [
        part(|run| run.bill_share().map(swtch_cost::Range::middle)),
        part(|run| run.bill_share().map(|share| share.low)),
        part(|run| run.bill_share().map(|share| share.high)),
    ];
    let bill_share = match bill {
        [Some(middle), Some(low), Some(high)] => {
            let ([ci_low, _], [_, ci_high]) = (low.ends(), high.ends());
            Some(RunFigure { ci_low: Some(ci_low), ci_high: Some(ci_high), ..middle })
        }
        _ => None,
    };
    let mut exit_statuses: Vec<i32> = runs.iter().map(|run| run.end.status).collect();
    exit_statuses.sort_unstable();
    exit_statuses.dedup();
    let verdict = (!changes.is_empty()).then(|| overall(&changes));
    ComparedCommand {
        command: name.to_owned(),
        parameters: BTreeMap::new(),
        count: runs.len(),
        exit_statuses,
        seconds: figure(CommandRun::seconds),
        cpu_seconds: figure(CommandRun::cpu_seconds),
        context_switches: figure(|run| (run.voluntary() + run.involuntary()) as f64),
        voluntary: figure(|run| run.voluntary() as f64),
        involuntary: figure(|run| run.involuntary() as f64),
        wait_seconds: part(CommandRun::wait_seconds),
        bill_share,
        runs_needed: verdict
            .filter(|verdict| *verdict == Verdict::Unclear)
            .and_then(|_| runs_needed(&changes, runs.len())),
        verdict,
        changes,
    }
}

/// The schema of the document.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(CommandComparison).to_value()
}

#[cfg(test)]
mod tests;
