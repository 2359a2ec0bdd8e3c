//! `swtch compare`.

use crate::args::compare::{CompareArgs, RunArgs};
use crate::console::{Console, INTERRUPTS, ProgressLine};
use crate::output::{self, JsonArgs, WrongUsage};
use anyhow::bail;
use std::path::Path;
use std::process::ExitCode;
use swtch_decide::compare::compare;
use swtch_decide::runs::{PlannedCommand, RunPlan, RunProgress, Stopped, run_all};
use swtch_profile::file;
use swtch_report::html::{NamedComparison, render_comparisons};
use swtch_report::terminal;

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let (commands, parameters) = args.planned()?;
    if args.runs == 0 {
        return Err(WrongUsage("0 runs leave nothing to compare; give 1 or more".to_owned()).into());
    }
    check_outputs(&args.json, args.out.as_deref(), args.how.show_output)?;
    let plan = run_plan(&args.how, commands, args.runs)?;
    let mut console = runs_console()?;
    let found = run_all(&plan, &mut console)?;
    drop(console);
    let Some(compared) = compare(&plan, &parameters, &found) else {
        bail!("{} before every command had run once; nothing can be compared", stopped(found.stopped));
    };
    if args.json.asked() {
        output::json(&args.json, &compared)?;
    } else {
        output::print(&terminal::compared(&compared));
    }
    if let Some(out) = &args.out {
        let page =
            render_comparisons(&[NamedComparison { name: "compared".to_owned(), document: compared }])?;
        output::page(out, &page)?;
    }
    Ok(ExitCode::from(u8::from(found.stopped == Some(Stopped::Interrupted))))
}

/// What ended it, as the subject of a sentence.
pub(crate) fn stopped(how: Option<Stopped>) -> &'static str {
    if how == Some(Stopped::TimeLimit) { "the time limit came" } else { "interrupted" }
}

/// A file that cannot be written should not cost the runs, and a document is not to be mixed with what the commands print.
pub(crate) fn check_outputs(json: &JsonArgs, out: Option<&Path>, show_output: bool) -> anyhow::Result<()> {
    let on_standard_output = json.asked() && json.file().is_none_or(output::is_standard_output);
    if show_output && on_standard_output {
        let problem = "--json would go to standard output, where the commands print too; write --json=FILE";
        return Err(WrongUsage(problem.to_owned()).into());
    }
    for path in json.file().into_iter().chain(out) {
        file::check_writable(path)?;
    }
    Ok(())
}

/// The plan of these runs, with the prices of this machine.
pub(crate) fn run_plan(how: &RunArgs, commands: Vec<PlannedCommand>, runs: usize) -> anyhow::Result<RunPlan> {
    Ok(RunPlan {
        commands,
        runs,
        warmup: how.warmup,
        seed: how.seed,
        timeout: how.timeout,
        time_limit: how.time_limit,
        ignore_failure: how.ignore_failure,
        show_output: how.show_output,
        model: output::prices(how.profile.as_deref())?,
    })
}

/// Shows how many runs are done, and which command runs. Drawn once a run: more would disturb it.
pub(crate) fn runs_console() -> anyhow::Result<Console<impl FnMut(&mut ProgressLine, &RunProgress)>> {
    let line = ProgressLine::new("{bar:20} {pos} of {len} runs, {eta} left  {wide_msg}", Some(0));
    let show = |line: &mut ProgressLine, progress: &RunProgress| {
        line.show(|bar| {
            bar.set_length(progress.of as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(progress.command.clone());
        });
    };
    Console::new(line, &INTERRUPTS, show)
}
