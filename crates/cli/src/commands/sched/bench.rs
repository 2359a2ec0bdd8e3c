//! `swtch sched bench`.

use super::compare::metrics;
use super::{ENDS, usage};
use crate::args::sched_bench::BenchArgs;
use crate::commands::own_program::search_path;
use crate::console::Console;
use crate::output::{self, WrongUsage};
use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_decide::{BenchDocument, judge_bench};
use swtch_profile::file;
use swtch_report::html::{NamedBench, render_bench};
use swtch_report::tables::Form;
use swtch_report::terminal;
use swtch_sched::{
    BenchJob, Load, Runs, SchedError, Shard, bench, guests_at_a_time, loads, loads_named, run_boot,
};
use swtch_units::TextTable;

pub(super) fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        output::print(&list());
        return Ok(ExitCode::SUCCESS);
    }
    if args.runs == 0 || args.boots == 0 {
        return Err(WrongUsage("0 runs leave nothing to compare; give 1 or more".to_owned()).into());
    }
    let (program, search_path) = search_path()?;
    let (loads, skipped) = chosen(args).map_err(usage)?;
    if let (Some(seed), Some(policy)) = (args.member_seed, args.policies.first()) {
        let runs = Runs { least: args.runs, most: args.member_most.unwrap_or(args.runs) };
        let boot = run_boot(policy, &loads, runs, seed, args.member_record, &program, &search_path)
            .map_err(usage)?;
        output::print(&serde_json::to_string(&boot)?);
        return Ok(ExitCode::SUCCESS);
    }
    let spec = args.guest.spec(args.cpus, &program)?;
    let folder = folder(args.out.as_deref(), args.resume.as_deref())?;
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    if args.shard.is_some() && folder.is_none() {
        let text = "the results of a shard need a directory: give --out DIR or --resume DIR";
        return Err(WrongUsage(text.to_owned()).into());
    }
    let policies = args.policies.clone();
    let job = BenchJob {
        loads,
        policies,
        boots: args.boots,
        runs: args.runs.into(),
        record: true,
        seed: args.seed,
        at_a_time: args
            .at_a_time
            .map_or_else(|| guests_at_a_time(args.guest.memory_mib()), NonZeroUsize::get),
        folder: folder.clone(),
        shard,
        spec,
        program,
        search_path,
    };
    let mut console = Console::new(super::compare::progress_line(true), &ENDS, super::compare::show)?;
    let benched = bench(&job, &mut console);
    drop(console);
    let benched = benched.map_err(usage)?;
    if let (false, Some(folder)) = (benched.missing.is_empty(), &folder) {
        let (missing, directory) = (benched.missing.join(", "), folder.display());
        output::complain_text(&format!(
            "{directory} does not have {missing} yet; copy the results of the other shards there, then print the table with --resume {directory}"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let document = BenchDocument { skipped, ..judge_bench(&benched) };
    if args.json.asked() {
        output::json(&args.json, &document)?;
    } else {
        output::print(&terminal::bench(&document));
    }
    if let Some(folder) = folder {
        write(&folder, document)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The table in four forms, beside the results.
fn write(folder: &Path, document: BenchDocument) -> anyhow::Result<()> {
    for (name, form) in [("bench.csv", Form::Csv), ("bench.parquet", Form::Parquet)] {
        let mut bytes = Vec::new();
        swtch_report::bench::write(&document, form, &mut bytes)?;
        file::replace(&folder.join(name), |sink| sink.write_all(&bytes))?;
    }
    let json = output::json_text(&document)?;
    file::replace(&folder.join("bench.json"), |sink| sink.write_all(json.as_bytes()))?;
    let page = render_bench(&NamedBench { name: "bench".to_owned(), document })?;
    output::page(&folder.join("bench.html"), &page)
}

/// The loads; and of those that were not named, the ones that this machine has no program for, with the reason.
fn chosen(args: &BenchArgs) -> Result<(Vec<Load>, BTreeMap<String, String>), SchedError> {
    let none = BTreeMap::new();
    if !args.command.is_empty() {
        let patterns = metrics(&args.metric, &args.rate)?;
        return Ok((vec![Load::of_command(&args.command, &patterns)], none));
    }
    if !args.loads.is_empty() {
        return Ok((loads_named(&args.loads)?, none));
    }
    let wanted = || loads().iter().filter(|load| load.quick || !args.quick);
    let missing =
        wanted().filter_map(|load| Some((load.name.clone(), load.missing()?.to_string()))).collect();
    let chosen: Vec<Load> = wanted().filter(|load| load.missing().is_none()).cloned().collect();
    match wanted().find_map(Load::missing) {
        Some(error) if chosen.is_empty() => Err(error),
        _ => Ok((chosen, missing)),
    }
}

/// A new directory, or the one to go on in.
pub(super) fn folder(out: Option<&Path>, resume: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    if let Some(out) = out
        && std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some())
    {
        let out = out.display();
        return Err(WrongUsage(format!(
            "{out} is not empty; go on there with --resume {out}, or give another"
        ))
        .into());
    }
    Ok(out.or(resume).map(Path::to_owned))
}

fn list() -> String {
    let mut table = TextTable::new(["load", "reports", "better", "what it does"]).left([1, 2, 3]);
    for load in loads() {
        for metric in &load.metrics {
            let reports = format!("{}, {}", metric.name, metric.unit);
            table.row([load.name.as_str(), &reports, metric.better.name(), &load.about]);
        }
    }
    table.to_string()
}
