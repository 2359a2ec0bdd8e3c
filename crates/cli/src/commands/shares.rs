//! `swtch shares`.

use crate::args::shares::SharesArgs;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use serde::Deserialize;
use std::path::Path;
use std::process::ExitCode;
use swtch_fairness::{CoreTypes, Cores, FairnessError, Policy, Solution};
use swtch_report::shares::{self, Asked, TypedAsked};

/// Default number of first intervals of guaranteed fairness.
const INTERVALS: usize = 20;

pub(crate) fn run(args: &SharesArgs) -> anyhow::Result<ExitCode> {
    // The command line asked for shares that are not possible.
    let wrong = |error: FairnessError| WrongUsage(error.to_string());
    let policy = args.chosen().map_err(wrong)?;
    if let Some(file) = &args.types {
        return typed(args, file, policy);
    }
    let (fast, slow) = (args.fast.unwrap_or(0), args.slow.unwrap_or(0));
    let intervals = args.intervals.unwrap_or(INTERVALS);
    let cores = Cores::new(fast, slow).map_err(wrong)?;
    let demands = args.demands(args.speedups.len()).map_err(wrong)?;
    let (speedups, demands) = (&args.speedups[..], demands.as_deref());
    let solution =
        Solution::with_demands(cores, speedups, demands, &policy, args.ddof, intervals).map_err(wrong)?;
    let asked = Asked { policy: policy.name(), fast, slow, speedups, demands };
    if args.json.asked() {
        output::json(&args.json, &shares::json(&asked, &solution))?;
    } else {
        output::print(&shares::text(&asked, &solution));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file of `--types`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kinds {
    types: Vec<Kind>,
    speeds: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    name: String,
    cores: u32,
}

fn typed(args: &SharesArgs, file: &Path, policy: Policy) -> anyhow::Result<ExitCode> {
    let wrong = |error: FairnessError| WrongUsage(error.to_string());
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let kinds: Kinds = serde_json::from_str(&text).with_context(|| {
        format!(
            "{name} is not a machine: expected {{\"types\": [{{\"name\", \"cores\"}}], \"speeds\": [[...]]}}"
        )
    })?;
    let counts = kinds.types.iter().map(|kind| kind.cores).collect();
    let demands = args.demands(kinds.speeds.len()).map_err(wrong)?;
    let mut machine =
        CoreTypes::new(counts, kinds.speeds).with_context(|| format!("{name} cannot be shared"))?;
    if let Some(demands) = &demands {
        machine = machine.with_demands(demands.clone()).map_err(wrong)?;
    }
    let found = machine.allocate(&policy).map_err(wrong)?;
    let names: Vec<String> = kinds.types.into_iter().map(|kind| kind.name).collect();
    let min_fairness = match policy {
        Policy::MinFair { min_fairness } => Some(min_fairness),
        _ => None,
    };
    let (policy, demands) = (policy.name(), demands.as_deref());
    let asked = TypedAsked { policy, min_fairness, names: &names, demands, ddof: args.ddof };
    if args.json.asked() {
        output::json(&args.json, &shares::typed_json(&asked, &found))?;
    } else {
        output::print(&shares::typed_text(&asked, &found));
    }
    Ok(ExitCode::SUCCESS)
}
