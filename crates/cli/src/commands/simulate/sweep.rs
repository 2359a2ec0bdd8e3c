//! `swtch simulate --sweep`: many runs at once, one row each.

use crate::args::simulate::SimulateArgs;
use crate::console::{INTERRUPTS, ProgressLine, interrupted_by};
use crate::output::{self, WrongUsage};
use anyhow::Context;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use swtch_sim::sweep::{Request, SweepError, Swept, sweep};

pub(super) fn run(args: &SimulateArgs, file: &Path) -> anyhow::Result<ExitCode> {
    let out = args.out.as_deref().expect("clap requires --out");
    let request = Request {
        file,
        out,
        profile: args.profile.as_deref(),
        part: args.shard.unwrap_or((1, 1)),
        jobs: args.jobs.map(|jobs| jobs as usize),
    };
    let interrupted = interrupted_by(&INTERRUPTS).context("cannot listen for Ctrl-C")?;
    let mut line = ProgressLine::new("{wide_bar} {pos} of {len} runs, {eta} left", None);
    let swept = sweep(&request, &interrupted, &mut |done, all| {
        line.show(|bar| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        });
    });
    drop(line);
    match swept {
        Ok(swept) => report(args, out, &swept),
        Err(SweepError::Wrong(problem)) => Err(WrongUsage(problem).into()),
        Err(error) => Err(error.into()),
    }
}

/// What was done, printed; a failed run fails the command, but not the others.
fn report(args: &SimulateArgs, out: &Path, swept: &Swept) -> anyhow::Result<ExitCode> {
    let Swept { runs, run_now, failures } = swept;
    if args.json.asked() {
        let found = json!({
            "schema": "swtch/simulate-sweep/1", "out": out, "runs": runs, "run_now": run_now, "failed": failures.len()
        });
        output::json(&args.json, &found)?;
    } else {
        let mut text = format!("{runs} runs in {}, {run_now} of them run now", out.display());
        if !failures.is_empty() {
            let _ = write!(text, "; {} failed, see the column error", failures.len());
        }
        output::print(&(text + "\n"));
    }
    match failures.first() {
        None => Ok(ExitCode::SUCCESS),
        Some(first) => {
            output::complain_text(&format!(
                "swtch: {} of {runs} runs failed; the first: {first}",
                failures.len()
            ));
            Ok(ExitCode::FAILURE)
        }
    }
}
