//! Runs a sweep: several runs at once, each kept as it is done, one table at the end.

use super::error::SweepError;
use super::kept::Kept;
use super::prepared::Prepared;
use super::rows::{self, RunRow};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// What is to be swept, and where the table goes.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The sweep's file. Paths in it count from its directory.
    pub file: &'a Path,
    /// The table; runs that are done are kept next to it until it is there.
    pub out: &'a Path,
    /// A Profile for the costs, where the sweep names none.
    pub profile: Option<&'a Path>,
    /// Which part of how many, counted from 1.
    pub part: (u64, u64),
    /// Runs at once; as many as there are CPUs when not given.
    pub jobs: Option<usize>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Runs in the table.
    pub runs: usize,
    /// Of those, the ones that were run now; the others were there.
    pub run_now: usize,
    /// What failed, a line each; such a run is a row with its reason.
    pub failures: Vec<String>,
}

/// Runs the part of a sweep that is missing and writes its table.
///
/// `stop`: ends the sweep when it becomes true; it is also set when a run cannot be kept. `progress`: called after each run with the number
/// that is done and the number of all.
///
/// # Errors
/// When something cannot be read, written or understood, or the sweep was stopped. A run that fails is not an error but a row.
pub fn sweep(
    request: &Request<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Swept, SweepError> {
    let prepared = Prepared::read(request.file, request.profile)?;
    if prepared.sweep().commands().is_some() {
        let problem = "its runs are commands, not simulations; make them with 'swtch sweep run'";
        return Err(SweepError::Wrong(format!("{}: {problem}", request.file.display())));
    }
    let wanted: Vec<u64> = prepared.sweep().part(request.part.0, request.part.1).collect();
    let identity = prepared.identity(request.part);
    if rows::is_there(request.out, &identity)? {
        return Ok(Swept { runs: wanted.len(), ..Swept::default() });
    }
    let mut kept = Kept::open(request.out, &identity)?;
    let missing: Vec<u64> = wanted.iter().copied().filter(|run| !kept.has(*run)).collect();
    all(&prepared, stop, &missing, request, &mut kept, &mut |done| progress(done, wanted.len()))?;
    if stop.load(Ordering::Relaxed) && kept.len() < wanted.len() {
        return Err(SweepError::Interrupted { done: kept.len(), all: wanted.len() });
    }
    let failures = rows::write(request.out, &identity, &kept.rows()?)?;
    kept.remove();
    Ok(Swept { runs: wanted.len(), run_now: missing.len(), failures })
}

/// Runs what is missing, and keeps each as it is done.
fn all(
    prepared: &Prepared,
    stop: &AtomicBool,
    missing: &[u64],
    request: &Request<'_>,
    kept: &mut Kept,
    done: &mut dyn FnMut(usize),
) -> Result<(), SweepError> {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = request.jobs.unwrap_or_else(cores);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel::<Result<RunRow, SweepError>>();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, missing.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(run) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = prepared.run(*run, &mut || !stop.load(Ordering::Relaxed));
                    let Some(row) = row.transpose() else { return };
                    let failed = row.is_err();
                    // The receiver is gone when a row could not be kept.
                    if sender.send(row).is_err() || failed {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for row in receiver {
            // The others stop at the next look.
            let added = row.and_then(|row| kept.add(&row, request.out));
            if added.is_err() {
                stop.store(true, Ordering::Relaxed);
                return added;
            }
            done(kept.len());
        }
        Ok(())
    })
}
