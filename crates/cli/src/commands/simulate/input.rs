//! From the command line to what is to be run.

use super::refused;
use crate::args::simulate::SimulateArgs;
use crate::output::WrongUsage;
use anyhow::Context;
use std::path::Path;
use std::time::Duration;
use swtch_profile::{Profile, file};
use swtch_sim::WhatIf;
use swtch_sim::plan::{self, Overrides, Plan, PlanError, Work};
use swtch_sim::workloads;

/// What is to be run.
pub(super) fn read(args: &SimulateArgs) -> anyhow::Result<Plan> {
    let overrides = overrides(args);
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
            return Err(wrong(&format!(
                "unexpected argument {trace} after {spec}; only replay takes a second argument"
            )));
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
    Plan::of(work, "", &overrides, profile.as_ref()).map_err(told)
}

fn wrong(problem: &str) -> anyhow::Error {
    WrongUsage(problem.to_owned()).into()
}

/// What the simulator refuses was asked for wrongly; what could not be read is a failure.
fn told(error: PlanError) -> anyhow::Error {
    match error {
        PlanError::Sim(error) => refused(error),
        other => other.into(),
    }
}

fn overrides(args: &SimulateArgs) -> Overrides {
    let ns = |time: Option<Duration>| time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    Overrides {
        machine: args.machine.clone(),
        policies: args.policies.as_deref().map(plan::policies).unwrap_or_default(),
        seed: args.seed,
        duration_ns: ns(args.duration),
        limit_ns: ns(args.limit),
        every_tick: args.every_tick,
        own_profile: file::own_path().filter(|path| path.exists()).map(|path| path.display().to_string()),
        jitter: args.jitter,
        seeds: args.seeds,
        only_policies: false,
        what_if: WhatIf { set: args.set.clone(), with: args.with.clone(), without: args.without.clone() },
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
    workloads::with_parameters(what, &args.parameters.0).map_err(|problem| wrong(&problem))
}
