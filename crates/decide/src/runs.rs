//! Commands that are run several times, in random order, and recorded without disturbing them.
//!
//! Every run is a recording of its own that only counts, with no program at a switch. Without the rights for BPF, time, CPU time and switches
//! come from `wait4`, and waits from samples of `/proc`.

mod partial;

pub use partial::PartialScheduler;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use swtch_cost::{Bill, CostModel, Inputs, Range, bill};
use swtch_record::plan::{Facts, plan};
use swtch_record::{
    ChildCommand, CommandEnd, CommandStart, Mode, Options, Progress, RecordError, Recording, Scheduling,
    Target, record,
};
use swtch_sched::{SchedError, Scheduler};
use swtch_stats::Rng;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::{Field, Header, Unavailable};
use swtch_trace::{SourceKind, TraceView};
use swtch_units::{Observer, last_lines};

/// What is run, and how often.
#[derive(Clone, Debug, Default)]
pub struct RunPlan {
    /// The commands.
    pub commands: Vec<PlannedCommand>,
    /// Runs of each that count.
    pub runs: usize,
    /// Runs of each before them that do not.
    pub warmup: usize,
    /// Seed of the random order within rounds.
    pub seed: u64,
    /// A run that takes longer is ended, which is an error.
    pub timeout: Option<Duration>,
    /// After this time, no further run is started, and the one underway is ended.
    pub time_limit: Option<Duration>,
    /// Whether a run counts although its exit status is not 0.
    pub ignore_failure: bool,
    /// Whether the commands print and read what they would without swtch.
    pub show_output: bool,
    /// Prices of this machine.
    pub model: Option<CostModel>,
}

/// One of the commands.
#[derive(Clone, Debug, Default)]
pub struct PlannedCommand {
    /// What messages call it.
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Variables of its environment, in addition to those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// The scheduler's settings that it begins with, where such settings are compared.
    pub scheduling: Option<Scheduling>,
    /// The directory of a cgroup that it runs in.
    pub cgroup: Option<PathBuf>,
    /// A sched_ext scheduler that has the tasks of that cgroup during each run.
    pub scheduler: Option<PartialScheduler>,
    /// A command for the shell that precedes each run and is not counted.
    pub prepare: Option<String>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct CommandRun {
    /// Index of the command in the plan.
    pub command: usize,
    /// The round, from 0.
    pub round: usize,
    /// What the kernel counted.
    pub end: CommandEnd,
    /// The recording's header.
    pub header: Header,
    /// The recording's tables.
    pub tables: Tables,
    /// What its switches cost.
    pub bill: Bill,
}

/// All runs.
#[derive(Clone, Debug)]
pub struct Runs {
    /// In the order in which they ran.
    pub runs: Vec<CommandRun>,
    /// Why the figures come from where they do.
    pub why: String,
    /// What ended it before all runs were done.
    pub stopped: Option<Stopped>,
}

/// What ended it early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// A signal.
    Interrupted,
    /// The time limit.
    TimeLimit,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Runs done, those that do not count among them.
    pub done: usize,
    /// Of all.
    pub of: usize,
    /// The command that runs now.
    pub command: String,
}

/// Why commands cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunsError {
    /// A run failed.
    #[error("'{command}' ended with status {status}{said}; --ignore-failure counts such runs too")]
    Failed {
        /// The command.
        command: String,
        /// Its exit status.
        status: i32,
        /// Its last lines.
        said: String,
    },
    /// What precedes a run failed.
    #[error("'{command}', which --prepare runs before each run, ended with status {status}{said}")]
    Prepare {
        /// It.
        command: String,
        /// Its exit status.
        status: i32,
        /// Its last lines.
        said: String,
    },
    /// A run took too long.
    #[error("'{command}' ran for longer than {}; --timeout sets the longest time of a run", words(*timeout))]
    TimedOut {
        /// The command.
        command: String,
        /// The longest time.
        timeout: Duration,
    },
    /// A run cannot be recorded, or a command not be started.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The scheduler of a command did not do its work.
    #[error(transparent)]
    Scheduler(#[from] SchedError),
    /// A file for a Trace or for complaints cannot be made.
    #[error("cannot make a temporary file: {0}; TMPDIR names another directory")]
    Scratch(std::io::Error),
}

fn words(time: Duration) -> String {
    swtch_units::format_ns(time.as_nanos() as f64)
}

impl CommandRun {
    /// Whether the kernel's sums of all its tasks were read, by BPF.
    pub fn is_counted(&self) -> bool {
        self.header.provenance.recorder == SourceKind::BpfCounts.name()
    }

    /// The recording.
    pub fn view(&self) -> TraceView<'_> {
        self.tables.view(&self.header)
    }

    /// From its start to its end, s.
    pub fn seconds(&self) -> f64 {
        self.end.elapsed_ns as f64 / 1e9
    }

    /// CPU time of all its tasks, s.
    pub fn cpu_seconds(&self) -> f64 {
        let ns = if self.is_counted() { self.sum(|task| task.run_ns) } else { self.end.cpu_ns };
        ns as f64 / 1e9
    }

    /// Switches that its tasks asked for.
    pub fn voluntary(&self) -> u64 {
        let counted = self.header.totals.context_switches.voluntary.filter(|_| self.is_counted());
        counted.unwrap_or(self.end.voluntary)
    }

    /// Switches that its tasks did not ask for.
    pub fn involuntary(&self) -> u64 {
        let counted = self.header.totals.context_switches.involuntary.filter(|_| self.is_counted());
        counted.unwrap_or(self.end.involuntary)
    }

    /// Time that its tasks waited in run queues, s; absent where they were only sampled.
    pub fn wait_seconds(&self) -> Option<f64> {
        self.is_counted().then(|| self.sum(|task| task.wait_ns) as f64 / 1e9)
    }

    /// What its switches cost, as a share of its CPU time; absent without prices, and where tasks were only sampled.
    pub fn bill_share(&self) -> Option<Range> {
        self.bill.share.filter(|_| self.is_counted())
    }

    fn sum(&self, of: fn(&swtch_trace::tables::TaskRow) -> u64) -> u64 {
        self.view().in_scope().map(of).sum()
    }
}

impl Runs {
    /// Whether BPF counted.
    pub fn is_counted(&self) -> bool {
        self.runs.iter().all(CommandRun::is_counted)
    }

    /// What these runs lack, and why; with or without prices.
    pub fn unavailable(&self, is_priced: bool) -> Vec<Unavailable> {
        let mut found = Vec::new();
        if !self.is_counted() {
            let why = format!("only BPF sees every task to its end: {}", self.why);
            found.push(Unavailable { field: Field::new("waits"), reason: why.clone() });
            found.push(Unavailable { field: Field::new("bill"), reason: why });
        } else if !is_priced {
            let why = "this machine has no Profile; 'swtch measure --quick' makes one".to_owned();
            found.push(Unavailable { field: Field::new("bill"), reason: why });
        }
        found
    }
}

/// Runs every command of the plan again and again. All commands run once in each round, so that what lasts for some time disturbs them
/// alike. The order of a round is random, and every second round has the reverse of the one before. So no command is earlier than another
/// on average.
///
/// # Errors
/// When a command cannot be started, fails or takes too long; when runs cannot be recorded.
pub fn run_all(plan: &RunPlan, observer: &mut dyn Observer<RunProgress>) -> Result<Runs, RunsError> {
    let began = Instant::now();
    let (source, why) = undisturbing_source();
    let mut rng = Rng::new(plan.seed);
    let mut order: Vec<usize> = (0..plan.commands.len()).collect();
    let of = (plan.warmup + plan.runs) * order.len();
    let mut found = Runs { runs: Vec::new(), why, stopped: None };
    let mut done = 0;
    for round in 0..plan.warmup + plan.runs {
        // A warm-up round has an order of its own.
        if round < plan.warmup || (round - plan.warmup).is_multiple_of(2) {
            rng.shuffle(&mut order);
        } else {
            order.reverse();
        }
        for &index in &order {
            let command = plan.commands[index].name.clone();
            observer.event(&RunProgress { done, of, command });
            let command = &plan.commands[index];
            let mut one = OneRun { plan, command, source: Some(source), began, observer };
            match one.run(None)? {
                Outcome::Stopped(stopped) => return Ok(Runs { stopped: Some(stopped), ..found }),
                Outcome::Done(recording, end) => {
                    if let Some(round) = round.checked_sub(plan.warmup) {
                        found.runs.push(priced(plan, index, round, *recording, end));
                    }
                }
            }
            done += 1;
        }
    }
    observer.event(&RunProgress { done, of, command: String::new() });
    Ok(found)
}

/// Runs the first command once and keeps every event in a Trace. Absent when it was stopped.
///
/// # Errors
/// As [`run_all`].
pub fn record_first(
    plan: &RunPlan,
    trace: &Path,
    observer: &mut dyn Observer<RunProgress>,
) -> Result<Option<Recording>, RunsError> {
    let Some(command) = plan.commands.first() else { return Err(RecordError::NoCommand.into()) };
    observer.event(&RunProgress { done: 0, of: 1, command: command.name.clone() });
    let mut one = OneRun { plan, command, source: None, began: Instant::now(), observer };
    Ok(match one.run(Some(trace))? {
        Outcome::Done(recording, _) => Some(*recording),
        Outcome::Stopped(_) => None,
    })
}

/// The source that disturbs least: counting BPF, whose programs are at no switch, or `/proc`. Perf events are read switch by switch.
fn undisturbing_source() -> (SourceKind, String) {
    let asked = Options { mode: Some(Mode::Counts), ..Options::new(Target::Command(Vec::new()), "".into()) };
    let chosen = plan(&asked, &Facts::read());
    if chosen.source == SourceKind::BpfCounts {
        return (chosen.source, chosen.why);
    }
    let without_bpf = chosen.why.split("; ").next().unwrap_or_default().to_owned();
    (SourceKind::Procfs, without_bpf)
}

fn priced(plan: &RunPlan, command: usize, round: usize, recording: Recording, end: CommandEnd) -> CommandRun {
    let Recording { header, tables, .. } = recording;
    let inputs = Inputs { trace: tables.view(&header), model: plan.model.as_ref(), price: None };
    let bill = bill(inputs);
    CommandRun { command, round, end, header, tables, bill }
}

enum Outcome {
    Done(Box<Recording>, CommandEnd),
    Stopped(Stopped),
}

/// A run while it lasts.
struct OneRun<'a> {
    plan: &'a RunPlan,
    command: &'a PlannedCommand,
    /// Absent where every event is kept, by the best source.
    source: Option<SourceKind>,
    began: Instant,
    observer: &'a mut dyn Observer<RunProgress>,
}

impl OneRun<'_> {
    /// Its Trace goes to a directory, or is forgotten.
    fn run(&mut self, trace: Option<&Path>) -> Result<Outcome, RunsError> {
        if let Some(prepare) = &self.command.prepare
            && let Some(stopped) = self.prepare(prepare)?
        {
            return Ok(Outcome::Stopped(stopped));
        }
        if let Some(stopped) = self.stopped() {
            return Ok(Outcome::Stopped(stopped));
        }
        let folder = tempfile::tempdir().map_err(RunsError::Scratch)?;
        let mut errors = tempfile::tempfile().map_err(RunsError::Scratch)?;
        let options = Options {
            source: self.source,
            mode: Some(if self.source.is_some() { Mode::Counts } else { Mode::Events }),
            sample: 0.0,
            start: self.start(&errors)?,
            ..Options::new(
                Target::Command(self.command.words.clone()),
                trace.map_or_else(|| folder.path().join("run.swtch"), Path::to_owned),
            )
        };
        let scheduler = match self.scheduler() {
            Ok(scheduler) => scheduler,
            Err(SchedError::Interrupted) => return Ok(Outcome::Stopped(Stopped::Interrupted)),
            Err(error) => return Err(error.into()),
        };
        let mut guard = Guard::new(self.plan.timeout, self);
        let recording = record(&options, &mut guard)?;
        let (timed_out, stopped) = (guard.timed_out, guard.stopped);
        if let Some(stopped) = stopped {
            return Ok(Outcome::Stopped(stopped));
        }
        if let Some(mut scheduler) = scheduler {
            scheduler.check()?;
            scheduler.stop()?;
        }
        let command = self.command.name.clone();
        if let Some(timeout) = self.plan.timeout.filter(|_| timed_out) {
            return Err(RunsError::TimedOut { command, timeout });
        }
        let end = recording.command_end.unwrap_or_default();
        if end.status != 0 && !self.plan.ignore_failure {
            return Err(RunsError::Failed { command, status: end.status, said: last_lines(&mut errors) });
        }
        Ok(Outcome::Done(Box::new(recording), end))
    }

    /// The scheduler of this run, loaded; none where the command has none of its own.
    fn scheduler(&mut self) -> Result<Option<Scheduler>, SchedError> {
        let command = self.command;
        let Some((scheduler, cgroup)) = command.scheduler.as_ref().zip(command.cgroup.as_ref()) else {
            return Ok(None);
        };
        scheduler.start(cgroup, &mut || self.stopped().is_some()).map(Some)
    }

    fn start(&self, errors: &File) -> Result<CommandStart, RunsError> {
        let quiet = (!self.plan.show_output).then(|| errors.try_clone().map(Arc::new)).transpose();
        Ok(CommandStart {
            quiet: quiet.map_err(RunsError::Scratch)?,
            // In one of its own, a command cannot read from the terminal.
            own_group: !self.plan.show_output,
            environment: self.command.environment.clone(),
            scheduling: self.command.scheduling.clone(),
            cgroup: self.command.cgroup.clone(),
            ..CommandStart::default()
        })
    }

    fn stopped(&mut self) -> Option<Stopped> {
        let is_over = self.plan.time_limit.is_some_and(|limit| self.began.elapsed() >= limit);
        match () {
            () if self.observer.stop() => Some(Stopped::Interrupted),
            () if is_over => Some(Stopped::TimeLimit),
            () => None,
        }
    }

    /// Runs what precedes a run.
    fn prepare(&mut self, line: &str) -> Result<Option<Stopped>, RunsError> {
        let mut errors = tempfile::tempfile().map_err(RunsError::Scratch)?;
        let start = CommandStart { own_group: true, cgroup: None, scheduling: None, ..self.start(&errors)? };
        let child = ChildCommand::start(&shell(line), None, &start)?;
        let mut guard = Guard::new(None, self);
        while !child.ends_within(Duration::from_millis(50)) {
            while let Some(signal) = guard.signal() {
                child.signal(signal);
            }
        }
        let stopped = guard.stopped;
        let end = child.collect().map_err(RunsError::Scratch)?;
        if end.status != 0 && stopped.is_none() {
            let said = last_lines(&mut errors);
            return Err(RunsError::Prepare { command: line.to_owned(), status: end.status, said });
        }
        Ok(stopped)
    }
}

/// A line as a command of the shell.
pub fn shell(line: &str) -> Vec<OsString> {
    ["sh", "-c", line].map(OsString::from).to_vec()
}

/// How long a command that is asked to end has for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ends the command when it is to stop or takes too long: it asks first.
struct Guard<'a, 'b> {
    one: &'a mut OneRun<'b>,
    began: Instant,
    timeout: Option<Duration>,
    asked: Option<Instant>,
    killed: bool,
    timed_out: bool,
    stopped: Option<Stopped>,
}

impl<'a, 'b> Guard<'a, 'b> {
    fn new(timeout: Option<Duration>, one: &'a mut OneRun<'b>) -> Self {
        let began = Instant::now();
        Self { one, began, timeout, asked: None, killed: false, timed_out: false, stopped: None }
    }

    fn signal(&mut self) -> Option<i32> {
        match self.asked {
            None => {
                self.stopped = self.one.stopped();
                self.timed_out = self.timeout.is_some_and(|timeout| self.began.elapsed() >= timeout);
                if self.stopped.is_none() && !self.timed_out {
                    return None;
                }
                self.asked = Some(Instant::now());
                Some(SIGTERM)
            }
            Some(asked) if !self.killed && asked.elapsed() >= PATIENCE => {
                self.killed = true;
                Some(SIGKILL)
            }
            Some(_) => None,
        }
    }
}

const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

impl Observer<Progress> for Guard<'_, '_> {
    fn event(&mut self, _: &Progress) {}

    fn signal(&mut self) -> Option<i32> {
        Guard::signal(self)
    }
}

#[cfg(test)]
mod tests;
