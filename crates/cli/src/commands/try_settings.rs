//! `swtch try`.

use super::compare::{check_outputs, run_plan, runs_console};
use crate::args::try_settings::TryArgs;
use crate::output::{self, WrongUsage};
use anyhow::bail;
use std::process::ExitCode;
use swtch_decide::remedies::{TrialPlan, try_settings};
use swtch_decide::runs::Stopped;
use swtch_profile::file;
use swtch_report::html::{NamedTrial, render_trials};
use swtch_report::terminal;

pub(crate) fn run(args: &TryArgs) -> anyhow::Result<ExitCode> {
    let commands = args.planned()?;
    for (count, what) in [(args.runs, "runs"), (args.most, "settings")] {
        if count == 0 {
            return Err(WrongUsage(format!("0 {what} leave nothing to try; give 1 or more")).into());
        }
    }
    check_outputs(&args.json, args.out.as_deref(), args.how.show_output)?;
    let trial = TrialPlan {
        plan: run_plan(&args.how, commands, args.runs)?,
        goal: args.goal,
        wanted: args.wanted(),
        profile: file::prices(args.how.profile.as_deref())?.map(|(_, profile)| profile),
    };
    let mut console = runs_console()?;
    let tried = try_settings(&trial, &mut console)?;
    drop(console);
    let Some(tried) = tried else {
        bail!("it was stopped before every setting had run once; nothing was found");
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
