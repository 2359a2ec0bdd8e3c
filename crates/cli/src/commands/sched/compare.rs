//! `swtch sched compare`.

use super::{ENDS, usage};
use crate::args::sched::CompareArgs;
use crate::commands::guest_cpus::give_cpus;
use crate::commands::own_program::{search_path_for, with_own_program};
use crate::console::{Console, ProgressLine};
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::slice;
use std::time::Duration;
use swtch_decide::compare_policies;
use swtch_report::terminal;
use swtch_sched::{
    Better, Comparison, ComparisonJob, Guest, Metric, SchedError, SchedProgress, compare, compare_in_vm,
};

/// The spinner turns this often while guests run; nothing is drawn while a command is measured on this machine.
const TICK: Duration = Duration::from_millis(500);

pub(super) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    if args.command.is_empty() {
        let text = "no command given; say what to run: swtch sched compare -- COMMAND";
        return Err(WrongUsage(text.to_owned()).into());
    }
    if args.runs() == 0 {
        return Err(WrongUsage("0 runs leave nothing to compare; give 1 or more".to_owned()).into());
    }
    let (program, search_path) = search_path_for(args.arch)?;
    let job = ComparisonJob {
        command: with_own_program(&args.command, &program),
        policies: args.policies.clone(),
        runs: args.runs(),
        record: !args.no_record,
        metrics: metrics(&args.metric, &args.rate).map_err(usage)?,
        out: args.out.clone(),
        // A guest is another machine: this one's prices are not its own.
        model: if args.vm || args.no_record { None } else { output::prices(None)? },
        program,
        search_path,
    };
    let mut console = Console::new(progress_line(args.vm), &ENDS, show)?;
    let compared = if args.vm {
        let mut spec = args.guest();
        give_cpus(slice::from_mut(&mut spec), args.machine.as_deref())?;
        spec.check().map_err(|error| WrongUsage(error.to_string()))?;
        compare_in_vm(&job, &Guest { spec }, &mut console)
    } else {
        compare(&job, &mut console)
    };
    drop(console);
    if let (Some(out), Ok(compared)) = (&args.out, &compared) {
        keep_output(compared, out)?;
    }
    let compared = compare_policies(compared.map_err(|error| match error {
        SchedError::Wish(text) => WrongUsage(text).into(),
        error => anyhow::Error::from(error),
    })?);
    if args.json.asked() {
        output::json(&args.json, &compared)?;
    } else {
        output::print(&terminal::policies(&compared));
    }
    Ok(ExitCode::SUCCESS)
}

/// Figures of which less is better, and of which more is.
pub(super) fn metrics(metric: &[String], rate: &[String]) -> Result<Vec<Metric>, SchedError> {
    let patterns = metric.iter().map(|pattern| (pattern, Better::Smaller));
    let patterns = patterns.chain(rate.iter().map(|pattern| (pattern, Better::Larger)));
    patterns.map(|(pattern, better)| Metric::by_pattern(pattern, better)).collect()
}

/// What the last run of each policy printed.
fn keep_output(compared: &Comparison, out: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make the directory {}", out.display()))?;
    for run in &compared.runs {
        let place = out.join(format!("{}.txt", run.policy.replace([' ', '/'], "_")));
        fs::write(&place, &run.output).with_context(|| format!("cannot write {}", place.display()))?;
    }
    Ok(())
}

/// The line of a comparison's steps; it moves only where that disturbs nothing that is measured.
pub(in crate::commands) fn progress_line(moves: bool) -> ProgressLine {
    let mut line = ProgressLine::at_once("{spinner} {bar:20} {pos} of {len}  {elapsed}  {wide_msg}", Some(0));
    if moves {
        line.show_always(|bar| bar.enable_steady_tick(TICK));
    }
    line
}

pub(in crate::commands) fn show(line: &mut ProgressLine, progress: &SchedProgress) {
    if let SchedProgress::Step { done, of, next } = progress {
        line.show_always(|bar| {
            bar.set_length(*of as u64);
            bar.set_position(*done as u64);
            bar.set_message(next.clone());
        });
    }
}
