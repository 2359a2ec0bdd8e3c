//! From the name of what is to run to a plan.

use super::{Overrides, Plan, Platform};
use crate::error::SimError;
use crate::machine::{self, Machine};
use crate::spec::{Source, Spec, rt_app};
use crate::workload::Workload;
use std::io;
use std::path::{Path, PathBuf};
use swtch_profile::Profile;
use swtch_topology::{Host, TopologyError};
use swtch_trace::TraceError;
use thiserror::Error;

/// What is to run.
#[derive(Clone, Copy, Debug)]
pub enum Work<'a> {
    /// As on a command line: `FILE.toml`, `FILE.json` of rt-app, or a workload's name with parameters.
    Named(&'a str),
    /// A specification's text, or that of a file of rt-app, which begins with a brace.
    Text(&'a str),
    /// A recording, by its path.
    Recording(&'a str),
}

/// Why a plan could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// What was asked for cannot be.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// A file could not be read.
    #[error("cannot read {}: {source}; check the path", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The facts of this machine could not be read.
    #[error(transparent)]
    Host(#[from] TopologyError),
    /// A recording could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl Plan {
    /// The plan of `work`. `directory` is where the paths of `work` count from: empty, or with a slash at its end.
    ///
    /// # Errors
    /// When something cannot be read, or what it says cannot be.
    pub fn of(
        work: Work<'_>,
        directory: &str,
        overrides: &Overrides,
        profile: Option<&Profile>,
    ) -> Result<Self, PlanError> {
        let planner = Planner { overrides, profile };
        let plan = planner.plan(work, directory)?;
        let what_if = &overrides.what_if;
        let is_for_replay =
            !what_if.set.is_empty() || !what_if.without.is_empty() || overrides.seeds.is_some();
        if plan.replay.is_none() && is_for_replay {
            let problem = "--set, --without and --seeds are for the replay of a recording";
            return Err(SimError::of_workload(&plan.setting.workload.name, problem).into());
        }
        Ok(plan)
    }
}

impl Planner<'_> {
    fn plan(&self, work: Work<'_>, directory: &str) -> Result<Plan, PlanError> {
        match work {
            Work::Recording(path) => self.replayed(&format!("{directory}{path}"), None),
            Work::Text(text) if text.trim_start().starts_with('{') => {
                self.of_rt_app("the workload", text, None)
            }
            Work::Text(text) => self.specified(&Spec::read("the specification", text)?, directory),
            Work::Named(name) => {
                let path = format!("{directory}{name}");
                if has_extension(name, "toml") {
                    self.specified(&Spec::read(&path, &read(&path)?)?, folder_of(&path))
                } else if has_extension(name, "json") {
                    self.of_rt_app(&path, &read(&path)?, None)
                } else {
                    self.specified(&Spec::of_name(name)?, directory)
                }
            }
        }
    }
}

/// Whether a name ends in `.extension`.
pub(crate) fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(before, end)| !before.is_empty() && end == extension)
}

/// The directory a file is in, with its slash.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..=slash])
}

fn read(path: &str) -> Result<String, PlanError> {
    std::fs::read_to_string(path).map_err(|source| PlanError::Read { path: path.into(), source })
}

/// What a plan is made by, besides its work.
pub(super) struct Planner<'a> {
    pub(super) overrides: &'a Overrides,
    pub(super) profile: Option<&'a Profile>,
}

impl Planner<'_> {
    /// What a specification says; paths in it count from `directory`.
    fn specified(&self, spec: &Spec, directory: &str) -> Result<Plan, PlanError> {
        let beside =
            |path: &str| if path.starts_with('/') { path.to_owned() } else { format!("{directory}{path}") };
        match spec.source() {
            Source::RtApp(path) => {
                let path = beside(path);
                self.of_rt_app(&path, &read(&path)?, Some(spec))
            }
            Source::Recording(path) => self.replayed(&beside(path), Some(spec)),
            Source::Here => {
                let place = Platform::on(self.machine(Some(spec))?, Some(spec), self.profile)?;
                let mut workload = spec.workload(&place.machine)?;
                workload.add_kernel_threads(&place.machine, &place.costs);
                self.add_beside(&mut workload, &place.machine)?;
                Ok(place.plan(workload, Some(spec), self.overrides)?)
            }
        }
    }

    /// The machine that was asked for, or the specification's, or this one.
    pub(super) fn machine(&self, spec: Option<&Spec>) -> Result<Machine, PlanError> {
        let host = || Host::read(Path::new("/"));
        Ok(match (&self.overrides.machine, spec) {
            (Some(name), _) if name != "host" => machine::named(name, &Host::default())?,
            (None, Some(spec)) => spec.machine(&host()?)?,
            _ => machine::named("host", &host()?)?,
        })
    }

    /// Adds the workloads that are to run beside this one.
    pub(super) fn add_beside(&self, workload: &mut Workload, machine: &Machine) -> Result<(), PlanError> {
        for text in &self.overrides.what_if.with {
            let spec = if has_extension(text, "toml") {
                Spec::read(text, &read(text)?)?
            } else {
                Spec::of_name(text)?
            };
            if spec.source() != Source::Here {
                let problem = "it names another file; what runs beside a workload is one by name, or tasks";
                return Err(SimError::input(text, problem).into());
            }
            workload.append_beside(spec.workload(machine)?);
            workload.name = format!("{} with {text}", workload.name);
        }
        Ok(())
    }

    fn of_rt_app(&self, file: &str, text: &str, spec: Option<&Spec>) -> Result<Plan, PlanError> {
        let mut place = Platform::on(self.machine(spec)?, spec, self.profile)?;
        let mut found = rt_app::read(file, text, &place.machine)?;
        place.assumed.extend(found.assumed);
        found.workload.add_kernel_threads(&place.machine, &place.costs);
        self.add_beside(&mut found.workload, &place.machine)?;
        Ok(place.plan(found.workload, spec, self.overrides)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_a_specification_count_from_its_folder() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("a/b")).unwrap();
        for (name, text) in [
            ("a/b/spec.toml", "machine = 2\nrt_app = \"c.json\"\n"),
            ("a/b/c.json", r#"{ "tasks": { "worker": { "instance": 3, "loop": 1, "run": 1000 } } }"#),
        ] {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let beside = format!("{}/a/", directory.path().display());
        let plan =
            |name, directory: &str| Plan::of(Work::Named(name), directory, &Overrides::default(), None);
        let found = plan("b/spec.toml", &beside).unwrap();
        assert_eq!(found.setting.workload.tasks.len(), 3);
        let problem = plan("nosuch.toml", &beside).unwrap_err().to_string();
        assert!(problem.starts_with(&format!("cannot read {beside}nosuch.toml: ")), "{problem}");
        assert!(plan("nosuch", "").unwrap_err().to_string().contains("no workload \"nosuch\""));
    }

    #[test]
    fn a_workload_runs_beside_any_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let thread =
            "[[task]]\nname = \"kworker\"\nprogram = \"forever { compute 100us; sleep 5ms..15ms }\"\n";
        let kernel = path("kernel.toml", thread);
        let plan = |with: &[&str]| {
            let with = with.iter().map(|text| (*text).to_owned()).collect();
            let what_if = crate::what_if::WhatIf { with, ..Default::default() };
            let overrides = Overrides { machine: Some("2".to_owned()), what_if, ..Overrides::default() };
            Plan::of(Work::Named("hackbench:groups=1"), "", &overrides, None)
        };
        let found = plan(&[&kernel, "spin:tasks=3,work_ns=0"]).unwrap().setting.workload;
        assert_eq!((found.tasks.len(), found.tasks.iter().filter(|task| task.background).count()), (44, 4));
        assert!(found.name.starts_with("hackbench with ") && found.name.ends_with("spin:tasks=3,work_ns=0"));
        let recording = path("other.toml", "recording = \"run.swtch\"\n");
        let problem = plan(&[&recording]).unwrap_err().to_string();
        assert!(problem.contains("other.toml: it names another file"), "{problem}");
        assert!(plan(&["nosuch"]).unwrap_err().to_string().contains("no workload \"nosuch\""));
    }

    #[test]
    fn a_profile_that_exists_is_named_and_need_not_be_measured() {
        let why = |own_profile: Option<&str>| {
            let own_profile = own_profile.map(str::to_owned);
            let overrides = Overrides { machine: Some("2".to_owned()), own_profile, ..Overrides::default() };
            let plan = Plan::of(Work::Named("hackbench"), "", &overrides, None).unwrap();
            plan.assumed.into_iter().find(|one| one.what == "costs").unwrap().why
        };
        assert_eq!(why(Some("/p.json")), "no Profile was given; this machine has one: --profile /p.json");
        assert!(why(None).contains("measure one"), "{}", why(None));
    }
}
