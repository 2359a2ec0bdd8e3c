//! `swtch sweep`: sweeps over many processes and machines.

mod run;
mod store;

use crate::args::sweep::{
    GapsArgs, MergeArgs, PlanArgs, PlannedArgs, StatusArgs, SweepArgs, SweepCommand, WorkArgs,
};
use crate::console::{INTERRUPTS, ProgressLine, interrupted_by};
use crate::output::{self, JsonArgs, WrongUsage};
use anyhow::Context;
use serde_json::json;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{Place, What};
use swtch_sched::die_with_parent;
use swtch_sweep::{Error, Merged, Only, Opened, PlanRequest, Planned, Status, Supervised, array};
use swtch_units::{TextTable, format_ns, grouped};

const TEMPLATE: &str = "{wide_bar} {pos} of {len} runs, {eta} left";

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    match &args.what {
        SweepCommand::Plan(args) => plan(args),
        SweepCommand::Work(args) if args.one => one(args),
        SweepCommand::Work(args) => work(args),
        SweepCommand::Run(args) => run::run(args),
        SweepCommand::Status(args) => status(args),
        SweepCommand::Gaps(args) => gaps(args),
        SweepCommand::Merge(args) => merge(args),
    }
}

/// The library's errors; those about arguments and inputs end with status 2.
fn error(error: Error) -> anyhow::Error {
    if error.is_wrong_usage() { WrongUsage(error.to_string()).into() } else { error.into() }
}

fn signals() -> anyhow::Result<Arc<AtomicBool>> {
    interrupted_by(&INTERRUPTS).context("cannot listen for Ctrl-C")
}

fn planned(args: &PlannedArgs, place: &Place, interrupted: &AtomicBool) -> anyhow::Result<Planned> {
    place.pull(What::PlanIfAny)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let trials = |from: u64| {
        let mut command = Command::new(&program);
        command.args(["sweep", "plan", "--try-from", &from.to_string()]);
        if let Some(profile) = &args.profile {
            command.arg("--profile").arg(profile);
        }
        command.arg("--").arg(&args.grid).arg(&args.directory);
        command
    };
    let request = PlanRequest {
        grid: &args.grid,
        directory: &place.directory,
        profile: args.profile.as_deref(),
        shard_s: args.shard_time.map(|time| time.as_secs_f64()),
        lease: args.lease,
        trials: Some(&trials),
    };
    let planned = swtch_sweep::plan(&request, interrupted).map_err(|found| place.named(error(found)))?;
    if !planned.was_there {
        place.push()?;
    }
    Ok(planned)
}

fn plan(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let stop = signals()?;
    if let Some(from) = args.try_from {
        let (grid, profile) = (&args.planned.grid, args.planned.profile.as_deref());
        swtch_sweep::trials(grid, profile, from, &stop, &mut |line| output::print(&line)).map_err(error)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Planned { manifest, was_there } =
        planned(&args.planned, &Place::of(&args.planned.directory)?, &stop)?;
    if args.json.asked() {
        output::json(&args.json, &manifest)?;
        return Ok(ExitCode::SUCCESS);
    }
    let directory = args.planned.directory.display();
    let before = if was_there { "was planned before: " } else { "" };
    output::print(&format!(
        "{directory} {before}{} in {}, about {} of one CPU\nNext: swtch sweep work {directory}\n",
        count(manifest.runs, "run"),
        count(manifest.shards.len() as u64, "shard"),
        seconds(manifest.predicted_s)
    ));
    Ok(ExitCode::SUCCESS)
}

/// Sets the flag when standard input ends.
fn until_eof(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stop.store(true, Ordering::Relaxed);
    });
}

/// A worker as a supervisor starts it: it ends with its standard input, and prints what it did.
fn one(args: &WorkArgs) -> anyhow::Result<ExitCode> {
    let stop = signals()?;
    until_eof(&stop);
    let opened = Opened::open(&args.directory).map_err(error)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    // The command of a run ends with this worker, however that ends.
    let start = |words: &[String]| {
        let mut command = Command::new(&program);
        command.args(die_with_parent::COMMAND).arg(std::process::id().to_string()).arg("--");
        // This program under its own name: the version that planned the sweep.
        let own = words.first().is_some_and(|word| word == "swtch");
        command.args(own.then_some(program.as_os_str())).args(&words[usize::from(own)..]);
        command
    };
    let worked = swtch_sweep::work(&opened, &only(args), &start, &stop).map_err(error)?;
    output::print(&(serde_json::to_string(&worked)? + "\n"));
    Ok(ExitCode::SUCCESS)
}

fn only(args: &WorkArgs) -> Only {
    let (place, parts) = args.start.unwrap_or((1, 1));
    Only {
        shards: args.shards.as_ref().map(|shards| shards.0.clone()),
        start: (place as usize - 1, parts as usize),
    }
}

fn work(args: &WorkArgs) -> anyhow::Result<ExitCode> {
    let place = Place::of(&args.directory)?;
    let stop = signals()?;
    if args.until_eof {
        until_eof(&stop);
    }
    if place.is_store() {
        let opened = place.open(What::PlanIfAny).map_err(|error| place.named(error))?;
        let shards = args.shards.as_ref().map(|shards| shards.0.as_slice());
        let done = place.work(args.jobs.given(), shards, opened.manifest.runs, &stop)?;
        report(&args.json, &args.directory, opened.manifest.runs, &done)?;
        return Ok(ExitCode::SUCCESS);
    }
    let opened = Opened::open(&args.directory).map_err(error)?;
    let shards = args.shards.as_ref().map(|shards| array(&shards.0));
    let done = supervise(&opened, args.jobs.given(), shards.as_deref(), args.start, &stop)?;
    report(&args.json, &args.directory, opened.manifest.runs, &done)?;
    Ok(ExitCode::SUCCESS)
}

/// Workers at once: as many as asked for, or one a core.
fn jobs_or_cores(jobs: Option<usize>) -> usize {
    jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Workers on this machine until nothing is left, or a signal came.
fn supervise(
    opened: &Opened,
    jobs: Option<usize>,
    shards: Option<&str>,
    start: Option<(u64, u64)>,
    interrupted: &AtomicBool,
) -> anyhow::Result<Supervised> {
    let jobs = jobs_or_cores(jobs);
    let program = std::env::current_exe().context("cannot find this program")?;
    let (part, parts) = start.unwrap_or((1, 1));
    let arguments = |place: usize| {
        let mut words: Vec<OsString> = ["sweep", "work", "--one"].map(OsString::from).into();
        if let Some(shards) = shards {
            words.extend(["--shards", shards].map(OsString::from));
        }
        // Each worker of this machine's part begins at a part of that.
        let start = format!("{}/{}", (part - 1) * jobs as u64 + place as u64 + 1, parts * jobs as u64);
        words.extend(["--start", &start, "--"].map(OsString::from));
        words.push(opened.directory.clone().into_os_string());
        words
    };
    let mut line = ProgressLine::new(TEMPLATE, Some(opened.manifest.runs));
    let mut show = |done| line.show(|bar| bar.set_position(done));
    swtch_sweep::supervise(opened, jobs, (&program, &arguments), interrupted, &mut show).map_err(error)
}

/// What was done here, printed.
fn report(to: &JsonArgs, directory: &Path, runs: u64, done: &Supervised) -> anyhow::Result<()> {
    let Supervised { worked, deaths } = done;
    if to.asked() {
        let document = json!({
            "schema": "swtch/sweep-work/1", "directory": directory, "runs": runs,
            "run_now": worked.runs, "failed_now": worked.failed, "deaths": deaths, "left": worked.left
        });
        return output::json(to, &document);
    }
    let mut text = format!("{} made here", count(worked.runs, "run"));
    for (number, what) in [(worked.failed, "failed, see the column error"), (*deaths, "workers died")] {
        if number > 0 {
            text += &format!("; {} {what}", digits(number));
        }
    }
    if worked.left {
        text += "; ended before all was done, and the same command continues";
    }
    output::print(&(text + "\n"));
    Ok(())
}

fn status(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let opened = Place::of(&args.directory)?.open(What::All)?;
    let status = swtch_sweep::status(&opened).map_err(error)?;
    if args.json.asked() {
        output::json(&args.json, &status)?;
    } else {
        output::print(&in_words(&status));
    }
    Ok(ExitCode::SUCCESS)
}

fn in_words(status: &Status) -> String {
    let Status { runs, done, failed, claimed, workers, deaths, .. } = status;
    let mut table = TextTable::untitled().left([1]);
    let mut row = |name: &str, value: String| table.row([name, &value]);
    row("runs", digits(*runs));
    row("done", digits(*done));
    row("failed", digits(*failed));
    row("claimed", format!("{} by {}", digits(*claimed), count(*workers, "worker")));
    if *deaths > 0 {
        row("workers that died", digits(*deaths));
    }
    row("cost so far", format!("{} of one CPU", seconds(status.cpu_s)));
    if done < runs {
        let left =
            status.left_s.map_or_else(String::new, |left| format!("; {} with these workers", seconds(left)));
        row("left", format!("about {} of one CPU{left}", seconds(status.cpu_left_s)));
    }
    table.to_string()
}

fn gaps(args: &GapsArgs) -> anyhow::Result<ExitCode> {
    let opened = Place::of(&args.directory)?.open(What::All)?;
    let gaps = swtch_sweep::gaps(&opened).map_err(error)?;
    if !gaps.is_empty() {
        output::print(&format!("--array={}\n", array(&gaps)));
    }
    Ok(ExitCode::SUCCESS)
}

fn merge(args: &MergeArgs) -> anyhow::Result<ExitCode> {
    let place = Place::of(&args.directory)?;
    let opened = place.open(What::All)?;
    let merged = swtch_sweep::merge(&opened, &args.out, args.so_far);
    let merged = merged.map_err(|found| place.named(error(found)))?;
    if args.json.asked() {
        let document = json!({
            "schema": "swtch/sweep-merge/1", "out": args.out, "runs": merged.runs, "failed": merged.failed
        });
        output::json(&args.json, &document)?;
    } else {
        output::print(&format!("{} in {}\n", count(merged.runs, "run"), args.out.display()));
    }
    Ok(failures(&merged))
}

/// A failed run fails the command, but not the others.
fn failures(merged: &Merged) -> ExitCode {
    let Some(first) = merged.failures.first() else { return ExitCode::SUCCESS };
    output::complain_text(&format!(
        "swtch: {} of {} runs failed; the first: {first}",
        merged.failed, merged.runs
    ));
    ExitCode::FAILURE
}

fn count(number: u64, what: &str) -> String {
    format!("{} {what}{}", digits(number), if number == 1 { "" } else { "s" })
}

fn seconds(seconds: f64) -> String {
    format_ns(Duration::from_secs_f64(seconds.clamp(0.0, 1e10)).as_nanos() as f64)
}

fn digits(number: u64) -> String {
    grouped(&number.to_string())
}
