//! From the command line to what is to be run.

use super::refused;
use crate::args::simulate::SimulateArgs;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::path::Path;
use std::time::Duration;
use swtch_profile::Profile;
use swtch_sim::SimError;
use swtch_sim::plan::{self, Files, Plan, Recording, Wishes, Work};
use swtch_sim::recorded::Recorded;
use swtch_topology::Host;
use swtch_trace::Trace;
use swtch_trace::model::Origin;
use swtch_trace::tables::SwitchRow;

/// What is to be run.
pub(super) fn read(args: &SimulateArgs) -> anyhow::Result<Plan> {
    let wishes = wishes(args);
    let profile = profile(args.profile.as_deref())?;
    let spec = args.spec.as_deref().unwrap_or_default();
    let trace = args.trace.as_ref().map(|trace| trace.display().to_string());
    let named;
    let work = match (spec, &trace) {
        ("replay", Some(trace)) => {
            with_parameters(args, "a replay")?;
            Work::Recording(trace)
        }
        ("replay", None) => return Err(wrong("replay needs a Trace: swtch simulate replay NAME.swtch")),
        (_, Some(trace)) => {
            return Err(wrong(&format!("{trace} stands beside {spec}; only replay takes a second argument")));
        }
        ("-", None) => {
            with_parameters(args, "a specification")?;
            named = std::io::read_to_string(std::io::stdin()).context("cannot read standard input")?;
            Work::Text(&named)
        }
        (_, None) if Path::new(spec).extension().is_some_and(|extension| extension == "swtch") => {
            let problem = format!("{spec} is a Trace; to run its work again: swtch simulate replay {spec}");
            return Err(wrong(&problem));
        }
        (_, None) => {
            named = with_parameters(args, spec)?;
            Work::Named(&named)
        }
    };
    Plan::of(work, "", &wishes, profile.as_ref(), &mut Disk).map_err(told)
}

fn wrong(problem: &str) -> anyhow::Error {
    WrongUsage(problem.to_owned()).into()
}

/// What the simulator refuses was asked for wrongly; what could not be read is a failure.
fn told(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<SimError>() {
        Ok(error) => refused(error),
        Err(other) => other,
    }
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
        own_profile: output::own_profile()
            .filter(|path| path.exists())
            .map(|path| path.display().to_string()),
        jitter: args.jitter,
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
fn with_parameters(args: &SimulateArgs, what: &str) -> anyhow::Result<String> {
    args.parameters.with(what).map_err(|problem| wrong(&problem))
}

/// A plan of one of a sweep's workloads.
///
/// # Errors
/// When it cannot be read, or cannot be.
pub(super) fn plan_of_text(
    text: &str,
    folder: &str,
    wishes: &Wishes,
    profile: Option<&Profile>,
) -> anyhow::Result<Plan> {
    Plan::of(Work::Named(text), folder, wishes, profile, &mut Disk).map_err(told)
}

/// Reads files.
struct Disk;

impl Files for Disk {
    type Error = anyhow::Error;

    fn text(&mut self, path: &str) -> anyhow::Result<String> {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
    }

    fn host(&mut self) -> anyhow::Result<Host> {
        Ok(Host::read(Path::new("/"))?)
    }

    fn recording(&mut self, path: &str) -> anyhow::Result<Recording> {
        let trace = Trace::open(Path::new(path))?;
        let switches = trace.switches().collect::<Result<Vec<SwitchRow>, _>>()?;
        let recorded = Some(Recorded::of(&trace));
        let simulated = trace.header.provenance.origin == Origin::Simulated;
        let recorder = trace.header.provenance.recorder.clone();
        Ok(Recording { host: trace.header.host, simulated, recorder, tasks: trace.tasks, switches, recorded })
    }
}
