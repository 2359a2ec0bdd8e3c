//! `swtch simulate`.

mod input;
mod sweep;

use crate::args::simulate::SimulateArgs;
use crate::console::{Console, INTERRUPTS, ProgressLine};
use crate::output::{self, WrongUsage};
use std::process::ExitCode;
use swtch_sim::{Progress, SimError, SimulateError, simulate};

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.sweep {
        return sweep::run(args, file);
    }
    let plan = input::read(args)?;
    let until_ns = plan.setting.workload.duration_ns;
    let template = match until_ns {
        Some(_) => "{bar:30} {percent:>3} %  {wide_msg}",
        None => "{spinner} {wide_msg}",
    };
    let show = |line: &mut ProgressLine, progress: &Progress| {
        line.show(|bar| {
            let Progress { policy, now_ns, events } = progress;
            bar.set_position(*now_ns);
            bar.set_message(format!("{policy}: {:.3} s simulated, {events} events", *now_ns as f64 / 1e9));
        });
    };
    let mut console = Console::new(ProgressLine::new(template, until_ns), &INTERRUPTS, show)?;
    let (document, traces) = simulate(&plan, args.out.as_deref(), &mut console).map_err(told)?;
    drop(console);
    if args.json.asked() {
        let mut json = serde_json::to_value(&document)?;
        json["traces"] = serde_json::to_value(&traces)?;
        output::json(&args.json, &json)?;
    } else {
        output::print(&document.text(args.hooks));
        for trace in traces {
            output::print(&format!("Trace: {}\n", trace.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn told(error: SimulateError) -> anyhow::Error {
    match error {
        SimulateError::Run { policy, source } => refused(source).context(format!("under {policy}")),
        other => other.into(),
    }
}

/// What was asked for cannot be, or the run failed.
fn refused(error: SimError) -> anyhow::Error {
    match error {
        SimError::Stopped { .. } => anyhow::anyhow!("interrupted: {error}"),
        error if error.is_of_the_run() => error.into(),
        error => WrongUsage(error.to_string()).into(),
    }
}
