//! Makes a program die with the process that starts it.
//!
//! The kernel does it (`PR_SET_PDEATHSIG`), but a process can ask it only for itself. So a scheduler is started through this program:
//! `swtch sched die-with-parent PID -- PROGRAM ARGUMENTS` asks for the signal and becomes the program.

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The hidden command's words, before the parent's number and the program.
pub const COMMAND: [&str; 2] = ["sched", "die-with-parent"];

/// Becomes `program`, which the kernel ends when its parent, the process `parent`, ends. Returns only if that failed, with the reason.
pub fn exec(parent: u32, program: &[OsString]) -> io::Error {
    let Some((program, arguments)) = program.split_first() else {
        return io::Error::other("no program given");
    };
    // SIGTERM, not SIGKILL: a scheduler gives tasks their policies back.
    if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
        return error.into();
    }
    // The parent may have ended before the signal was set.
    if getppid().map(Pid::as_raw_nonzero).is_none_or(|pid| pid.get() as u32 != parent) {
        return io::Error::other("its parent is gone");
    }
    Command::new(program).args(arguments).exec()
}
