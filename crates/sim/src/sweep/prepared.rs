//! A sweep with everything that its runs need: what identifies it, and one run at a time.

use super::Sweep;
use super::error::{SweepError, file_error};
use super::rows::RunRow;
use crate::error::SimError;
use crate::fingerprint::hash_of_path;
use crate::plan::{Plan, PlanError, Work, has_extension};
use crate::policies;
use crate::run::run as simulate;
use crate::sink::{Any, Sink};
use crate::spec::{Source, Spec};
use crate::summary::Summary;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use swtch_profile::Profile;

/// The key of the Profile among a sweep's files.
const PROFILE: &str = "profile";

/// A sweep that was read, with its Profile and the hashes of its files.
#[derive(Debug)]
pub struct Prepared {
    sweep: Sweep,
    /// Paths in the sweep count from here: empty, or with a slash at its end.
    directory: String,
    profile: Option<Profile>,
    files: BTreeMap<String, InputFile>,
}

/// A file, or a directory of a recording, that decides about figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Where it is.
    pub path: PathBuf,
    /// The hash of its contents.
    pub hash: String,
}

impl Prepared {
    /// Reads the sweep in `file` and what it names. Paths in it count from its directory.
    ///
    /// # Errors
    /// When something cannot be read or cannot be, or when both `profile` and the sweep name a Profile.
    pub fn read(file: &Path, profile: Option<&Path>) -> Result<Self, SweepError> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(file_error(format!("cannot read {name}")))?;
        let sweep = Sweep::read(&name, &text)?;
        if profile.is_some() && sweep.profile().is_some() {
            return Err(SweepError::Wrong(format!(
                "a Profile was given, and {name} names another; remove one of them"
            )));
        }
        let place = file.parent().unwrap_or(Path::new(""));
        let directory = match place.to_str() {
            Some("") => String::new(),
            Some("/") => "/".to_owned(),
            Some(place) => format!("{place}/"),
            None => return Err(SweepError::Wrong(format!("{} is not UTF-8", place.display()))),
        };
        let profile_path = profile.map(Path::to_owned).or(sweep.profile().map(|path| place.join(path)));
        let mut files = BTreeMap::new();
        for written in named(&sweep, place)? {
            let path = place.join(&written);
            let hash = hash(&path)?;
            files.insert(written, InputFile { path, hash });
        }
        if let Some(path) = &profile_path {
            files.insert(PROFILE.to_owned(), InputFile { path: path.clone(), hash: hash(path)? });
        }
        let profile = profile_path.as_deref().map(swtch_profile::file::read).transpose()?;
        Ok(Self { sweep, directory, profile, files })
    }

    /// The sweep.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The files that decide about its figures, by their paths as written; the Profile is called `profile`.
    pub fn files(&self) -> &BTreeMap<String, InputFile> {
        &self.files
    }

    /// What makes this part of the sweep the one it is: what the sweep says, and the contents of its files. Not where they are.
    pub fn identity(&self, part: (u64, u64)) -> String {
        let hashes: BTreeMap<&str, &str> =
            self.files.iter().map(|(name, file)| (name.as_str(), file.hash.as_str())).collect();
        let version = env!("CARGO_PKG_VERSION");
        json!({ "schema": "swtch/sweep/1", "version": version, "part": part, "sweep": self.sweep, "files": hashes })
            .to_string()
    }

    /// Simulates one run. `goes_on` is asked every 65,536 events, and false stops the run: then nothing comes back. A workload that fails is a row
    /// that says so.
    ///
    /// # Errors
    /// When what is asked for cannot be: an error of the sweep.
    pub fn run(&self, run: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<Option<RunRow>, SweepError> {
        let point = self.sweep.run(run);
        let policy = policies::beside(point.policy, &self.directory);
        let mut overrides = self.sweep.overrides(&point);
        overrides.policies = vec![policy.clone()];
        let work = Work::Named(point.workload);
        let plan = match Plan::of(work, &self.directory, &overrides, self.profile.as_ref()) {
            Err(PlanError::Sim(error)) if !error.is_of_the_run() => return Err(error.into()),
            other => other.map_err(SweepError::Plan)?,
        };
        let mut asks = Asks(goes_on);
        let ended = simulate(&plan.setting, &policy, Any(&mut asks)).map(|run| {
            let summary = Summary::of(&plan, &policy, &run);
            let checked = summary.check(&run, &plan.setting);
            checked.map(|()| RunRow::figures(&summary)).map_err(|refused| {
                format!(
                    "the simulation contradicts itself: {refused}; please report this defect with the sweep"
                )
            })
        });
        let found = match ended {
            Ok(found) => found,
            // What stops a sweep may also end a compiler.
            Err(_) if !(asks.0)() => return Ok(None),
            Err(SimError::Stopped { .. }) => return Ok(None),
            // As it is written: a row does not depend on where the sweep lies.
            Err(error) if error.is_of_the_run() => Err(error.to_string().replace(&policy, point.policy)),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(RunRow::new(&point, found)))
    }

    /// The row of a run that could not be made, with the reason.
    pub fn failed(&self, run: u64, why: String) -> RunRow {
        RunRow::new(&self.sweep.run(run), Err(why))
    }

    /// The row of a run that was a command: what is taken from what it printed, as JSON.
    pub fn printed(&self, run: u64, taken: String) -> RunRow {
        RunRow::new(&self.sweep.run(run), Ok(RunRow::printing(taken)))
    }
}

struct Asks<'a>(&'a mut dyn FnMut() -> bool);

impl Sink for Asks<'_> {
    fn goes_on(&mut self, _now_ns: u64, _events: u64) -> bool {
        (self.0)()
    }
}

/// The files that a sweep names, and those that its specifications name, as paths from its directory.
fn named(sweep: &Sweep, folder: &Path) -> Result<Vec<String>, SweepError> {
    if let Some(commands) = sweep.commands() {
        return Ok(commands.files().to_vec());
    }
    let mut all: Vec<String> = sweep.files().map(str::to_owned).collect();
    for file in sweep.files().filter(|file| has_extension(file, "toml")) {
        let path = folder.join(file);
        let name = path.display().to_string();
        let text = fs::read_to_string(&path).map_err(file_error(format!("cannot read {name}")))?;
        let beside = |other: &str| Path::new(file).with_file_name(other).display().to_string();
        match Spec::read(&name, &text)?.source() {
            Source::RtApp(other) | Source::Recording(other) => all.push(beside(other)),
            Source::Here => {}
        }
    }
    all.extend(sweep.policies().flat_map(policies::files));
    Ok(all)
}

fn hash(path: &Path) -> Result<String, SweepError> {
    hash_of_path(path).map_err(file_error(format!("cannot read {}", path.display())))
}
