//! From the name of what is to run to a plan. Files are read by whoever calls.

use super::{Overrides, Plan, Platform};
use crate::assumption::Assumption;
use crate::error::SimError;
use crate::machine::{self, Machine};
use crate::recorded::Recorded;
use crate::spec::{Source, Spec, rt_app};
use crate::workloads::replay::replay;
use swtch_profile::Profile;
use swtch_topology::Host;
use swtch_trace::SourceKind;
use swtch_trace::tables::{SwitchRow, TaskRow};

/// What is to run.
#[derive(Clone, Copy, Debug)]
pub enum Work<'a> {
    /// As on a command line: `FILE.toml`, `FILE.json` of rt-app, or a workload's name with parameters.
    Named(&'a str),
    /// A specification's text.
    Text(&'a str),
    /// A recording, by its path.
    Recording(&'a str),
}

/// A recording, as far as a replay needs it.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The machine it was made on.
    pub host: Host,
    /// A simulator made it.
    pub simulated: bool,
    /// What recorded it, as its header names it: `bpf-events`, `bpf-counts`, `procfs`.
    pub recorder: String,
    /// Its tasks.
    pub tasks: Vec<TaskRow>,
    /// Its switches.
    pub switches: Vec<SwitchRow>,
    /// Its own figures, to compare replays with.
    pub recorded: Option<Recorded>,
}

/// Reads what a plan needs from outside.
pub trait PlanFiles {
    /// What can go wrong.
    type Error: From<SimError>;

    /// A file's text.
    ///
    /// # Errors
    /// When it cannot be read.
    fn text(&mut self, path: &str) -> Result<String, Self::Error>;

    /// The facts of this machine.
    ///
    /// # Errors
    /// When they cannot be read.
    fn host(&mut self) -> Result<Host, Self::Error>;

    /// A recording.
    ///
    /// # Errors
    /// When it cannot be read.
    fn recording(&mut self, path: &str) -> Result<Recording, Self::Error>;
}

impl Plan {
    /// The plan of `work`. `folder` is where the paths of `work` count from: empty, or with a slash at its end.
    ///
    /// # Errors
    /// When something cannot be read, or what it says cannot be.
    pub fn of<F: PlanFiles>(
        work: Work<'_>,
        folder: &str,
        overrides: &Overrides,
        profile: Option<&Profile>,
        files: &mut F,
    ) -> Result<Self, F::Error> {
        match work {
            Work::Recording(path) => replayed(&format!("{folder}{path}"), None, overrides, profile, files),
            Work::Text(text) => {
                specified(&Spec::read("the specification", text)?, folder, overrides, profile, files)
            }
            Work::Named(name) => {
                let path = format!("{folder}{name}");
                if has_extension(name, "toml") {
                    let spec = Spec::read(&path, &files.text(&path)?)?;
                    specified(&spec, folder_of(&path), overrides, profile, files)
                } else if has_extension(name, "json") {
                    of_rt_app(&path, None, overrides, profile, files)
                } else {
                    specified(&Spec::of_name(name)?, folder, overrides, profile, files)
                }
            }
        }
    }
}

/// Whether a name ends in `.extension`.
pub(crate) fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(before, end)| !before.is_empty() && end == extension)
}

/// The folder a file is in, with its slash.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..=slash])
}

/// What a specification says; paths in it count from `folder`.
fn specified<F: PlanFiles>(
    spec: &Spec,
    folder: &str,
    overrides: &Overrides,
    profile: Option<&Profile>,
    files: &mut F,
) -> Result<Plan, F::Error> {
    let beside = |path: &str| if path.starts_with('/') { path.to_owned() } else { format!("{folder}{path}") };
    match spec.source() {
        Source::RtApp(path) => of_rt_app(&beside(path), Some(spec), overrides, profile, files),
        Source::Recording(path) => replayed(&beside(path), Some(spec), overrides, profile, files),
        Source::Here => {
            let machine = machine_of(Some(spec), overrides, files)?;
            let place = Platform::on(machine, Some(spec), profile)?;
            let workload = spec.workload(&place.machine)?;
            Ok(place.plan(workload, Some(spec), overrides)?)
        }
    }
}

/// The machine that is wished, or the specification's, or this one.
fn machine_of<F: PlanFiles>(
    spec: Option<&Spec>,
    overrides: &Overrides,
    files: &mut F,
) -> Result<Machine, F::Error> {
    match (&overrides.machine, spec) {
        (Some(name), _) if name != "host" => Ok(machine::named(name, &Host::default())?),
        (None, Some(spec)) => Ok(spec.machine(&files.host()?)?),
        _ => Ok(machine::named("host", &files.host()?)?),
    }
}

fn of_rt_app<F: PlanFiles>(
    path: &str,
    spec: Option<&Spec>,
    overrides: &Overrides,
    profile: Option<&Profile>,
    files: &mut F,
) -> Result<Plan, F::Error> {
    let mut place = Platform::on(machine_of(spec, overrides, files)?, spec, profile)?;
    let read = rt_app::read(path, &files.text(path)?, &place.machine)?;
    place.assumed.extend(read.assumed);
    Ok(place.plan(read.workload, spec, overrides)?)
}

fn replayed<F: PlanFiles>(
    path: &str,
    spec: Option<&Spec>,
    overrides: &Overrides,
    profile: Option<&Profile>,
    files: &mut F,
) -> Result<Plan, F::Error> {
    let recording = files.recording(path)?;
    if recording.switches.is_empty() {
        let problem = without_switches(path, &recording.recorder);
        return Err(SimError::parameters("replay", problem).into());
    }
    let machine = match (&overrides.machine, spec.filter(|spec| spec.has_machine())) {
        (Some(name), _) if name != "host" => machine::named(name, &Host::default())?,
        (Some(_), _) => machine::named("host", &files.host()?)?,
        (None, Some(spec)) => spec.machine(&files.host()?)?,
        (None, None) => machine_of_recording(&recording)?,
    };
    let mut place = Platform::on(machine, spec, profile)?;
    let found = replay(&recording.tasks, recording.switches, &place.costs)?;
    place.assumed.extend(found.assumed);
    if place.machine.types.len() > 1 {
        let why =
            "a recording has times, not work: what ran on slower cores is replayed as more work than it was";
        place.assumed.push(Assumption::new("work", "as if recorded on the fastest kind of core", why));
    }
    let plan = place.plan(found.workload, spec, overrides)?;
    Ok(Plan { recorded: recording.recorded, hand_over: Some(found.hand_over), ..plan })
}

/// Why a recording has no table of switches, and how to make one that has.
fn without_switches(path: &str, recorder: &str) -> String {
    let known = SourceKind::from_name(recorder).and_then(|source| source.info().without_switches);
    let (why, remedy) = known.unwrap_or(("it has no table of switches", "record again with --events"));
    format!("{path} cannot be replayed, which takes every switch: {why}; {remedy}")
}

/// The machine of the recording. A simulated one has its name, and with it how its threads share cores.
fn machine_of_recording(recording: &Recording) -> Result<Machine, SimError> {
    let named = recording.host.cpu_model.as_deref().filter(|name| recording.simulated && *name != "host");
    match named.and_then(|name| machine::named(name, &recording.host).ok()) {
        Some(machine) => Ok(machine),
        None => machine::named("host", &recording.host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files that are in memory.
    struct MemoryFiles(&'static [(&'static str, &'static str)]);

    impl PlanFiles for MemoryFiles {
        type Error = SimError;

        fn text(&mut self, path: &str) -> Result<String, SimError> {
            let found = self.0.iter().find(|(name, _)| *name == path);
            let missing = || SimError::Workload { problem: format!("no {path}") };
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(missing)
        }

        fn host(&mut self) -> Result<Host, SimError> {
            Ok(Host::default())
        }

        fn recording(&mut self, path: &str) -> Result<Recording, SimError> {
            let (recorder, _) = path.split_once('.').unwrap_or((path, ""));
            Ok(Recording { recorder: recorder.to_owned(), ..Recording::default() })
        }
    }

    #[test]
    fn paths_in_a_specification_count_from_its_folder() {
        let mut files = MemoryFiles(&[
            ("a/b/spec.toml", "machine = 2\nrt_app = \"c.json\"\n"),
            ("a/b/c.json", r#"{ "tasks": { "worker": { "instance": 3, "loop": 1, "run": 1000 } } }"#),
        ]);
        let mut plan =
            |name, folder| Plan::of(Work::Named(name), folder, &Overrides::default(), None, &mut files);
        let found = plan("b/spec.toml", "a/").unwrap();
        assert_eq!(found.setting.workload.tasks.len(), 3);
        assert_eq!(
            plan("nosuch.toml", "a/").unwrap_err().to_string(),
            "the workload cannot run: no a/nosuch.toml"
        );
        assert!(plan("nosuch", "").unwrap_err().to_string().contains("no workload \"nosuch\""));
    }

    #[test]
    fn a_recording_without_switches_says_why_and_what_to_do() {
        let overrides = Overrides { machine: Some("2".to_owned()), ..Overrides::default() };
        let problem = |path| {
            let found = Plan::of(Work::Recording(path), "", &overrides, None, &mut MemoryFiles(&[]));
            found.unwrap_err().to_string()
        };
        let counts = problem("bpf-counts.swtch");
        assert!(counts.contains("--counts asked") && counts.ends_with("with --events"), "{counts}");
        assert!(!counts.contains("BPF or perf"), "the source is not to blame: {counts}");
        let procfs = problem("procfs.swtch");
        assert!(procfs.contains("source procfs") && procfs.contains("--source bpf"), "{procfs}");
        assert!(problem("ftrace.swtch").contains("table of switches"));
    }

    #[test]
    fn a_profile_that_exists_is_named_and_need_not_be_measured() {
        let why = |own_profile: Option<&str>| {
            let own_profile = own_profile.map(str::to_owned);
            let overrides = Overrides { machine: Some("2".to_owned()), own_profile, ..Overrides::default() };
            let plan =
                Plan::of(Work::Named("hackbench"), "", &overrides, None, &mut MemoryFiles(&[])).unwrap();
            plan.assumed.into_iter().find(|one| one.what == "costs").unwrap().why
        };
        assert_eq!(why(Some("/p.json")), "no Profile was given; this machine has one: --profile /p.json");
        assert!(why(None).contains("measure one"), "{}", why(None));
    }
}
