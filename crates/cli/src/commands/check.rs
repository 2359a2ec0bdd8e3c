//! `swtch check`.

use crate::args::check::CheckArgs;
use crate::console::{Console, ProgressLine};
use crate::output::{self, WrongUsage};
use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::env;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use swtch_decide::check::{
    BASELINE_FILE, CheckJob, CheckProgress, CheckResult, MemberJob, Status, check, run_members,
};
use swtch_profile::file;
use swtch_report::check::CheckFormat;

/// The exit status of a check with a budget that is broken.
const BROKEN: u8 = 3;
/// Where recordings go without -o.
const TRACES: &str = "swtch-check";
/// The spinner turns this often.
const TICK: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let program = env::current_exe().context("cannot find this program, which the guest needs")?;
    if let Some(members) = args.member_runs {
        let recorded = args.member_recorded.zip(args.member_trace.clone());
        let job = MemberJob { command: args.command.clone(), members, recorded, stacks: args.member_stacks };
        output::print(&(run_members(&job, &program)? + "\n"));
        return Ok(ExitCode::SUCCESS);
    }
    if args.format.len() > 1 && args.out.is_none() {
        let text = "several formats need a directory for their files: -o DIRECTORY";
        return Err(WrongUsage(text.to_owned()).into());
    }
    let job = CheckJob {
        budgets: args.budget.clone(),
        baseline: args.baseline.clone(),
        accept: args.accept,
        traces: args.out.clone().unwrap_or_else(|| TRACES.into()),
        program,
        model: output::prices(None)?,
    };
    let mut line = ProgressLine::at_once("{spinner} {elapsed}  {wide_msg}", None);
    line.show_always(|bar| bar.enable_steady_tick(TICK));
    let show = |line: &mut ProgressLine, progress: &CheckProgress| {
        line.show_always(|bar| bar.set_message(progress.text.clone()));
    };
    let mut console = Console::new(line, &[SIGINT, SIGTERM], show)?;
    let checked = check(&job, &mut console);
    drop(console);
    let (result, baseline) = checked?;
    if args.accept {
        let path = args.budget.with_file_name(BASELINE_FILE);
        file::replace(&path, |sink| sink.write_all(baseline.text().as_bytes()))?;
        let budgets = match result.budgets.len() {
            1 => "1 budget".to_owned(),
            several => format!("{several} budgets"),
        };
        output::complain_text(&format!("swtch: wrote the baseline of {budgets} to {}", path.display()));
    }
    show_result(args, &result)?;
    Ok(if result.status == Status::Broken && !args.accept {
        ExitCode::from(BROKEN)
    } else {
        ExitCode::SUCCESS
    })
}

fn show_result(args: &CheckArgs, result: &CheckResult) -> anyhow::Result<()> {
    if args.json.asked() {
        output::json(&args.json, result)?;
    }
    let Some(folder) = &args.out else {
        if args.json.file().is_some() || !args.json.asked() {
            output::print(&args.format[0].write(result, "").map_err(anyhow::Error::msg)?);
        }
        return Ok(());
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make the directory {}", folder.display()))?;
    for format in &args.format {
        write(*format, result, &folder.join(format.file_name()))?;
    }
    if args.json.file().is_some() || !args.json.asked() {
        output::print(&CheckFormat::Terminal.write(result, "").map_err(anyhow::Error::msg)?);
    }
    Ok(())
}

fn write(format: CheckFormat, result: &CheckResult, path: &Path) -> anyhow::Result<()> {
    let earlier = fs::read_to_string(path).unwrap_or_default();
    let text = format.write(result, &earlier).map_err(anyhow::Error::msg);
    let text = text.with_context(|| format!("cannot add to {}", path.display()))?;
    file::replace(path, |sink| sink.write_all(text.as_bytes()))?;
    Ok(())
}
