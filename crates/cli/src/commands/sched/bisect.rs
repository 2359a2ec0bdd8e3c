//! `swtch sched bisect`.

use super::compare::{metrics, progress_line, show};
use super::{ENDS, usage};
use crate::args::sched_bisect::BisectArgs;
use crate::commands::own_program::{search_path, with_own_program};
use crate::console::Console;
use crate::output::{self, WrongUsage};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use swtch_sched::{
    BenchJob, BisectJob, Load, RepositoryVersions, SchedError, Shard, Versions, bisect, guests_at_a_time,
    loads, steps_table,
};

pub(super) fn run(args: &BisectArgs) -> anyhow::Result<ExitCode> {
    if args.runs == 0 || args.boots == 0 {
        return Err(WrongUsage("0 runs leave nothing to compare; give 1 or more".to_owned()).into());
    }
    let (program, search_path) = search_path()?;
    let spec = args.guest.spec(args.cpus, &program)?;
    let bench = BenchJob {
        loads: vec![load(args, &program).map_err(usage)?],
        policies: Vec::new(),
        boots: args.boots,
        runs: args.runs.into(),
        record: false,
        seed: 0,
        at_a_time: args
            .at_a_time
            .map_or_else(|| guests_at_a_time(args.guest.memory_mib()), NonZeroUsize::get),
        folder: args.out.clone(),
        shard: Shard::WHOLE,
        spec,
        program,
        search_path,
    };
    let job = BisectJob { versions: versions(args), bench };
    let mut console = Console::new(progress_line(true), &ENDS, show)?;
    let found = bisect(&job, &mut console);
    drop(console);
    let found = found.map_err(usage)?;
    if args.json.asked() {
        output::json(&args.json, &found)?;
    } else {
        output::print(&steps_table(&found));
    }
    Ok(ExitCode::SUCCESS)
}

fn versions(args: &BisectArgs) -> Versions {
    match (&args.repo, &args.good, &args.bad, &args.program) {
        (Some(folder), Some(good), Some(bad), Some(program)) => Versions::Repository(RepositoryVersions {
            folder: folder.clone(),
            good: good.clone(),
            bad: bad.clone(),
            build: args.build.clone(),
            program: program.clone(),
        }),
        _ => Versions::Named(args.versions.clone()),
    }
}

/// A load by its name, or a command.
fn load(args: &BisectArgs, program: &Path) -> Result<Load, SchedError> {
    let patterns = metrics(args.metric.as_slice(), args.rate.as_slice())?;
    if let [name] = args.load.as_slice()
        && patterns.is_empty()
        && let Some(load) = loads().iter().find(|load| *name == *load.name)
    {
        return Ok(load.clone());
    }
    Ok(Load::of_command(&with_own_program(&args.load, program), &patterns))
}
