//! A plan under each of its policies, checked, and written as Traces where that is wanted: what `swtch simulate` and Python's
//! `swtch.simulate()` both call.

use crate::ensemble::{Ensemble, ensemble};
use crate::error::SimError;
use crate::plan::{Plan, ReplayPlan};
use crate::run::{PolicyRun, Setting, run};
use crate::sink::{Any, Sink, SwitchEvent, WakeEvent};
use crate::summary::{Effect, SimulationDocument, Summary, WhatIfEffects};
use crate::trace_writer::TraceWriter;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use swtch_trace::TraceError;
use swtch_units::Observer;
use swtch_units::input_error::Refused;
use thiserror::Error;

/// How far a simulation is. A run that its observer stops ends with [`SimError::Stopped`].
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The policy of the run.
    pub policy: String,
    /// Simulated time so far.
    pub now_ns: u64,
    /// Simulated events so far.
    pub events: u64,
}

/// What can go wrong from a plan to its document.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// A run failed, or cannot be.
    #[error("under {policy}: {source}")]
    Run {
        /// The policy.
        policy: String,
        /// What happened.
        source: SimError,
    },
    /// A Trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The directory for the Traces could not be made.
    #[error("cannot make the directory {}, into which the Traces go: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The figures contradict each other; never seen but for a defect.
    #[error("the simulation under {what} contradicts itself: {source}; {}", kept_in(kept.as_deref()))]
    Impossible {
        /// The policy, or `comparison`.
        what: String,
        /// The figures.
        source: Refused,
        /// Where the document is kept for a report.
        kept: Option<PathBuf>,
    },
}

fn kept_in(kept: Option<&Path>) -> String {
    match kept {
        Some(path) => format!("it is kept in {}: please report this defect with it", path.display()),
        None => "please report this defect with what was simulated, which gives the same again".to_owned(),
    }
}

/// Runs the plan under each policy.
///
/// `traces`: the directory into which each run goes as a Trace `POLICY.swtch`; it is made where it is missing. A document whose figures
/// contradict each other is kept there, or in the current directory.
///
/// # Errors
/// The first that occurs. Traces of runs before it are complete.
pub fn simulate(
    plan: &Plan,
    traces: Option<&Path>,
    observer: &mut dyn Observer<Progress>,
) -> Result<(SimulationDocument, Vec<PathBuf>), SimulateError> {
    if let Some(path) = traces {
        let fail = |source| SimulateError::Directory { path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(fail)?;
    }
    let mut document = SimulationDocument::new(plan);
    let mut written = Vec::new();
    for policy in &plan.policies {
        let folder = traces.map(|traces| traces.join(format!("{}.swtch", file_name(policy))));
        let summary = one(plan, policy, folder.as_deref(), observer).map_err(|error| match error {
            // The document so far is what a report of the defect needs.
            Failed::Impossible(summary, source) => {
                document.runs.push(*summary);
                impossible(policy, source, &document, traces)
            }
            Failed::Other(error) => error,
        })?;
        document.runs.push(summary);
        written.extend(folder);
    }
    if let Some(replay) = plan.replay.as_ref().filter(|replay| replay.seeds > 0) {
        let (ensemble, what_if) = replays(plan, replay, observer)?;
        (document.ensemble, document.what_if) = (Some(ensemble), what_if);
    }
    document.compare();
    if let Err(source) = document.check() {
        return Err(impossible("comparison", source, &document, traces));
    }
    Ok((document, written))
}

/// A replay's figures over its seeds, and what the changes to it do.
fn replays(
    plan: &Plan,
    replay: &ReplayPlan,
    observer: &mut dyn Observer<Progress>,
) -> Result<(Ensemble, Option<WhatIfEffects>), SimulateError> {
    let first = plan.setting.options.seed;
    let seeds: Vec<u64> = (0..u64::from(replay.seeds)).map(|number| first.wrapping_add(number)).collect();
    let mut run = |setting: &Setting, recorded: usize, policy: &str| {
        let progress = Progress { policy: policy.to_owned(), ..Progress::default() };
        let mut watched = Watched { observer: &mut *observer, progress, writer: None };
        ensemble(setting, recorded, policy, &seeds, &mut watched)
            .map_err(|source| SimulateError::Run { policy: policy.to_owned(), source })
    };
    let policies: Result<Vec<_>, _> =
        plan.policies.iter().map(|policy| run(&plan.setting, replay.recorded_tasks, policy)).collect();
    let policies = policies?;
    let what_if = match &replay.changed {
        None => None,
        Some(changed) => {
            let mut setting = Setting { workload: changed.workload.clone(), ..plan.setting.clone() };
            setting.workload.duration_ns = plan.setting.workload.duration_ns;
            let mut effects = Vec::new();
            for before in &policies {
                let after = run(&setting, changed.recorded_tasks, &before.policy)?;
                effects.push(Effect::of(before, &after));
            }
            Some(WhatIfEffects { changes: changed.changes.clone(), policies: effects })
        }
    };
    Ok((Ensemble { seeds, policies }, what_if))
}

enum Failed {
    Impossible(Box<Summary>, Refused),
    Other(SimulateError),
}

/// One run, and its Trace where a directory is given.
fn one(
    plan: &Plan,
    policy: &str,
    trace: Option<&Path>,
    observer: &mut dyn Observer<Progress>,
) -> Result<Summary, Failed> {
    let other = |error: TraceError| Failed::Other(error.into());
    let mut writer = trace.map(|trace| TraceWriter::begin(plan, policy, trace)).transpose().map_err(other)?;
    #[expect(clippy::disallowed_types, reason = "how long a run took is printed, and decides nothing")]
    let began = std::time::Instant::now();
    let progress = Progress { policy: policy.to_owned(), ..Progress::default() };
    let mut watched = Watched { observer, progress, writer: writer.as_mut() };
    // The sink borrows the writer, which is needed afterwards.
    let done = run(&plan.setting, policy, Any(&mut watched)).map(PolicyRun::without_sink);
    let run = match done {
        Ok(run) => run,
        Err(source) => {
            return Err(Failed::Other(match writer.as_mut().and_then(TraceWriter::failure) {
                Some(failure) => failure.into(),
                None => SimulateError::Run { policy: policy.to_owned(), source },
            }));
        }
    };
    let mut summary = Summary::of(plan, policy, &run);
    if let Some(writer) = writer {
        writer.finish(&plan.setting.machine, &plan.setting.workload.cgroups, &run).map_err(other)?;
    }
    if let Err(source) = summary.check(&run, &plan.setting) {
        return Err(Failed::Impossible(Box::new(summary), source));
    }
    summary.wall_seconds = Some(began.elapsed().as_secs_f64());
    Ok(summary)
}

/// Keeps the document for a report of the defect.
fn impossible(
    what: &str,
    source: Refused,
    document: &SimulationDocument,
    folder: Option<&Path>,
) -> SimulateError {
    let folder = folder.unwrap_or(Path::new("."));
    let json = serde_json::to_string_pretty(document).unwrap_or_default() + "\n";
    let mut kept = None;
    for number in 1..1000 {
        let path = folder.join(format!("refused-{number}-{}.json", file_name(what)));
        match File::create_new(&path) {
            Ok(mut file) => kept = file.write_all(json.as_bytes()).is_ok().then_some(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(_) => {}
        }
        break;
    }
    SimulateError::Impossible { what: what.to_owned(), source, kept }
}

/// What a file's name cannot have becomes a dash.
fn file_name(policy: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '=');
    policy.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect()
}

/// A run's sink: the observer, and a Trace where one is wanted.
struct Watched<'a> {
    observer: &'a mut dyn Observer<Progress>,
    progress: Progress,
    writer: Option<&'a mut TraceWriter>,
}

impl Sink for Watched<'_> {
    fn switch(&mut self, event: SwitchEvent) {
        if let Some(writer) = &mut self.writer {
            writer.switch(event);
        }
    }

    fn wake(&mut self, event: WakeEvent) {
        if let Some(writer) = &mut self.writer {
            writer.wake(event);
        }
    }

    fn fork(&mut self, at_ns: u64, parent: Option<usize>, child: usize) {
        if let Some(writer) = &mut self.writer {
            writer.fork(at_ns, parent, child);
        }
    }

    fn exit(&mut self, at_ns: u64, task: usize) {
        if let Some(writer) = &mut self.writer {
            writer.exit(at_ns, task);
        }
    }

    fn goes_on(&mut self, now_ns: u64, events: u64) -> bool {
        // What cannot be written need not be simulated any further.
        let failed = self.writer.as_ref().is_some_and(|writer| writer.failed());
        (self.progress.now_ns, self.progress.events) = (now_ns, events);
        self.observer.event(&self.progress);
        !failed && !self.observer.stop()
    }
}
