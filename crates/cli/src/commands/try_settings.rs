//! `swtch try`.

use super::compare::{check_outputs, run_plan, runs_console};
use super::own_program::search_path;
use super::sched::ENDS;
use super::sched::compare::{progress_line, show};
use crate::args::try_settings::TryArgs;
use crate::console::Console;
use crate::output::{self, WrongUsage};
use anyhow::{Context, bail};
use std::process::ExitCode;
use swtch_decide::remedies::{Schedulers, TrialPlan, TriedSettings, guard_group, try_settings};
use swtch_decide::runs::Stopped;
use swtch_profile::file;
use swtch_report::html::{NamedTrial, render_trials};
use swtch_report::terminal;
use swtch_sched::{Policy, SchedProgress, run_in_guest, take_along};
use swtch_vm::KeptOutput;

pub(crate) fn run(args: &TryArgs) -> anyhow::Result<ExitCode> {
    if let Some(directory) = &args.guard_group {
        guard_group(directory);
        return Ok(ExitCode::SUCCESS);
    }
    let commands = args.planned()?;
    for (count, what) in [(args.runs, "runs"), (args.most, "settings")] {
        if count == 0 {
            return Err(WrongUsage(format!("0 {what} leave nothing to try; give 1 or more")).into());
        }
    }
    check_outputs(&args.json, args.out.as_deref(), args.how.show_output)?;
    let tried = if args.vm {
        in_vm(args)?
    } else {
        let (program, search_path) = search_path()?;
        let trial = TrialPlan {
            plan: run_plan(&args.how, commands, args.runs)?,
            goal: args.goal,
            wanted: args.wanted(),
            profile: file::prices(args.how.profile.as_deref())?.map(|(_, profile)| profile),
            schedulers: Some(Schedulers { names: args.schedulers.clone(), program, search_path }),
        };
        let mut console = runs_console()?;
        let tried = try_settings(&trial, &mut console)?;
        drop(console);
        let Some(tried) = tried else {
            bail!("it was stopped before every setting had run once; nothing was found");
        };
        tried
    };
    if args.json.asked() {
        output::json(&args.json, &tried)?;
    } else {
        output::print(&terminal::tried(&tried));
    }
    let stopped = tried.stopped();
    if let Some(out) = &args.out {
        let page = render_trials(&[NamedTrial { name: "tried".to_owned(), document: tried }])?;
        output::page(out, &page)?;
    }
    Ok(ExitCode::from(u8::from(stopped == Some(Stopped::Interrupted))))
}

/// The same in a virtual machine, whose kernel has sched_ext.
fn in_vm(args: &TryArgs) -> anyhow::Result<TriedSettings> {
    let (program, search_path) = search_path()?;
    let mut spec = args.guest(program.clone());
    spec.check().map_err(|error| WrongUsage(error.to_string()))?;
    let made = tempfile::tempdir().context("cannot make a directory for schedulers")?;
    for name in &args.schedulers {
        let policy: Policy = name.parse().unwrap_or(Policy::Stock);
        take_along(&mut spec, &policy, &search_path, made.path())?;
    }
    // The command's programs travel by its words; lines need a shell, and settings are made for a moment with a program that does nothing.
    spec.copy.extend(["sh", "true"].into_iter().filter_map(swtch_vm::program_on_path));
    let mut console = Console::new(progress_line(true), &ENDS, show)?;
    let say =
        |doing: &str| SchedProgress::Step { done: 0, of: 1, next: format!("the virtual machine: {doing}") };
    let printed = KeptOutput::new(&mut console, say);
    let (printed, outcome) = run_in_guest(&spec, &program, "the settings", printed)?;
    drop(console);
    let mut tried: TriedSettings =
        serde_json::from_slice(&printed).context("what the virtual machine found cannot be read")?;
    tried.vm = Some(outcome.accelerator.name().to_owned());
    Ok(tried)
}
