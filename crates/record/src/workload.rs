//! The command that is recorded: started, awaited, its end passed on.

use crate::error::RecordError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid};
use rustix::time::Timespec;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// The environment variable that names the file of a program's spans (docs/workload-contract.md).
const SPANS_VARIABLE: &str = "SWTCH_SPANS";

/// A running command. Dropped before its end, it runs on.
#[derive(Debug)]
pub(crate) struct ChildCommand {
    child: Child,
    handle: OwnedFd,
}

impl ChildCommand {
    /// Starts it with our input and output. Its spans go to the file `spans`, unless its environment names another one.
    pub(crate) fn start(command: &[OsString], spans: Option<&Path>) -> Result<Self, RecordError> {
        let (program, arguments) = command.split_first().ok_or(RecordError::NoCommand)?;
        let fail = |source| RecordError::Start { command: program.to_string_lossy().into_owned(), source };
        let mut starting = Command::new(program);
        starting.args(arguments);
        if let Some(spans) = spans.filter(|_| std::env::var_os(SPANS_VARIABLE).is_none()) {
            starting.env(SPANS_VARIABLE, spans);
        }
        let child = starting.spawn().map_err(fail)?;
        let handle =
            pidfd_open(pid_of(child.id()), PidfdFlags::empty()).map_err(|error| fail(error.into()))?;
        Ok(Self { child, handle })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, at most so long; whether it ended. It is not collected yet, so `/proc` still has it.
    pub(crate) fn ends_within(&self, time: Duration) -> bool {
        let mut handles = [PollFd::new(&self.handle, PollFlags::IN)];
        let timeout = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        match poll(&mut handles, Some(&timeout)) {
            // A signal came; its handler is asked next.
            Err(_) | Ok(0) => false,
            Ok(_) => {
                let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
                matches!(waitid(WaitId::Pid(pid_of(self.pid())), look), Ok(Some(_)))
            }
        }
    }

    /// Passes a signal on to it.
    pub(crate) fn signal(&self, number: i32) {
        // A number that is none, or a process that has ended, needs no signal.
        if let Some(signal) = Signal::from_named_raw(number) {
            let _ = kill_process(pid_of(self.pid()), signal);
        }
    }

    /// Collects it: its status as a shell gives it, 128 plus the number for a signal.
    pub(crate) fn collect(mut self) -> io::Result<i32> {
        self.child.wait().map(shell_status)
    }
}

fn pid_of(pid: u32) -> Pid {
    // The number of a child of ours is never zero.
    Pid::from_raw(pid as i32).unwrap_or(Pid::INIT)
}

/// A status as a shell gives it.
pub(crate) fn shell_status(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> ChildCommand {
        ChildCommand::start(&["sh".into(), "-c".into(), script.into()], None).unwrap()
    }

    #[test]
    fn ends_are_passed_on_as_a_shell_does() {
        for (script, status) in [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)] {
            let workload = start(script);
            while !workload.ends_within(Duration::from_secs(5)) {}
            assert_eq!(workload.collect().unwrap(), status, "{script}");
        }
        let missing = ChildCommand::start(&["/no/such/program".into()], None).unwrap_err();
        assert_eq!(missing.shell_status(), Some(127));
        assert_eq!(ChildCommand::start(&["/".into()], None).unwrap_err().shell_status(), Some(126));
        assert!(matches!(ChildCommand::start(&[], None), Err(RecordError::NoCommand)));
    }

    #[test]
    fn a_signal_is_passed_on() {
        let workload = start("exec sleep 1000");
        assert!(!workload.ends_within(Duration::from_millis(20)));
        workload.signal(15);
        while !workload.ends_within(Duration::from_secs(5)) {}
        assert_eq!(workload.collect().unwrap(), 128 + 15);
    }
}
