//! `swtch sched bench`.

use super::{ENDS, search_path};
use crate::args::sched_bench::BenchArgs;
use crate::console::Console;
use crate::output::{self, WrongUsage};
use std::path::PathBuf;
use std::process::ExitCode;
use swtch_decide::judge_bench;
use swtch_report::terminal;
use swtch_sched::{BenchJob, Better, Load, SchedError, bench, loads, loads_named, run_column};
use swtch_units::TextTable;
use swtch_vm::Spec;

pub(super) fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        output::print(&list());
        return Ok(ExitCode::SUCCESS);
    }
    if args.runs == 0 {
        return Err(WrongUsage("0 runs leave nothing to compare; give 1 or more".to_owned()).into());
    }
    let (program, search_path) = search_path()?;
    let loads = chosen(args).map_err(usage)?;
    if let (Some(seed), Some(policy)) = (args.member_seed, args.schedulers.first()) {
        let column = run_column(policy, &loads, args.runs, seed, &program, &search_path).map_err(usage)?;
        output::print(&serde_json::to_string(&column)?);
        return Ok(ExitCode::SUCCESS);
    }
    let spec = Spec {
        cpus: args.cpus,
        memory_mib: args.memory >> 20,
        kernel: args.kernel.clone(),
        ..Spec::new(vec![program.clone().into()])
    };
    spec.check().map_err(|error| WrongUsage(error.to_string()))?;
    let folder = folder(args)?;
    let policies = args.schedulers.clone();
    let job = BenchJob { loads, policies, runs: args.runs, folder, spec, program, search_path };
    let mut console = Console::new(super::compare::progress_line(true), &ENDS, super::compare::show)?;
    let benched = bench(&job, &mut console);
    drop(console);
    let document = judge_bench(&benched.map_err(usage)?);
    if args.json.asked() {
        output::json(&args.json, &document)?;
    } else {
        output::print(&terminal::bench(&document));
    }
    Ok(ExitCode::SUCCESS)
}

fn usage(error: SchedError) -> anyhow::Error {
    match error {
        error @ (SchedError::Wish(_) | SchedError::NoLoad { .. }) => WrongUsage(error.to_string()).into(),
        error => error.into(),
    }
}

fn chosen(args: &BenchArgs) -> Result<Vec<Load>, SchedError> {
    if args.loads.is_empty() {
        return Ok(loads().iter().filter(|load| load.quick || !args.quick).cloned().collect());
    }
    loads_named(&args.loads)
}

/// A new directory, or the one to go on in.
fn folder(args: &BenchArgs) -> anyhow::Result<Option<PathBuf>> {
    if let Some(out) = &args.out
        && std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some())
    {
        let out = out.display();
        return Err(WrongUsage(format!(
            "{out} is not empty; go on there with --resume {out}, or give another"
        ))
        .into());
    }
    Ok(args.out.clone().or_else(|| args.resume.clone()))
}

fn list() -> String {
    let mut table = TextTable::new(["load", "reports", "better", "what it does"]).left([1, 2, 3]);
    for load in loads() {
        for metric in &load.metrics {
            let better = match metric.better {
                Better::Smaller => "smaller",
                Better::Larger => "larger",
            };
            let reports = format!("{}, {}", metric.name, metric.unit);
            table.row([load.name.as_str(), &reports, better, &load.about]);
        }
    }
    table.to_string()
}
