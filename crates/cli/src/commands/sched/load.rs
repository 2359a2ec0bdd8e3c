//! `swtch sched load`.

use crate::args::sched_load::LoadCommand;
use crate::output;
use anyhow::Context;
use std::fs;
use std::process::ExitCode;
use swtch_sched::programs::{Frames, RtApp, Schbench};

pub(super) fn run(command: &LoadCommand) -> anyhow::Result<ExitCode> {
    let printed = match command {
        LoadCommand::Schbench(args) => Schbench {
            message_threads: args.message_threads,
            workers: args.workers,
            requests: args.requests,
            work_us: args.work,
        }
        .run(),
        LoadCommand::Frames(args) => {
            Frames { count: args.count, period_us: args.period, work_us: args.work }.run()
        }
        LoadCommand::RtApp(args) => {
            let path = args.file.display();
            let text = fs::read_to_string(&args.file)
                .with_context(|| format!("cannot read {path}; give a workload of rt-app"))?;
            RtApp::parse(&text).with_context(|| path.to_string())?.run()
        }
    };
    output::print(&printed);
    Ok(ExitCode::SUCCESS)
}
