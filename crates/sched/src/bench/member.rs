//! In a guest: all loads under one scheduler, each several times, in an order of this boot.

use super::load::Load;
use super::{Boot, LoadRuns, Run, Runs, recorded};
use crate::compare::{Policy, counted};
use crate::error::SchedError;
use crate::find::SearchPath;
use crate::process::Scheduler;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use swtch_stats::{Rng, quantile_sorted, sorted};

/// Runs begin at any point between two of the kernel's ticks, which come 250 times a second.
const TICK: Duration = Duration::from_millis(4);
/// A load that takes longer, by the guest's clock, failed; a user's own command may.
const LONGEST: Duration = Duration::from_secs(120);

/// Runs the loads under the scheduler, each once to warm up and then as often as `runs` says. `seed` decides the order of the loads and when runs begin, so that no two
/// boots are alike: what a load leaves behind is there for another in each. A load that fails has the reason in place of its runs. With `record` each load runs once more in the end, with a recorder, which
/// disturbs no run that is counted.
///
/// # Errors
/// When the scheduler fails.
pub fn run_boot(
    policy: &Policy,
    loads: &[Load],
    runs: Runs,
    seed: u64,
    record: bool,
    program: &Path,
    search_path: &SearchPath,
) -> Result<Boot, SchedError> {
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
    let mut order: Vec<usize> = (0..loads.len()).collect();
    rng.shuffle(&mut order);
    let mut found = vec![Ok(Vec::new()); loads.len()];
    for place in order {
        let load = &loads[place];
        if let Some(why) = load.does_not_end_under(policy) {
            found[place] = Err(why);
            continue;
        }
        // The first run finds none of its files in memory.
        let mut run = || {
            thread::sleep(Duration::from_nanos(rng.below(TICK.as_nanos() as u64)));
            run_load(load, &prepared)
        };
        let ran = run().and_then(|_| counted_runs(runs, run));
        // A scheduler that ended is why the load failed.
        if let Some(scheduler) = &mut scheduler {
            scheduler.check()?;
        }
        found[place] = match ran {
            Err(error @ (SchedError::Command { .. } | SchedError::NoMetric { .. })) if !load.is_of_user() => {
                Err(error.to_string())
            }
            ran => Ok(ran?),
        };
    }
    let mut of_loads = Vec::with_capacity(loads.len());
    for (load, ran) in loads.iter().zip(found) {
        let (runs, failed) = ran.map_or_else(|how| (Vec::new(), Some(how)), |runs| (runs, None));
        let recorded = if record && failed.is_none() {
            Some(recorded::run(&prepared, &words(load), program)?)
        } else {
            None
        };
        of_loads.push(LoadRuns { load: load.name.clone(), runs, failed, recorded });
    }
    if let Some(mut scheduler) = scheduler {
        scheduler.check()?;
        scheduler.stop()?;
    }
    Ok(Boot { loads: of_loads, ..Boot::default() })
}

/// Runs by `run`, more of them where they differ.
fn counted_runs(
    runs: Runs,
    mut run: impl FnMut() -> Result<Run, SchedError>,
) -> Result<Vec<Run>, SchedError> {
    let mut ran = Vec::with_capacity(runs.least);
    while ran.len() < runs.least || (ran.len() < runs.most && they_differ(&ran)) {
        ran.push(run()?);
    }
    Ok(ran)
}

/// Whether runs spread over more than a tenth of their median, in time or in switches.
fn they_differ(runs: &[Run]) -> bool {
    let of = |figure: fn(&Run) -> f64| {
        let figures = sorted(&runs.iter().map(figure).collect::<Vec<_>>());
        let [lowest, .., highest] = figures[..] else { return false };
        highest - lowest > quantile_sorted(&figures, 0.5) / 10.0
    };
    of(|run| run.seconds) || of(Run::switches)
}

/// Runs a load once here, under a class of the kernel. A scheduler of sched_ext is refused: it would schedule whatever else runs.
///
/// # Errors
/// When the load fails, or its figure is not in its output.
pub fn run_load_here(policy: &Policy, load: &Load, search_path: &SearchPath) -> Result<Run, SchedError> {
    if matches!(policy, Policy::Scheduler { .. }) {
        return Err(SchedError::Wish(format!("{policy} would schedule the whole machine")));
    }
    run_load(load, &policy.prepare(search_path)?)
}

fn words(load: &Load) -> Vec<OsString> {
    load.command.iter().map(OsString::from).collect()
}

fn too_long(load: &Load, began: Instant) -> bool {
    !load.is_of_user() && began.elapsed() >= LONGEST
}

fn run_load(load: &Load, one: &counted::Prepared) -> Result<Run, SchedError> {
    let file = || tempfile::tempfile().map_err(SchedError::system("making a file for output"));
    let mut output = file()?;
    let stdout: Stdio = output.try_clone().map_err(SchedError::system("making a file for output"))?.into();
    let began = Instant::now();
    // Nothing interrupts it in a guest, and each look takes a turn from real-time tasks there.
    let stop = counted::Stop { asked: &mut || too_long(load, began), every: LONGEST };
    let counted = counted::run(one, &words(load), stdout, stop).map_err(|error| {
        if !matches!(error, SchedError::Interrupted) {
            return error;
        }
        SchedError::Command {
            policy: one.name.clone(),
            command: load.name.clone(),
            how: format!("did not end within {} s", LONGEST.as_secs()),
        }
    })?;
    let text = counted::output_of(&mut output)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a load runs whose runs have these switches, the last of them again and again.
    fn how_often(runs: Runs, switches: &[u64]) -> usize {
        let mut left = switches.iter();
        let mut last = 0;
        let run = || {
            last = *left.next().unwrap_or(&last);
            Ok(Run { seconds: 1.0, voluntary: last, involuntary: 0, metrics: Vec::new() })
        };
        counted_runs(runs, run).unwrap().len()
    }

    #[test]
    fn what_differs_by_more_than_a_tenth_runs_more_often() {
        let runs = Runs { least: 3, most: 7 };
        assert_eq!(how_often(runs, &[100, 95, 105]), 3);
        assert_eq!(how_often(runs, &[100, 94, 105]), 7);
        assert_eq!(how_often(Runs::from(3), &[100, 1, 9]), 3);
    }
}
