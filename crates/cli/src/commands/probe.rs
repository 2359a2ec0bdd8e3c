//! `swtch probe`.

use crate::args::probe::ProbeArgs;
use crate::console::{Console, INTERRUPTS, ProgressLine};
use crate::output;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use swtch_decide::probe::{ProbeEnded, ProbePlan, ProbeProgress, keep, probe};
use swtch_profile::file;
use swtch_report::terminal;

/// Steps of the progress bar.
const STEPS: u64 = 1000;

pub(crate) fn run(args: &ProbeArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = args.json.file() {
        file::check_writable(path)?;
    }
    let now_s = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let plan = ProbePlan {
        command: args.command.clone(),
        cpu: args.cpu,
        sizes_bytes: args.sizes.clone(),
        progress: args.progress,
        time_limit: args.time_limit,
        seed: args.seed.unwrap_or_else(now_s),
        model: output::prices(None)?,
    };
    let line =
        ProgressLine::at_once("{bar:30} {percent:>3} %  at most {prefix} left  {wide_msg}", Some(STEPS));
    let mut console =
        Console::new(line, &INTERRUPTS, |line: &mut ProgressLine, progress: &ProbeProgress| {
            line.show(|bar| {
                bar.set_prefix(format!("{} s", progress.at_most.as_secs()));
                bar.set_message(format!("{} rounds", progress.rounds));
                bar.set_position((progress.fraction * STEPS as f64) as u64);
            });
        })?;
    let found = probe(&plan, &mut console)?;
    drop(console);
    let interrupted = found.ended == ProbeEnded::Interrupted;
    if args.json.asked() {
        output::json(&args.json, &found)?;
    } else {
        output::print(&terminal::probe(&found));
    }
    if !interrupted && let Some(path) = keep(&found)? {
        output::complain_text(&format!("Probe: {}", path.display()));
    }
    Ok(if interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
