//! `swtch simulate --sweep`: many runs at once, one row each.

mod kept;
mod rows;

use super::watch::Through;
use super::{input, refused};
use crate::args::simulate::SimulateArgs;
use crate::output::{self, WrongUsage};
use crate::progress_line::ProgressLine;
use crate::signals::interrupted_by;
use anyhow::Context;
use kept::Kept;
use rows::{Figures, Row};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use swtch_profile::Profile;
use swtch_sim::SimError;
use swtch_sim::run::run as simulate;
use swtch_sim::sink::Sink;
use swtch_sim::summary::Summary;
use swtch_sim::sweep::{Point, Sweep};

/// What all threads share.
struct Shared<'a> {
    sweep: &'a Sweep,
    /// Paths in the sweep count from here: empty, or with a slash at its end.
    folder: &'a str,
    profile: Option<&'a Profile>,
    interrupted: &'a AtomicBool,
}

pub(super) fn run(args: &SimulateArgs, file: &Path) -> anyhow::Result<ExitCode> {
    let out = args.out.as_deref().expect("clap requires --out");
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let sweep = Sweep::read(&name, &text).map_err(refused)?;
    if args.profile.is_some() && sweep.profile().is_some() {
        return Err(
            WrongUsage(format!("--profile stands beside the profile of {name}; take one away")).into()
        );
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let profile_path = args.profile.clone().or(sweep.profile().map(|path| folder.join(path)));
    let profile = input::profile(profile_path.as_deref())?;
    let (part, parts) = args.shard.unwrap_or((1, 1));
    let wanted: Vec<u64> = sweep.part(part, parts).collect();
    let identity = identity(&sweep, (part, parts), folder, profile_path.as_deref())?;
    if rows::is_there(out, &identity)? {
        return told(args, out, wanted.len(), 0, &[]);
    }
    let interrupted = interrupted_by(&[SIGINT, SIGTERM]).context("cannot listen for Ctrl-C")?;
    let mut kept = Kept::open(out, &identity)?;
    let missing: Vec<u64> = wanted.iter().copied().filter(|run| !kept.has(*run)).collect();
    let jobs = args.jobs.map_or_else(cores, |jobs| jobs as usize);
    let from = match folder.to_str() {
        Some("") => String::new(),
        Some(folder) => format!("{folder}/"),
        None => return Err(WrongUsage(format!("{} is no text", folder.display())).into()),
    };
    let shared =
        Shared { sweep: &sweep, folder: &from, profile: profile.as_ref(), interrupted: &interrupted };
    all(&shared, &missing, jobs, (wanted.len(), out), &mut kept)?;
    if interrupted.load(Ordering::Relaxed) && kept.len() < wanted.len() {
        let (done, all) = (kept.len(), wanted.len());
        anyhow::bail!("interrupted: {done} of {all} runs are done; the same command goes on from there");
    }
    let failures = rows::write(out, &identity, kept.rows()?)?;
    kept.remove();
    told(args, out, wanted.len(), missing.len(), &failures)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What makes a sweep this one: what it says, its part, and the files it names.
fn identity(
    sweep: &Sweep,
    part: (u64, u64),
    folder: &Path,
    profile: Option<&Path>,
) -> anyhow::Result<String> {
    let mut paths: Vec<PathBuf> = sweep.files().map(|file| folder.join(file)).collect();
    paths.extend(profile.map(Path::to_owned));
    let mut files = BTreeMap::new();
    for path in paths {
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
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
    jobs: usize,
    (in_all, out): (usize, &Path),
    kept: &mut Kept,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel::<anyhow::Result<Row>>();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(missing.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(run) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = one(shared, &shared.sweep.run(*run));
                    let Some(row) = row.transpose() else { return };
                    let failed = row.is_err();
                    // Nobody listens any more when a row could not be kept.
                    if sender.send(row).is_err() || failed {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let template = "{wide_bar} {pos} of {len} runs, {eta} left";
        let mut line = ProgressLine::new(template, Some(in_all as u64));
        for row in receiver {
            // The others stop at the next look.
            let done = row.and_then(|row| kept.add(&row, out));
            if done.is_err() {
                shared.interrupted.store(true, Ordering::Relaxed);
                return done;
            }
            line.show(|bar| bar.set_position(kept.len() as u64));
        }
        Ok(())
    })
}

/// One run; nothing when it was interrupted. A workload that fails is a row that says so; one that cannot be is an error of the sweep.
fn one(shared: &Shared<'_>, point: &Point<'_>) -> anyhow::Result<Option<Row>> {
    let wishes = shared.sweep.wishes(point);
    let plan = input::plan_of_text(point.workload, shared.folder, &wishes, shared.profile)?;
    let mut watch = Interrupted(shared.interrupted);
    let found = match simulate(&plan.setting, point.policy, Through(&mut watch)) {
        Ok(run) => {
            let summary = Summary::of(&plan, point.policy, &run);
            let cpus = plan.setting.machine.cpus.len() as u64;
            let checked = summary.check(&run, cpus, plan.setting.fastest());
            checked.map(|()| Figures::of(&summary)).map_err(|refused| {
                format!(
                    "the simulation contradicts itself: {refused}; please report this defect with the sweep"
                )
            })
        }
        Err(SimError::Stopped { .. }) => return Ok(None),
        Err(error) => {
            let refused = refused(error);
            if refused.downcast_ref::<WrongUsage>().is_some() {
                return Err(refused);
            }
            Err(refused.to_string())
        }
    };
    if shared.interrupted.load(Ordering::Relaxed) && found.is_err() {
        return Ok(None);
    }
    Ok(Some(Row::new(point, found)))
}

struct Interrupted<'a>(&'a AtomicBool);

impl Sink for Interrupted<'_> {
    fn goes_on(&mut self, _now_ns: u64, _events: u64) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// What was done, printed; a failed run fails the command, but not the others.
fn told(
    args: &SimulateArgs,
    out: &Path,
    runs: usize,
    now: usize,
    failures: &[String],
) -> anyhow::Result<ExitCode> {
    let path = out.display();
    if args.json.asked() {
        let found = json!({ "schema": "swtch/simulate-sweep/1", "out": out, "runs": runs, "run_now": now, "failed": failures.len() });
        output::json(&args.json, &found)?;
    } else {
        let mut text = format!("{runs} runs in {path}, {now} of them run now");
        if !failures.is_empty() {
            let _ = write!(text, "; {} failed, see the column error", failures.len());
        }
        output::print(&(text + "\n"));
    }
    match failures.first() {
        None => Ok(ExitCode::SUCCESS),
        Some(first) => {
            output::complain_text(&format!(
                "swtch: {} of {runs} runs failed; the first: {first}",
                failures.len()
            ));
            Ok(ExitCode::FAILURE)
        }
    }
}
