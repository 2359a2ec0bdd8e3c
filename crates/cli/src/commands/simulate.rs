//! `swtch simulate`.

mod input;
mod sweep;
mod table;
mod watch;

use crate::args::simulate::SimulateArgs;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use swtch_sim::plan::Plan;
use swtch_sim::run::{Run, run as simulate};
use swtch_sim::summary::{Document, Summary};
use swtch_sim::trace_writer::TraceWriter;
use swtch_sim::{Refused, SimError};
use watch::{Through, Watch, Watched};

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.sweep {
        return sweep::run(args, file);
    }
    let plan = input::read(args)?;
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
    document.check().map_err(|refused| kept(&refused, "comparison", &document, args.out.as_deref()))?;
    if args.json.asked() {
        let mut json = serde_json::to_value(&document)?;
        json["traces"] = serde_json::to_value(&traces)?;
        output::json(&args.json, &json)?;
    } else {
        output::print(&text(args, &document, &traces));
    }
    Ok(ExitCode::SUCCESS)
}

/// One run, and its Trace where a folder is given.
fn one(plan: &Plan, policy: &str, folder: Option<&Path>, watch: &mut Watch) -> anyhow::Result<Summary> {
    watch.begin(policy);
    let mut recorder = folder.map(|folder| TraceWriter::begin(plan, policy, folder)).transpose()?;
    let began = Instant::now();
    let mut watched = Watched { watch, recorder: recorder.as_mut() };
    // The sink borrows what is needed afterwards.
    let done = simulate(&plan.setting, policy, Through(&mut watched)).map(without_sink);
    let run = match done {
        Ok(run) => run,
        Err(error) => {
            if let Some(failure) = recorder.as_mut().and_then(TraceWriter::failure) {
                return Err(failure.into());
            }
            return Err(refused(error).context(format!("under {policy}")));
        }
    };
    let mut summary = Summary::of(plan, policy, &run);
    if let Some(recorder) = recorder {
        recorder.finish(&plan.setting.machine, &run)?;
    }
    let cpus = plan.setting.machine.cpus.len() as u64;
    summary.check(&run, cpus, plan.setting.fastest()).map_err(|refused| {
        let mut document = Document::new(plan);
        document.runs.push(summary.clone());
        kept(&refused, policy, &document, folder.and_then(Path::parent))
    })?;
    summary.wall_seconds = Some(began.elapsed().as_secs_f64());
    Ok(summary)
}

/// Keeps a document whose figures cannot be true beside where its Traces are, and says so in one line.
fn kept(refused: &Refused, what: &str, document: &Document, folder: Option<&Path>) -> anyhow::Error {
    let folder = folder.unwrap_or(Path::new("."));
    let json = serde_json::to_string_pretty(document).unwrap_or_default() + "\n";
    for number in 1..1000 {
        let path =
            folder.join(format!("refused-{number}-{}.json", file_name(what).trim_end_matches(".swtch")));
        let mut file = match std::fs::File::create_new(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            Err(_) => break,
        };
        if file.write_all(json.as_bytes()).is_ok() {
            let path = path.display();
            return anyhow::anyhow!(
                "the simulation under {what} contradicts itself: {refused}; it is kept in {path}: please report this defect with it"
            );
        }
        break;
    }
    anyhow::anyhow!(
        "the simulation under {what} contradicts itself: {refused}; please report this defect with the command, which gives the same again"
    )
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
        | SimError::Policy { .. }
        | SimError::Stalled { .. } => error.into(),
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

fn text(args: &SimulateArgs, document: &Document, traces: &[PathBuf]) -> String {
    let mut text = table::runs(document);
    if args.hooks {
        text.push_str(&table::hooks(document));
    }
    text.push_str(&table::assumptions(document));
    for trace in traces {
        text.push_str(&format!("Trace: {}\n", trace.display()));
    }
    text
}
