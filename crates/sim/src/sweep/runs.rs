//! Runs a sweep: several runs at once, each kept as it is done, one table at the end.

use super::error::{SweepError, file_error};
use super::kept::Kept;
use super::rows::{self, RunRow};
use super::{Point, Sweep};
use crate::error::SimError;
use crate::plan::{Plan, PlanError, Work};
use crate::run::run as simulate;
use crate::sink::{Any, Sink};
use crate::summary::Summary;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use swtch_profile::Profile;

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

/// What all threads share.
struct Shared<'a> {
    sweep: &'a Sweep,
    /// Paths in the sweep count from here: empty, or with a slash at its end.
    directory: &'a str,
    profile: Option<&'a Profile>,
    stop: &'a AtomicBool,
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
    let name = request.file.display().to_string();
    let text = std::fs::read_to_string(request.file).map_err(file_error(format!("cannot read {name}")))?;
    let sweep = Sweep::read(&name, &text)?;
    if request.profile.is_some() && sweep.profile().is_some() {
        return Err(SweepError::Wrong(format!(
            "a Profile was given, and {name} names another; remove one of them"
        )));
    }
    let directory = request.file.parent().unwrap_or(Path::new(""));
    let profile_path =
        request.profile.map(Path::to_owned).or(sweep.profile().map(|path| directory.join(path)));
    let profile = profile_path.as_deref().map(swtch_profile::file::read).transpose()?;
    let wanted: Vec<u64> = sweep.part(request.part.0, request.part.1).collect();
    let identity = identity(&sweep, request.part, directory, profile_path.as_deref())?;
    if rows::is_there(request.out, &identity)? {
        return Ok(Swept { runs: wanted.len(), ..Swept::default() });
    }
    let mut kept = Kept::open(request.out, &identity)?;
    let missing: Vec<u64> = wanted.iter().copied().filter(|run| !kept.has(*run)).collect();
    let from = match directory.to_str() {
        Some("") => String::new(),
        Some(directory) => format!("{directory}/"),
        None => return Err(SweepError::Wrong(format!("{} is not UTF-8", directory.display()))),
    };
    let shared = Shared { sweep: &sweep, directory: &from, profile: profile.as_ref(), stop };
    all(&shared, &missing, request, &mut kept, &mut |done| progress(done, wanted.len()))?;
    if stop.load(Ordering::Relaxed) && kept.len() < wanted.len() {
        return Err(SweepError::Interrupted { done: kept.len(), all: wanted.len() });
    }
    let failures = rows::write(request.out, &identity, kept.rows()?)?;
    kept.remove();
    Ok(Swept { runs: wanted.len(), run_now: missing.len(), failures })
}

/// What makes a sweep this one: what it says, its part, and the files it names.
fn identity(
    sweep: &Sweep,
    part: (u64, u64),
    directory: &Path,
    profile: Option<&Path>,
) -> Result<String, SweepError> {
    let mut paths: Vec<PathBuf> = sweep.files().map(|file| directory.join(file)).collect();
    paths.extend(profile.map(Path::to_owned));
    let mut files = BTreeMap::new();
    for path in paths {
        let bytes = std::fs::read(&path).map_err(file_error(format!("cannot read {}", path.display())))?;
        files.insert(path.display().to_string(), format!("{:016x}", fingerprint(&bytes)));
    }
    let version = env!("CARGO_PKG_VERSION");
    Ok(json!({ "schema": "swtch/sweep/1", "version": version, "part": part, "sweep": sweep, "files": files })
        .to_string())
}

/// FNV-1a, 64 bits: tells whether a file was changed, and is the same on every machine.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Runs what is missing, and keeps each as it is done.
fn all(
    shared: &Shared<'_>,
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
                    let row = one(shared, &shared.sweep.run(*run));
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
                shared.stop.store(true, Ordering::Relaxed);
                return added;
            }
            done(kept.len());
        }
        Ok(())
    })
}

/// One run; nothing when it was stopped. A workload that fails is a row that says so; one that cannot be is an error of the sweep.
fn one(shared: &Shared<'_>, point: &Point<'_>) -> Result<Option<RunRow>, SweepError> {
    let overrides = shared.sweep.overrides(point);
    let work = Work::Named(point.workload);
    let plan = match Plan::of(work, shared.directory, &overrides, shared.profile) {
        Err(PlanError::Sim(error)) if !error.is_of_the_run() => return Err(error.into()),
        other => other.map_err(SweepError::Plan)?,
    };
    let mut watch = Stopped(shared.stop);
    let found = match simulate(&plan.setting, point.policy, Any(&mut watch)) {
        Ok(run) => {
            let summary = Summary::of(&plan, point.policy, &run);
            let checked = summary.check(&run, &plan.setting);
            checked.map(|()| RunRow::figures(&summary)).map_err(|refused| {
                format!(
                    "the simulation contradicts itself: {refused}; please report this defect with the sweep"
                )
            })
        }
        Err(SimError::Stopped { .. }) => return Ok(None),
        Err(error) if error.is_of_the_run() => Err(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    if shared.stop.load(Ordering::Relaxed) && found.is_err() {
        return Ok(None);
    }
    Ok(Some(RunRow::new(point, found)))
}

struct Stopped<'a>(&'a AtomicBool);

impl Sink for Stopped<'_> {
    fn goes_on(&mut self, _now_ns: u64, _events: u64) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}
