//! From the command line to what is to be run.

use super::recorded::Recorded;
use super::refused;
use crate::args::simulate::SimulateArgs;
use crate::output::WrongUsage;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_profile::Profile;
use swtch_sim::Assumption;
use swtch_sim::machine::{self, Machine};
use swtch_sim::plan::{self, Place, Plan, Wishes};
use swtch_sim::spec::{Source, Spec, rt_app};
use swtch_sim::workloads::replay::replay;
use swtch_topology::Host;
use swtch_trace::Trace;
use swtch_trace::model::Origin;

/// What is to be run, and the recording it is set beside.
pub(super) struct Input {
    pub(super) plan: Plan,
    pub(super) recorded: Option<Recorded>,
}

/// What runs, before machine and costs are known.
enum Work {
    Spec(Box<Spec>),
    /// A file of rt-app, and the specification that names it.
    RtApp(PathBuf, Option<Box<Spec>>),
    /// A Trace, and the specification that names it.
    Recording(PathBuf, Option<Box<Spec>>),
}

pub(super) fn read(args: &SimulateArgs) -> anyhow::Result<Input> {
    let wishes = wishes(args);
    let profile = profile(args.profile.as_deref())?;
    let spec = args.spec.as_deref().unwrap_or_default();
    let work = match (spec, &args.trace) {
        ("replay", Some(trace)) => {
            without_parameters(args, "a replay")?;
            Work::Recording(trace.clone(), None)
        }
        ("replay", None) => return Err(wrong("replay needs a Trace: swtch simulate replay NAME.swtch")),
        (_, Some(trace)) => {
            let trace = trace.display();
            return Err(wrong(&format!("{trace} stands beside {spec}; only replay takes a second argument")));
        }
        (_, None) => work(spec, args)?,
    };
    plan_of(work, &wishes, profile.as_ref())
}

fn wrong(problem: &str) -> anyhow::Error {
    WrongUsage(problem.to_owned()).into()
}

fn wishes(args: &SimulateArgs) -> Wishes {
    let ns = |time: Option<Duration>| time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    Wishes {
        machine: args.machine.clone(),
        policies: args.policy.as_deref().map(plan::policies).unwrap_or_default(),
        seed: args.seed,
        duration_ns: ns(args.duration),
        limit_ns: ns(args.limit),
        every_tick: args.every_tick,
    }
}

/// The Profile that was given.
///
/// # Errors
/// When it cannot be read.
pub(super) fn profile(path: Option<&Path>) -> anyhow::Result<Option<Profile>> {
    Ok(path.map(swtch_profile::file::read).transpose()?)
}

/// Parameters belong to workloads by name; nothing is silently left out.
fn without_parameters(args: &SimulateArgs, what: &str) -> anyhow::Result<()> {
    args.parameters.with(what).map(drop).map_err(|problem| wrong(&problem))
}

fn work(spec: &str, args: &SimulateArgs) -> anyhow::Result<Work> {
    let extension = Path::new(spec).extension().and_then(|extension| extension.to_str());
    match extension {
        Some("toml" | "json") => without_parameters(args, spec)?,
        Some("swtch") => {
            return Err(wrong(&format!(
                "{spec} is a Trace; to run its work again: swtch simulate replay {spec}"
            )));
        }
        _ => {}
    }
    work_of(spec, Path::new(""), || args.parameters.with(spec).map_err(|problem| wrong(&problem)))
}

/// What a text means: a file of a specification or of rt-app, else a workload's name, to which `named` adds parameters. Paths in
/// specifications count from the folder they are in.
fn work_of(
    spec: &str,
    folder: &Path,
    named: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<Work> {
    let path = folder.join(spec);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => {
            let name = path.display().to_string();
            let spec = Spec::read(&name, &file_text(&path)?).map_err(refused)?;
            let beside = |other: &str| path.parent().unwrap_or(Path::new("")).join(other);
            Ok(match spec.source() {
                Source::RtApp(other) => Work::RtApp(beside(other), Some(Box::new(spec))),
                Source::Recording(other) => Work::Recording(beside(other), Some(Box::new(spec))),
                _ => Work::Spec(Box::new(spec)),
            })
        }
        Some("json") => Ok(Work::RtApp(path, None)),
        _ => Ok(Work::Spec(Box::new(Spec::of_name(&named()?).map_err(refused)?))),
    }
}

fn file_text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A plan of one of a sweep's workloads.
///
/// # Errors
/// When it cannot be read, or cannot be.
pub(super) fn plan_of_text(
    text: &str,
    folder: &Path,
    wishes: &Wishes,
    profile: Option<&Profile>,
) -> anyhow::Result<Plan> {
    let work = work_of(text, folder, || Ok(text.to_owned()))?;
    Ok(plan_of(work, wishes, profile)?.plan)
}

fn plan_of(work: Work, wishes: &Wishes, profile: Option<&Profile>) -> anyhow::Result<Input> {
    match work {
        Work::Spec(spec) => {
            let place = Place::of(&spec, wishes, profile, &needed_host(wishes, spec.has_machine())?)
                .map_err(refused)?;
            let workload = spec.workload(&place.machine).map_err(refused)?;
            let plan = place.plan(workload, Some(&spec), wishes).map_err(refused)?;
            Ok(Input { plan, recorded: None })
        }
        Work::RtApp(path, spec) => {
            let machine = match spec.as_ref().filter(|spec| spec.has_machine() && wishes.machine.is_none()) {
                Some(spec) => spec.machine(&needed_host(wishes, true)?),
                None => {
                    machine::named(wishes.machine.as_deref().unwrap_or("host"), &needed_host(wishes, false)?)
                }
            };
            let mut place =
                Place::on(machine.map_err(refused)?, spec.as_deref(), profile).map_err(refused)?;
            let name = path.display().to_string();
            let read = rt_app::read(&name, &file_text(&path)?, &place.machine).map_err(refused)?;
            place.assumed.extend(read.assumed);
            let plan = place.plan(read.workload, spec.as_deref(), wishes).map_err(refused)?;
            Ok(Input { plan, recorded: None })
        }
        Work::Recording(path, spec) => replayed(&path, spec.as_deref(), wishes, profile),
    }
}

/// The facts of this machine, where they are asked for.
fn needed_host(wishes: &Wishes, has_machine: bool) -> anyhow::Result<Host> {
    let named = wishes.machine.as_deref();
    // A specification may name the host too; its facts are read in a moment.
    if named.is_some_and(|name| name != "host") && !has_machine {
        return Ok(Host::default());
    }
    Ok(Host::read(Path::new("/"))?)
}

fn replayed(
    path: &Path,
    spec: Option<&Spec>,
    wishes: &Wishes,
    profile: Option<&Profile>,
) -> anyhow::Result<Input> {
    let trace = Trace::open(path)?;
    let machine = match (&wishes.machine, spec.filter(|spec| spec.has_machine())) {
        (Some(name), _) => machine::named(name, &trace.header.host),
        (None, Some(spec)) => spec.machine(&trace.header.host),
        (None, None) => of_recording(&trace),
    };
    let mut place = Place::on(machine.map_err(refused)?, spec, profile).map_err(refused)?;
    let mut recorded = Recorded::of(&trace);
    let mut failure = None;
    let rows = trace.switches().map_while(|row| row.map_err(|error| failure = Some(error)).ok());
    let found = replay(&trace.tasks, rows.inspect(|row| recorded.see(row)), &place.costs);
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    let found = found.with_context(|| format!("cannot replay {}", path.display()))?;
    place.assumed.extend(found.assumed);
    if place.machine.types.len() > 1 {
        place.assumed.push(Assumption {
            what: "work".to_owned(),
            value: "as if recorded on the fastest kind of core".to_owned(),
            why: "a recording has times, not work: what ran on slower cores is replayed as more work than it was".to_owned(),
        });
    }
    let plan = place.plan(found.workload, spec, wishes).map_err(refused)?;
    Ok(Input { plan, recorded: Some(recorded) })
}

/// The machine of the recording. A simulated one has its name, and with it how its threads share cores.
fn of_recording(trace: &Trace) -> Result<Machine, swtch_sim::SimError> {
    let host = &trace.header.host;
    let simulated = trace.header.provenance.origin == Origin::Simulated;
    let by_name = host.cpu_model.as_deref().filter(|name| simulated && *name != "host");
    match by_name.and_then(|name| machine::named(name, host).ok()) {
        Some(machine) => Ok(machine),
        None => machine::named("host", host),
    }
}
