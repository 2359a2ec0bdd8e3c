//! `swtch sched accuracy`.

use super::bench::folder;
use super::{ENDS, usage};
use crate::args::sched_accuracy::AccuracyArgs;
use crate::commands::own_program::search_path;
use crate::console::Console;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use swtch_decide::{
    AccuracyDocument, AccuracyError, GUEST_PROFILE, HostJob, accuracy, accuracy_on_host, simulate_again,
};
use swtch_profile::file;
use swtch_report::terminal;
use swtch_sched::{BenchJob, Load, Runs, Shard, guests_at_a_time, loads, loads_named};

/// A load whose runs differ runs as many times as often: the median of three such runs is off by a third, of
/// fifteen by a fifth.
const MORE_WHERE_THEY_DIFFER: usize = 10;

/// The table, in its directory.
const TABLE: &str = "accuracy.json";

pub(super) fn run(args: &AccuracyArgs) -> anyhow::Result<ExitCode> {
    let document = match &args.real {
        Some(real) => again(real)?,
        None if args.host => on_host(args)?,
        None => measured(args)?,
    };
    if args.json.asked() {
        output::json(&args.json, &document)?;
    } else {
        output::print(&terminal::accuracy(&document));
    }
    Ok(ExitCode::SUCCESS)
}

fn again(directory: &Path) -> anyhow::Result<AccuracyDocument> {
    let path = directory.join(TABLE);
    let text = fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}; swtch sched accuracy --out writes it", path.display()))?;
    let mut document: AccuracyDocument = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a table of swtch sched accuracy", path.display()))?;
    simulate_again(&mut document, &file::read(&directory.join(GUEST_PROFILE))?)?;
    Ok(document)
}

fn on_host(args: &AccuracyArgs) -> anyhow::Result<AccuracyDocument> {
    let (_, search_path) = search_path()?;
    let job = HostJob { loads: asked(args)?, policies: args.policies.clone(), runs: args.runs, search_path };
    let mut console = Console::new(super::compare::progress_line(true), &ENDS, super::compare::show)?;
    accuracy_on_host(&job, &mut console).map_err(in_words)
}

fn asked(args: &AccuracyArgs) -> anyhow::Result<Vec<Load>> {
    if args.runs == 0 {
        return Err(WrongUsage("0 runs leave nothing to compare; give 1 or more".to_owned()).into());
    }
    Ok(if args.loads.is_empty() { loads().to_vec() } else { loads_named(&args.loads).map_err(usage)? })
}

fn in_words(error: AccuracyError) -> anyhow::Error {
    match error {
        AccuracyError::Sched(error) => usage(error),
        error => error.into(),
    }
}

fn measured(args: &AccuracyArgs) -> anyhow::Result<AccuracyDocument> {
    let loads = asked(args)?;
    let (program, search_path) = search_path()?;
    let spec = args.guest.spec(args.cpus, &program)?;
    let folder = folder(args.out.as_deref(), args.resume.as_deref())?;
    let job = BenchJob {
        loads,
        policies: args.policies.clone(),
        // The simulator's seeds stand for runs of one boot.
        boots: 1,
        runs: Runs { least: args.runs, most: args.runs.saturating_mul(MORE_WHERE_THEY_DIFFER) },
        record: false,
        seed: 0,
        at_a_time: guests_at_a_time(args.guest.memory_mib()),
        folder: folder.clone(),
        shard: Shard::WHOLE,
        spec,
        program,
        search_path,
    };
    let mut console = Console::new(super::compare::progress_line(true), &ENDS, super::compare::show)?;
    let found = accuracy(&job, &mut console);
    drop(console);
    let (document, _) = found.map_err(in_words)?;
    if let Some(folder) = folder {
        let json = output::json_text(&document)?;
        file::replace(&folder.join(TABLE), |sink| sink.write_all(json.as_bytes()))?;
    }
    Ok(document)
}
