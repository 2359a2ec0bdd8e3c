//! In a guest: all loads under one scheduler, each several times.

use super::load::Load;
use super::{Column, LoadRuns, Run};
use crate::compare::{Policy, counted};
use crate::error::SchedError;
use crate::find::SearchPath;
use crate::process::Scheduler;
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use swtch_stats::Rng;

/// Runs begin at any point between two of the kernel's ticks, which come 250 times a second.
const TICK: Duration = Duration::from_millis(4);

/// Runs the loads under the scheduler, each once to warm up and then `runs` times. `seed` decides when runs begin, so that no two are alike.
///
/// # Errors
/// When the scheduler or a load fails, or a load prints none of its figures.
pub fn run_column(
    policy: &Policy,
    loads: &[Load],
    runs: usize,
    seed: u64,
    program: &Path,
    search_path: &SearchPath,
) -> Result<Column, SchedError> {
    if !swtch_vm::guest::is_in_guest() {
        let text = "loads run in a virtual machine only; see swtch sched bench --help";
        return Err(SchedError::Wish(text.to_owned()));
    }
    let prepared = policy.prepare(search_path)?;
    let mut never = || false;
    let mut scheduler = match &prepared.found {
        None => None,
        Some(found) => {
            let mut scheduler = Scheduler::start(found, &prepared.arguments, program)?;
            scheduler.wait_enabled(&mut never)?;
            Some(scheduler)
        }
    };
    let mut rng = Rng::new(seed);
    let mut found = Vec::with_capacity(loads.len());
    for load in loads {
        let words: Vec<OsString> = load.command.iter().map(OsString::from).collect();
        let mut kept = Vec::with_capacity(runs);
        for number in 0..=runs {
            thread::sleep(Duration::from_nanos(rng.below(TICK.as_nanos() as u64)));
            let run = run_load(load, &words, &prepared)?;
            // The first finds none of its files in memory.
            if number > 0 {
                kept.push(run);
            }
        }
        found.push(LoadRuns { load: load.name.clone(), runs: kept });
        if let Some(scheduler) = &mut scheduler {
            scheduler.check()?;
        }
    }
    if let Some(scheduler) = scheduler {
        scheduler.stop()?;
    }
    Ok(Column { scheduler: prepared.name, loads: found, ..Column::default() })
}

fn run_load(load: &Load, words: &[OsString], one: &counted::Prepared) -> Result<Run, SchedError> {
    let file = || tempfile::tempfile().map_err(SchedError::system("making a file for output"));
    let mut output = file()?;
    let stdout: Stdio = output.try_clone().map_err(SchedError::system("making a file for output"))?.into();
    let counted = counted::run(one, words, stdout, &mut || false)?;
    let mut text = String::new();
    output.rewind().map_err(SchedError::system("reading output"))?;
    output.read_to_string(&mut text).map_err(SchedError::system("reading output"))?;
    let value = |metric: &super::load::LoadMetric| {
        metric.value(&text, counted.seconds).ok_or_else(|| SchedError::NoMetric {
            load: load.name.clone(),
            metric: metric.name.clone(),
            policy: one.name.clone(),
        })
    };
    Ok(Run {
        seconds: counted.seconds,
        voluntary: counted.voluntary,
        involuntary: counted.involuntary,
        metrics: load.metrics.iter().map(value).collect::<Result<_, _>>()?,
    })
}
