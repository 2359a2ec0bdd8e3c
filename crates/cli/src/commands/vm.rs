//! `swtch vm`.

mod versus;
mod watch;

use crate::args::vm::VmArgs;
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use swtch_vm::{Outcome, Spec, VmError};
use watch::Watch;

pub(crate) fn run(args: &VmArgs) -> anyhow::Result<ExitCode> {
    let own = env::current_exe().context("cannot find this program, which the guest needs")?;
    let command = with_own_program(&args.command, &own);
    let specs = args.specs(&command);
    // Told before the first guest boots.
    for spec in &specs {
        spec.check().map_err(|error| WrongUsage(error.to_string()))?;
    }
    let mut watch = Watch::new(args).context("cannot listen for Ctrl-C")?;
    if let [spec] = &specs[..] {
        let ran = swtch_vm::run(spec, &own, &mut watch);
        watch.clear();
        return Ok(finish(spec, ran));
    }
    versus::run(args, specs, &own, &mut watch)
}

/// `swtch` is this program, wherever it lies.
pub(crate) fn with_own_program(command: &[OsString], own: &std::path::Path) -> Vec<OsString> {
    let mut command = command.to_vec();
    if let Some(program) = command.first_mut()
        && program == "swtch"
    {
        *program = PathBuf::from(own).into_os_string();
    }
    command
}

/// Says what went wrong, and passes the command's status on.
fn finish(spec: &Spec, ran: Result<Outcome, VmError>) -> ExitCode {
    match ran {
        Ok(outcome) => {
            tell_of_memory(spec, &outcome);
            if let Some(text) = &outcome.not_returned {
                output::complain_text(&format!("swtch: {text}"));
            }
            ExitCode::from(u8::try_from(outcome.exited.shell_status()).unwrap_or(1))
        }
        Err(error) => {
            let status = error.shell_status();
            output::complain(&error.into());
            ExitCode::from(status.unwrap_or(1))
        }
    }
}

fn tell_of_memory(spec: &Spec, outcome: &Outcome) {
    if let Some(last) = &outcome.out_of_memory {
        let (memory, count) = (spec.memory_mib, outcome.exited.oom_kills);
        let killed = if count == 1 { "a process".to_owned() } else { format!("{count} processes") };
        output::complain_text(&format!(
            "swtch: the guest's {memory} MiB of memory were used up, so its kernel killed {killed}; give it more with --memory{last}"
        ));
    }
}
