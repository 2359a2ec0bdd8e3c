//! `swtch`: what a context switch costs, on this machine, in this workload, in money.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod console;
mod output;

use args::{Cli, Command};
use std::process::ExitCode;
use swtch_vm::guest;

fn main() -> ExitCode {
    // In a virtual machine this program is what the kernel starts first.
    if guest::is_first_process() {
        return guest::run().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let cli = match args::groups::parse::<Cli>() {
        Ok(cli) => cli,
        Err(error) => return args::report(&error),
    };
    let done = match cli.command {
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Measure(args) => commands::measure::run(&args),
        Command::Record(args) => commands::record::run(&args),
        Command::Top(args) => commands::top::run(&args),
        Command::Why(args) => commands::why::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Diff(args) => commands::diff::run(&args),
        Command::Try(args) => commands::try_settings::run(&args),
        Command::Probe(args) => commands::probe::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Dump(args) => commands::dump::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Import(args) => commands::import::run(&args),
        Command::Simulate(args) => commands::simulate::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Shares(args) => commands::shares::run(&args),
        Command::Sched(args) => commands::sched::run(&args),
        Command::Vm(args) => commands::vm::run(&args),
        Command::Schema(args) => commands::schema::run(&args),
        Command::Completions(args) => commands::completions::completions(&args),
        Command::Man(args) => commands::completions::man(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Book(args) => commands::book::run(&args),
        Command::External(words) => commands::external::run(&words),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.downcast_ref::<output::WrongUsage>().map_or(1, |_| 2))
        }
    }
}
