//! Plans a sweep into a directory.

use crate::error::{Error, reading, writing};
use crate::manifest::{FILE, Manifest, Shard};
use crate::owner::Owner;
use crate::predict::{Costs, try_runs};
use crate::trials::in_children;
use crate::{claims, parts};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use swtch_columns::GROUP_ROWS;
use swtch_sim::sweep::{Prepared, Sweep, hash_of};

/// After how long without a sign of life a claim lapses.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(60);
/// A shard costs this much by the prediction, s: the more the sweep costs, the longer, within these bounds.
const SHARD_S: (f64, f64) = (2.0, 20.0);
/// About this many shards where the bounds allow it.
const SHARDS: f64 = 500.0;
/// Above this many, shards are longer than the upper bound.
const MOST_SHARDS: f64 = 20_000.0;
/// A small sweep has about this many, so that its workers end at about the same time; but none costs less than that, s.
const FEWEST_SHARDS: f64 = 32.0;
const SHORTEST_S: f64 = 0.1;
/// Names of what a directory holds.
const INPUTS: &str = "inputs";
const PROFILE: &str = "profile.json";

/// What is to be planned.
#[derive(Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The sweep's file.
    pub grid: &'a Path,
    /// The directory, made where it is not there.
    pub directory: &'a Path,
    /// A Profile for the costs, where the sweep names none.
    pub profile: Option<&'a Path>,
    /// What a shard costs, CPU seconds; by the sweep's size when not given.
    pub shard_s: Option<f64>,
    /// After how long without a sign of life a claim lapses.
    pub lease: Duration,
    /// A process that tries runs from a step on; in this process when not given.
    pub trials: Option<&'a dyn Fn(u64) -> Command>,
}

impl std::fmt::Debug for PlanRequest<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PlanRequest").field("grid", &self.grid).finish_non_exhaustive()
    }
}

/// What was planned.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The manifest in the directory.
    pub manifest: Manifest,
    /// Whether it was there before.
    pub was_there: bool,
}

/// Plans a sweep, or finds that the directory has the same one already.
///
/// # Errors
/// When the sweep cannot be, the directory has another one, or something cannot be read or written.
pub fn plan(request: &PlanRequest<'_>, stop: &AtomicBool) -> Result<Planned, Error> {
    let directory = request.directory;
    let prepared = Prepared::read(request.grid, request.profile)?;
    let commands = prepared.sweep().commands();
    if commands.is_none() && prepared.sweep().machines().any(|machine| machine == "host") {
        let problem =
            "the machine host is another one for every worker; name the machine or its number of CPUs";
        return Err(Error::Wrong(format!("{}: {problem}", request.grid.display())));
    }
    let identity = hash_of(&prepared.identity((1, 1)));
    if let Some(manifest) = Manifest::read(directory)? {
        return same(manifest, &identity, directory);
    }
    for folder in [directory.to_owned(), directory.join(claims::FOLDER), directory.join(parts::FOLDER)] {
        fs::create_dir_all(&folder).map_err(writing(&folder))?;
    }
    // The directory is one that can be written before runs are tried.
    let inputs = Inputs::take(&prepared, request, &identity)?;
    let costs = match commands {
        // A command may take hours, or not be repeatable: none is tried.
        Some(commands) => Costs::alike(prepared.sweep(), commands.expected_ns() as f64 / 1e9),
        None => tried(&prepared, request, stop)?,
    };
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Worker("interrupted before the plan was written".to_owned()));
    }
    let shards = cut(prepared.sweep(), &costs, request.shard_s);
    let hashes = prepared.files().iter().map(|(name, file)| (name.clone(), file.hash.clone())).collect();
    let (runs, lease_s) = (prepared.sweep().runs(), request.lease.as_secs_f64());
    let manifest = Manifest::new(identity, runs, inputs.grid, inputs.profile, hashes, lease_s, shards);
    publish(directory, &manifest)
}

/// Tries some runs, and takes from these what all cost.
fn tried(prepared: &Prepared, request: &PlanRequest<'_>, stop: &AtomicBool) -> Result<Costs, Error> {
    let mut steps = Vec::new();
    match request.trials {
        Some(command) => steps = in_children(command, stop)?,
        None => try_runs(prepared, 0, &|| stop.load(Ordering::Relaxed), &mut |step, took| {
            steps.push((step, took));
        })?,
    }
    Ok(Costs::of_steps(prepared.sweep(), &steps))
}

/// The manifest that is there, where it is of the same sweep.
fn same(manifest: Manifest, identity: &str, directory: &Path) -> Result<Planned, Error> {
    if manifest.identity == identity {
        return Ok(Planned { manifest, was_there: true });
    }
    let version = env!("CARGO_PKG_VERSION");
    Err(Error::Wrong(if manifest.version == version {
        format!(
            "{} has the plan of another sweep: the sweep or a file it names has changed; choose another directory",
            directory.display()
        )
    } else {
        format!(
            "{} was planned by swtch {}, and this is {version}; use that version, or plan into another directory",
            directory.display(),
            manifest.version
        )
    }))
}

/// Manifests that this process wrote: each is written beside its place under a name of its own.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Writes the manifest, unless another process was quicker: then that one's counts.
fn publish(directory: &Path, manifest: &Manifest) -> Result<Planned, Error> {
    let path = directory.join(FILE);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let Owner { host, pid, .. } = Owner::own();
    let beside = directory.join(format!(".manifest-{host}-{pid}-{number}"));
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&beside)?;
        file.write_all(
            (serde_json::to_string_pretty(manifest).map_err(io::Error::other)? + "\n").as_bytes(),
        )?;
        file.sync_all()?;
        // A link fails where the name is taken; a rename would replace the other's.
        match fs::hard_link(&beside, &path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(&beside, &path),
            done => done,
        }
    };
    let written = write();
    let _ = fs::remove_file(&beside);
    match written {
        Ok(()) => Ok(Planned { manifest: manifest.clone(), was_there: false }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let there = Manifest::read(directory)?.ok_or_else(|| writing(&path)(error))?;
            same(there, &manifest.identity, directory)
        }
        Err(error) => Err(writing(&path)(error)),
    }
}

/// The inputs of a sweep, as its manifest names them.
struct Inputs {
    grid: PathBuf,
    profile: Option<PathBuf>,
}

impl Inputs {
    /// Copies the inputs into the directory, so that workers need nothing else and later changes do no harm. A sweep that names files outside
    /// its own directory stays where it is, and so does one with schedulers, whose headers are anywhere: workers find them by the same path.
    fn take(prepared: &Prepared, request: &PlanRequest<'_>, identity: &str) -> Result<Self, Error> {
        let mut profile = None;
        // Two clients that plan different sweeps at once do not mix their inputs.
        let folder = Path::new(INPUTS).join(identity);
        if let Some(path) = request.profile {
            let name = folder.join(PROFILE);
            copy(path, &request.directory.join(&name))?;
            profile = Some(name);
        }
        let grid_folder = request.grid.parent().unwrap_or(Path::new(""));
        let written: Vec<&Path> = prepared
            .files()
            .keys()
            .filter(|name| *name != "profile")
            .map(Path::new)
            .chain(prepared.sweep().profile().map(Path::new))
            .collect();
        // A command finds its files in its own directory, and says itself what else it needs.
        let is_command = prepared.sweep().commands().is_some();
        if !written.iter().all(|path| is_below(path) && (is_command || needs_nothing(path))) {
            let absolute = fs::canonicalize(request.grid).map_err(reading(request.grid))?;
            return Ok(Self { grid: absolute, profile });
        }
        for path in written {
            copy(&grid_folder.join(path), &request.directory.join(&folder).join("grid").join(path))?;
        }
        let name = Path::new(request.grid.file_name().unwrap_or(std::ffi::OsStr::new("grid.toml")));
        let grid = folder.join("grid").join(name);
        copy(request.grid, &request.directory.join(&grid))?;
        Ok(Self { grid, profile })
    }
}

fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// The headers of a scheduler in C are anywhere.
fn needs_nothing(path: &Path) -> bool {
    path.extension().is_none_or(|extension| extension != "c")
}

/// Copies a file, or a directory with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(writing(folder))?;
    }
    if !from.is_dir() {
        let bytes = fs::read(from).map_err(reading(from))?;
        // Another client may plan the same sweep now: its workers see a whole file.
        return Ok(swtch_profile::file::replace(to, |file| file.write_all(&bytes))?);
    }
    for entry in fs::read_dir(from).map_err(reading(from))? {
        let name = entry.map_err(reading(from))?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// Cuts the runs into shards of about the same cost.
fn cut(sweep: &Sweep, costs: &Costs, shard_s: Option<f64>) -> Vec<Shard> {
    let runs = sweep.runs();
    let seeds = sweep.lengths()[3] as u64;
    let total: f64 = (0..runs / seeds).map(|cell| costs.of_cell(cell) * seeds as f64).sum();
    let by_size = (total / SHARDS).clamp(SHARD_S.0, SHARD_S.1).max(total / MOST_SHARDS);
    let by_size = by_size.min((total / FEWEST_SHARDS).max(SHORTEST_S));
    let longest = shard_s.unwrap_or(by_size);
    let mut shards: Vec<Shard> = Vec::new();
    for run in 0..runs {
        let cost = costs.of_cell(run / seeds);
        match shards.last_mut() {
            Some(shard) if shard.predicted_s + cost <= longest && run - shard.first < GROUP_ROWS as u64 => {
                shard.last = run;
                shard.predicted_s += cost;
            }
            _ => shards.push(Shard { first: run, last: run, predicted_s: cost }),
        }
    }
    shards
}

impl Manifest {
    /// The sweep and its inputs, where they still are what was planned.
    pub(crate) fn prepare(&self, directory: &Path) -> Result<Prepared, Error> {
        let version = env!("CARGO_PKG_VERSION");
        if self.version != version {
            return Err(Error::Wrong(format!(
                "{} was planned by swtch {}, and this is {version}; use the same version on every machine",
                directory.display(),
                self.version
            )));
        }
        // An absolute path stays as it is.
        let grid = directory.join(&self.grid);
        let profile = self.profile.as_ref().map(|path| directory.join(path));
        let prepared = Prepared::read(&grid, profile.as_deref())?;
        if hash_of(&prepared.identity((1, 1))) == self.identity {
            return Ok(prepared);
        }
        let now: BTreeMap<&String, &String> =
            prepared.files().iter().map(|(name, file)| (name, &file.hash)).collect();
        let changed = self.files.iter().find(|(name, hash)| now.get(name) != Some(hash));
        let changed = changed.map_or_else(|| grid.display().to_string(), |(name, _)| name.clone());
        Err(Error::Wrong(format!(
            "{changed} has changed since {} was planned; restore it, or plan into another directory",
            directory.display()
        )))
    }
}

#[cfg(test)]
pub(crate) mod tests;
