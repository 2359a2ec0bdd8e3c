//! Tries runs in a process of its own: one that kills its process does not kill the plan.

use crate::error::Error;
use crate::predict::try_runs;
use crate::supervise::cause_of_death;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use swtch_sim::sweep::Prepared;

/// Most processes that may die. The runs that were tried before are enough then.
const MOST_DEATHS: u32 = 3;

/// Tries the runs of a sweep from a step on, and prints the step and the CPU seconds of each: what `in_children` starts.
///
/// # Errors
/// When the sweep or a run cannot be.
pub fn trials(
    grid: &Path,
    profile: Option<&Path>,
    from: u64,
    stop: &AtomicBool,
    print: &mut dyn FnMut(String),
) -> Result<(), Error> {
    let prepared = Prepared::read(grid, profile)?;
    let stop = || stop.load(Ordering::Relaxed);
    Ok(try_runs(&prepared, from, &stop, &mut |step, took| print(format!("{step} {took}\n")))?)
}

/// The steps that were tried, and what each took. `command` gives the process that tries runs from a step on.
pub(crate) fn in_children(
    command: &dyn Fn(u64) -> Command,
    stop: &AtomicBool,
) -> Result<Vec<(u64, f64)>, Error> {
    let failed = |source| Error::File { what: "cannot try runs in a process".to_owned(), source };
    let mut found: Vec<(u64, f64)> = Vec::new();
    let mut from = 0;
    for _ in 0..MOST_DEATHS {
        let mut command = command(from);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        for line in child.stdout.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
            let line = line.map_err(failed)?;
            let step =
                line.split_once(' ').and_then(|(step, took)| Some((step.parse().ok()?, took.parse().ok()?)));
            found.extend(step);
            if stop.load(Ordering::Relaxed) {
                let _ = child.kill();
            }
        }
        let mut complaint = String::new();
        if let Some(mut pipe) = child.stderr.take() {
            pipe.read_to_string(&mut complaint).map_err(failed)?;
        }
        let status = child.wait().map_err(failed)?;
        if status.success() || stop.load(Ordering::Relaxed) {
            break;
        }
        if cause_of_death(status.signal(), status.code(), &complaint).is_none() {
            return Err(Error::of_child(status, &complaint));
        }
        // The step after the last one killed it.
        from = found.iter().map(|(step, _)| step + 1).max().unwrap_or(0).max(from) + 1;
    }
    Ok(found)
}
