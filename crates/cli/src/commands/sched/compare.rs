//! `swtch sched compare`.

use super::{places, watch::Watch};
use crate::args::sched::CompareArgs;
use crate::commands::vm::with_own_program;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::process::ExitCode;
use swtch_sched::{Guest, LiveError, Workload, compare, compare_in_vm, table};

pub(super) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    if args.command.is_empty() {
        let text = "no command given; say what to run: swtch sched compare -- COMMAND";
        return Err(WrongUsage(text.to_owned()).into());
    }
    if args.runs() == 0 {
        return Err(WrongUsage("0 runs leave nothing to compare; give 1 or more".to_owned()).into());
    }
    let (program, places) = places()?;
    let workload = Workload {
        command: with_own_program(&args.command, &program),
        policies: args.policies.clone(),
        runs: args.runs(),
        record: !args.no_record,
        out: args.out.clone(),
        // A guest is another machine: this one's prices are not its own.
        model: if args.vm || args.no_record { None } else { output::prices(None)? },
        program,
        places,
    };
    let mut watch = Watch::with_bar(args.vm).context("cannot listen for Ctrl-C")?;
    let compared = if args.vm {
        let spec = args.guest();
        spec.check().map_err(|error| WrongUsage(error.to_string()))?;
        compare_in_vm(&workload, &Guest { spec }, &mut watch)
    } else {
        compare(&workload, &mut watch)
    };
    watch.clear();
    let compared = compared.map_err(|error| match error {
        LiveError::Wish(text) => WrongUsage(text).into(),
        error => anyhow::Error::from(error),
    })?;
    if args.json.asked() {
        output::json(&args.json, &compared)?;
    } else {
        output::print(&table(&compared));
    }
    Ok(ExitCode::SUCCESS)
}
