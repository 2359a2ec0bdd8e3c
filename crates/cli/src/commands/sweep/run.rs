//! `swtch sweep run`: a plan, workers wherever they are asked for, and the table.

use super::store::{Place, What};
use super::{count, failures, in_words, planned, signals, supervise};
use crate::args::sweep::{Engine, RunArgs};
use crate::commands::external;
use crate::console::ProgressLine;
use crate::output::{self, WrongUsage};
use anyhow::{Context, bail};
use serde_json::json;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use swtch_sweep::slurm::Job;
use swtch_sweep::{Opened, merge, status};

/// The program of the Python package that hands shards to Dask.
const DASK: &str = "swtch-sweep-dask";
const LOOK_EVERY: Duration = Duration::from_millis(50);
const SHOW_EVERY: Duration = Duration::from_secs(1);

pub(super) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let interrupted = signals()?;
    let directory = &args.planned.directory;
    let place = Place::of(directory)?;
    if place.is_store() && args.on != Engine::Here {
        return Err(WrongUsage(format!(
            "an engine needs a directory that its workers see; for {} start 'swtch sweep work {}' on each machine",
            directory.display(),
            directory.display()
        ))
        .into());
    }
    let manifest = planned(&args.planned, &place, &interrupted)?.manifest;
    let opened = Opened { directory: place.directory.clone(), manifest };
    match &args.on {
        Engine::Here if place.is_store() => {
            place.work(args.jobs.given(), None, opened.manifest.runs, &interrupted)?;
            place.pull(What::All)?;
        }
        Engine::Here => {
            supervise(&opened, args.jobs.given(), None, None, &interrupted)?;
        }
        Engine::Dask(address) => {
            if let Some(failure) = dask(args, &opened, address.as_deref(), &interrupted)? {
                return Ok(failure);
            }
        }
        Engine::Slurm(partition) => slurm(args, &opened, partition.clone(), &interrupted)?,
    }
    let now = status(&opened).map_err(super::error)?;
    if now.done < now.runs {
        let why = if interrupted.load(Ordering::Relaxed) { "interrupted: " } else { "" };
        bail!("{why}{} of {} runs are done; run the same command again to continue", now.done, now.runs);
    }
    let merged =
        args.out.as_deref().map(|out| merge(&opened, out, false)).transpose().map_err(super::error)?;
    if args.json.asked() {
        let document = json!({
            "schema": "swtch/sweep-run/1", "directory": directory, "out": args.out, "runs": now.runs,
            "failed": now.failed, "deaths": now.deaths, "cpu_s": now.cpu_s
        });
        output::json(&args.json, &document)?;
    } else if let Some(out) = &args.out {
        output::print(&format!("{} in {}\n", count(now.runs, "run"), out.display()));
    } else {
        output::print(&in_words(&now));
    }
    match merged {
        Some(merged) => Ok(failures(&merged)),
        None if now.failed > 0 => {
            let line = format!(
                "swtch: {} of {} runs failed; see the column error of the table",
                now.failed, now.runs
            );
            output::complain_text(&line);
            Ok(ExitCode::FAILURE)
        }
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The Python package hands shards to Dask: one process for the whole sweep. Where that fails, its exit status.
fn dask(
    args: &RunArgs,
    opened: &Opened,
    address: Option<&str>,
    interrupted: &AtomicBool,
) -> anyhow::Result<Option<ExitCode>> {
    let Some(program) = external::program(DASK) else {
        return Err(WrongUsage(format!(
            "no program '{DASK}' next to swtch or on PATH: it is in the Python package; pip install 'swtch[dask]'"
        ))
        .into());
    };
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("--swtch").arg(own);
    if let Some(address) = address {
        command.args(["--address", address]);
    }
    if let Some(workers) = args.workers {
        command.args(["--workers", &workers.to_string()]);
    }
    command.arg("--").arg(&opened.directory);
    let mut child = command.spawn().with_context(|| format!("cannot run {DASK}"))?;
    let mut line = ProgressLine::new(super::TEMPLATE, Some(opened.manifest.runs));
    let mut looked = Instant::now();
    let mut asked = false;
    let status = loop {
        if let Some(status) = child.try_wait().with_context(|| format!("cannot follow {DASK}"))? {
            break status;
        }
        if interrupted.load(Ordering::Relaxed) && !asked {
            asked = true;
            // A terminal sends Ctrl-C to both; a supervisor's SIGTERM reaches only this process. It takes a second one as the first.
            let pid = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        std::thread::sleep(LOOK_EVERY);
        if looked.elapsed() > SHOW_EVERY {
            looked = Instant::now();
            if let Ok(done) = opened.done() {
                line.show(|bar| bar.set_position(done));
            }
        }
    };
    drop(line);
    match status.code() {
        Some(0) => Ok(None),
        _ if interrupted.load(Ordering::Relaxed) => Ok(None),
        // It has said why.
        Some(code) => Ok(Some(ExitCode::from(code as u8))),
        None => bail!("{DASK} died ({status}); the same command continues"),
    }
}

fn slurm(
    args: &RunArgs,
    opened: &Opened,
    partition: Option<String>,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    let job = Job {
        partition,
        tasks: args.workers.map(|workers| workers as usize),
        jobs: args.jobs.given().unwrap_or(1),
        time: args.time.clone(),
        more: args.sbatch.clone(),
    };
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut line = ProgressLine::new(super::TEMPLATE, Some(opened.manifest.runs));
    let mut show = |done| line.show(|bar| bar.set_position(done));
    job.run(opened, &program, interrupted, &mut show).map_err(super::error)
}
