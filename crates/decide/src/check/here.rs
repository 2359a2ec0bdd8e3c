//! The runs of a budget on this machine.

use super::budget::Budget;
use super::guest::Ensemble;
use super::member::complaints;
use super::who;
use super::{CheckError, CheckJob, CheckProgress};
use crate::runs::{CommandRun, PlannedCommand, RunPlan, RunProgress, run_all};
use crate::{Figure, PricedTrace};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use swtch_record::{CommandStart, Options, Progress, STACK_ENTRIES, Target, record};
use swtch_units::Observer;

/// What the recorded run is called, in the directory of Traces.
const TRACE: &str = "here.swtch";

/// Runs the command again and again, and once more with every switch recorded.
pub(super) fn run(
    budget: &Budget,
    job: &CheckJob,
    folder: &Path,
    observer: &mut dyn Observer<CheckProgress>,
) -> Result<Ensemble, CheckError> {
    let began = Instant::now();
    let plan = RunPlan {
        commands: vec![PlannedCommand {
            name: budget.name.clone(),
            words: budget.command.clone(),
            ..PlannedCommand::default()
        }],
        runs: budget.runs,
        warmup: 1,
        timeout: Some(budget.timeout),
        model: job.model.clone(),
        ..RunPlan::default()
    };
    let found = run_all(&plan, &mut Steps { observer, name: &budget.name })?;
    if found.stopped.is_some() {
        return Err(CheckError::Interrupted);
    }
    let mut figures = BTreeMap::new();
    for limit in &budget.limits {
        let values: Option<Vec<f64>> =
            found.runs.iter().map(|run| value(limit.figure, run, budget)).collect();
        let values = values.ok_or_else(|| CheckError::Unavailable {
            figure: limit.figure.to_string(),
            why: found.why.clone(),
        })?;
        figures.insert(limit.figure.to_string(), values);
    }
    let trace = folder.join(TRACE);
    let start =
        CommandStart { quiet: Some(Arc::new(complaints()?)), own_group: true, ..CommandStart::default() };
    let stacks = Some(STACK_ENTRIES);
    let options = Options { start, stacks, ..Options::new(Target::Command(budget.command.clone()), trace) };
    let recording = record(&options, &mut Steps { observer, name: &budget.name })?;
    let host = &recording.header.host;
    Ok(Ensemble {
        made_with: BTreeMap::from(
            [
                ("cpus", host.cpus.len().to_string()),
                ("kernel", host.kernel.release.clone()),
                ("machine", host.cpu_model.clone().unwrap_or_default()),
                (
                    "source",
                    found.runs.first().map_or_else(String::new, |run| run.header.provenance.recorder.clone()),
                ),
                ("swtch", env!("CARGO_PKG_VERSION").to_owned()),
                ("where", "here".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        ),
        inputs: None,
        figures,
        who: who::who(recording.tables.view(&recording.header), 1, None),
        trace: Some(recording.folder),
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// A figure of one run. Time and switches are the kernel's own sums, also where nothing else can be recorded.
fn value(figure: Figure, run: &CommandRun, budget: &Budget) -> Option<f64> {
    let switches = (run.voluntary() + run.involuntary()) as f64;
    Some(match figure.to_string().as_str() {
        "switches" => switches,
        "voluntary" => run.voluntary() as f64,
        "involuntary" => run.involuntary() as f64,
        "cpu.time" => run.cpu_seconds() * 1e9,
        "elapsed" => run.seconds() * 1e9,
        "switches_per_request" => switches / budget.requests? as f64,
        _ => return figure.of(PricedTrace { trace: run.view(), bill: &run.bill, requests: budget.requests }),
    })
}

/// Passes on which run it is, and whether to stop.
struct Steps<'a> {
    observer: &'a mut dyn Observer<CheckProgress>,
    name: &'a str,
}

impl Observer<RunProgress> for Steps<'_> {
    fn event(&mut self, progress: &RunProgress) {
        let text = format!("{}: run {} of {}", self.name, progress.done + 1, progress.of);
        self.observer.event(&CheckProgress { text });
    }

    fn stop(&mut self) -> bool {
        self.observer.stop()
    }
}

impl Observer<Progress> for Steps<'_> {
    fn event(&mut self, _: &Progress) {}

    fn stop(&mut self) -> bool {
        self.observer.stop()
    }
}
