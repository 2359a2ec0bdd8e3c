//! `swtch simulate`.

mod host;
mod input;
mod recorded;
mod sweep;
mod table;
mod trace;
mod watch;

use crate::args::simulate::SimulateArgs;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use input::Input;
use recorded::Recorded;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use swtch_sim::SimError;
use swtch_sim::plan::Plan;
use swtch_sim::run::{Run, run as simulate};
use swtch_sim::summary::{Document, Summary};
use trace::Recorder;
use watch::{Through, Watch, Watched};

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.sweep {
        return sweep::run(args, file);
    }
    let Input { plan, recorded } = input::read(args)?;
    let mut document = Document::new(&plan);
    let mut watch = Watch::new(plan.setting.workload.duration_ns).context("cannot listen for Ctrl-C")?;
    let mut traces = Vec::new();
    if let Some(out) = &args.out {
        let why = || format!("cannot make the folder {}, into which the Traces go", out.display());
        std::fs::create_dir_all(out).with_context(why)?;
    }
    for policy in &plan.policies {
        let folder = args.out.as_ref().map(|out| out.join(file_name(policy)));
        document.runs.push(one(&plan, policy, folder.as_deref(), &mut watch)?);
        traces.extend(folder);
    }
    drop(watch);
    document.compare();
    if args.json {
        let mut json = serde_json::to_value(&document)?;
        json["recorded"] = serde_json::to_value(&recorded)?;
        json["traces"] = serde_json::to_value(&traces)?;
        output::print(&(serde_json::to_string_pretty(&json)? + "\n"));
    } else {
        output::print(&text(args, &document, recorded.as_ref(), &traces));
    }
    Ok(ExitCode::SUCCESS)
}

/// One run, and its Trace where a folder is given.
fn one(plan: &Plan, policy: &str, folder: Option<&Path>, watch: &mut Watch) -> anyhow::Result<Summary> {
    watch.begin(policy);
    let mut recorder = folder.map(|folder| Recorder::begin(plan, policy, folder)).transpose()?;
    let began = Instant::now();
    let mut watched = Watched { watch, recorder: recorder.as_mut() };
    // The sink borrows what is needed afterwards.
    let done = simulate(&plan.setting, policy, Through(&mut watched)).map(without_sink);
    let run = match done {
        Ok(run) => run,
        Err(error) => {
            if let Some(failure) = recorder.as_mut().and_then(Recorder::failure) {
                return Err(failure.into());
            }
            return Err(refused(error).context(format!("under {policy}")));
        }
    };
    let mut summary = Summary::of(plan, policy, &run);
    if let Some(recorder) = recorder {
        recorder.finish(&plan.setting.machine, &run)?;
    }
    summary.wall_seconds = Some(began.elapsed().as_secs_f64());
    Ok(summary)
}

fn without_sink<S>(run: Run<S>) -> Run<()> {
    let Run { policy, makespan_ns, complete, tally, tasks, run_ns, wait_ns, sink: _ } = run;
    Run { policy, makespan_ns, complete, tally, tasks, run_ns, wait_ns, sink: () }
}

/// What was asked for cannot be, or the run failed.
fn refused(error: SimError) -> anyhow::Error {
    match error {
        SimError::Deadlock { .. }
        | SimError::Endless { .. }
        | SimError::NoTimePasses { .. }
        | SimError::Policy { .. } => error.into(),
        SimError::Stopped { .. } => anyhow::anyhow!("interrupted: {error}"),
        _ => WrongUsage(error.to_string()).into(),
    }
}

/// `eevdf.swtch`; what a file's name cannot have becomes a dash.
fn file_name(policy: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '=');
    let name: String = policy.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect();
    format!("{name}.swtch")
}

fn text(args: &SimulateArgs, document: &Document, recorded: Option<&Recorded>, traces: &[PathBuf]) -> String {
    let mut text = table::runs(document, recorded);
    if args.hooks {
        text.push_str(&table::hooks(document));
    }
    text.push_str(&table::assumptions(document));
    for trace in traces {
        text.push_str(&format!("Trace: {}\n", trace.display()));
    }
    text
}
