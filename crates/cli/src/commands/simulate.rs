//! `swtch simulate`.

mod input;
mod sweep;
mod table;
mod watch;

use crate::args::simulate::SimulateArgs;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::path::PathBuf;
use std::process::ExitCode;
use swtch_sim::summary::SimulationDocument;
use swtch_sim::{SimError, SimulateError, simulate};
use watch::Watch;

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.sweep {
        return sweep::run(args, file);
    }
    let plan = input::read(args)?;
    let mut watch = Watch::new(plan.setting.workload.duration_ns).context("cannot listen for Ctrl-C")?;
    let (document, traces) = simulate(&plan, args.out.as_deref(), &mut watch).map_err(told)?;
    drop(watch);
    if args.json.asked() {
        let mut json = serde_json::to_value(&document)?;
        json["traces"] = serde_json::to_value(&traces)?;
        output::json(&args.json, &json)?;
    } else {
        output::print(&text(args, &document, &traces));
    }
    Ok(ExitCode::SUCCESS)
}

fn told(error: SimulateError) -> anyhow::Error {
    match error {
        SimulateError::Run { policy, source } => refused(source).context(format!("under {policy}")),
        other => other.into(),
    }
}

/// What was asked for cannot be, or the run failed.
fn refused(error: SimError) -> anyhow::Error {
    match error {
        SimError::Stopped { .. } => anyhow::anyhow!("interrupted: {error}"),
        error if error.is_of_the_run() => error.into(),
        error => WrongUsage(error.to_string()).into(),
    }
}

fn text(args: &SimulateArgs, document: &SimulationDocument, traces: &[PathBuf]) -> String {
    let mut text = table::runs(document);
    if args.hooks {
        text.push_str(&table::hooks(document));
    }
    text.push_str(&table::assumptions(document));
    for trace in traces {
        text.push_str(&format!("Trace: {}\n", trace.display()));
    }
    text
}
