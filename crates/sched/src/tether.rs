//! Ties a program to the process that starts it: when that one ends, however it does, the program is asked to end too.
//!
//! The kernel does it (`PR_SET_PDEATHSIG`), but a process can ask it only for itself. So a scheduler is started through this program:
//! `swtch sched tether PID -- PROGRAM ARGUMENTS` asks for it, and becomes the program.

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The hidden command's words, which stand between this program and the one to be tied.
pub const COMMAND: [&str; 2] = ["sched", "tether"];

/// Becomes the program, tied to its parent, which must be `parent`. Returns only with the reason why it did not.
pub fn become_tied(parent: u32, program: &[OsString]) -> io::Error {
    let Some((program, arguments)) = program.split_first() else {
        return io::Error::other("no program given");
    };
    // Asked to end, not killed: a scheduler gives tasks their policies back.
    if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
        return error.into();
    }
    // It may have ended before the kernel was asked.
    if getppid().map(Pid::as_raw_nonzero).is_none_or(|pid| pid.get() as u32 != parent) {
        return io::Error::other("its parent is gone");
    }
    Command::new(program).args(arguments).exec()
}
