//! The command that is recorded: started, awaited, its end passed on.

use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::CommandStart;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getppid, kill_process, kill_process_group, pidfd_open,
    set_parent_process_death_signal, waitid,
};
use rustix::time::Timespec;
use std::cell::Cell;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The environment variable that names the file of a program's spans (docs/workload-contract.md).
const SPANS_VARIABLE: &str = "SWTCH_SPANS";

/// How a command ended, and what the kernel counted for it and for those of its descendants that were waited for (`wait4`, getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandEnd {
    /// Its status as a shell gives it, 128 plus the number for a signal.
    pub status: i32,
    /// From just before its start to its end, ns.
    pub elapsed_ns: u64,
    /// Its CPU time, ns.
    pub cpu_ns: u64,
    /// Switches it asked for.
    pub voluntary: u64,
    /// Switches it did not ask for.
    pub involuntary: u64,
}

/// A running command. Dropped before its end, it runs on.
#[derive(Debug)]
pub struct ChildCommand {
    child: Child,
    handle: OwnedFd,
    own_group: bool,
    started_ns: u64,
    /// When its end was first seen.
    ended_ns: Cell<Option<u64>>,
    was_signalled: Cell<bool>,
}

impl ChildCommand {
    /// Starts it. Its spans go to the file `spans`, unless its environment names another one.
    ///
    /// # Errors
    /// When there is no command, or it cannot be started.
    pub fn start(
        command: &[OsString],
        spans: Option<&Path>,
        start: &CommandStart,
    ) -> Result<Self, RecordError> {
        let (program, arguments) = command.split_first().ok_or(RecordError::NoCommand)?;
        let fail = |source| RecordError::Start { command: program.to_string_lossy().into_owned(), source };
        let mut starting = Command::new(program);
        starting.args(arguments);
        if let Some(spans) = spans.filter(|_| std::env::var_os(SPANS_VARIABLE).is_none()) {
            starting.env(SPANS_VARIABLE, spans);
        }
        starting.envs(start.environment.iter().map(|(name, value)| (name, value)));
        if let Some(errors) = &start.quiet {
            let errors = errors.try_clone().map_err(fail)?;
            starting.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        }
        if start.own_group {
            // Without anything of ours between fork and exec, the standard library copies no page tables (posix_spawn).
            starting.process_group(0);
        }
        if let Some(directory) = &start.cgroup {
            let members =
                OpenOptions::new().write(true).open(directory.join("cgroup.procs")).map_err(fail)?;
            // SAFETY: between fork and exec there is one system call. 0 is the process that writes (cgroups(7)).
            unsafe {
                starting.pre_exec(move || rustix::io::write(&members, b"0").map(|_| ()).map_err(Into::into));
            }
        }
        if let Some(scheduling) = &start.scheduling {
            let prepared = scheduling.prepare();
            // SAFETY: between fork and exec there are two system calls, and nothing is allocated.
            unsafe {
                starting.pre_exec(move || prepared.apply());
            }
        }
        if start.dies_with_parent {
            let parent = std::process::id();
            // SAFETY: there is nothing but two system calls between fork and exec.
            unsafe {
                starting.pre_exec(move || {
                    set_parent_process_death_signal(Some(Signal::KILL))?;
                    // A parent that ended before that sends no signal.
                    let is_there = getppid().is_some_and(|now| now.as_raw_nonzero().get() as u32 == parent);
                    if is_there { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
                });
            }
        }
        let started_ns = monotonic_ns();
        let child = starting.spawn().map_err(fail)?;
        let handle =
            pidfd_open(pid_of(child.id()), PidfdFlags::empty()).map_err(|error| fail(error.into()))?;
        let (ended_ns, was_signalled) = (Cell::new(None), Cell::new(false));
        Ok(Self { child, handle, own_group: start.own_group, started_ns, ended_ns, was_signalled })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, at most so long; whether it ended. It is not collected yet, so `/proc` still has it.
    pub fn ends_within(&self, time: Duration) -> bool {
        let mut handles = [PollFd::new(&self.handle, PollFlags::IN)];
        let timeout = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        match poll(&mut handles, Some(&timeout)) {
            // A signal came; its handler is asked next.
            Err(_) | Ok(0) => false,
            Ok(_) => {
                let now_ns = monotonic_ns();
                let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
                let ended = matches!(waitid(WaitId::Pid(pid_of(self.pid())), look), Ok(Some(_)));
                if ended && self.ended_ns.get().is_none() {
                    self.ended_ns.set(Some(now_ns));
                }
                ended
            }
        }
    }

    /// Passes a signal on to it, or to its process group.
    pub fn signal(&self, number: i32) {
        // A number that is none, or a process that has ended, needs no signal.
        if let Some(signal) = Signal::from_named_raw(number) {
            self.was_signalled.set(true);
            let _ = if self.own_group {
                kill_process_group(pid_of(self.pid()), signal)
            } else {
                kill_process(pid_of(self.pid()), signal)
            };
        }
    }

    /// Waits for it and collects it. If its group got a signal, the rest of the group is ended too.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn collect(self) -> io::Result<CommandEnd> {
        while !self.ends_within(Duration::from_secs(3600)) {}
        if self.own_group && self.was_signalled.get() {
            // Before it is collected: until then no other group can have its number.
            let _ = kill_process_group(pid_of(self.pid()), Signal::KILL);
        }
        let mut status = 0;
        // SAFETY: all zeros are a value of it, and both are places of the right size to write to.
        let (found, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(self.pid() as i32, &raw mut status, 0, &raw mut usage), usage)
        };
        if found < 0 {
            return Err(io::Error::last_os_error());
        }
        let ns = |time: libc::timeval| (time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64) * 1000;
        Ok(CommandEnd {
            status: shell_status(ExitStatus::from_raw(status)),
            elapsed_ns: self.ended_ns.get().unwrap_or_else(monotonic_ns).saturating_sub(self.started_ns),
            cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
        })
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
    use crate::scheduling::Scheduling;

    fn start(script: &str) -> ChildCommand {
        start_as(script, &CommandStart::default())
    }

    fn start_as(script: &str, start: &CommandStart) -> ChildCommand {
        ChildCommand::start(&["sh".into(), "-c".into(), script.into()], None, start).unwrap()
    }

    #[test]
    fn ends_are_passed_on_as_a_shell_does() {
        for (script, status) in [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)] {
            let workload = start(script);
            while !workload.ends_within(Duration::from_secs(5)) {}
            assert_eq!(workload.collect().unwrap().status, status, "{script}");
        }
        let start = |words: &[OsString]| ChildCommand::start(words, None, &CommandStart::default());
        let missing = start(&["/no/such/program".into()]).unwrap_err();
        assert_eq!(missing.shell_status(), Some(127));
        assert_eq!(start(&["/".into()]).unwrap_err().shell_status(), Some(126));
        assert!(matches!(start(&[]), Err(RecordError::NoCommand)));
    }

    #[test]
    fn a_signal_is_passed_on() {
        let workload = start("exec sleep 1000");
        assert!(!workload.ends_within(Duration::from_millis(20)));
        workload.signal(15);
        while !workload.ends_within(Duration::from_secs(5)) {}
        assert_eq!(workload.collect().unwrap().status, 128 + 15);
    }

    #[test]
    fn what_a_command_took_is_known_at_its_end() {
        let end = start("sleep 0.02; i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done").collect().unwrap();
        assert!(end.elapsed_ns >= 20_000_000 && end.cpu_ns > 0, "{end:?}");
        // The shell waits for sleep, and sleep sleeps.
        assert!(end.voluntary >= 2, "{end:?}");
    }

    #[test]
    fn settings_are_those_of_the_command_alone() {
        let cpu = rustix::thread::sched_getaffinity(None).unwrap();
        let cpu = (0..1024).find(|at| cpu.is_set(*at)).unwrap() as u32;
        let scheduling = Scheduling {
            cpus: Some(vec![cpu]),
            policy: Some((swtch_trace::tables::SchedPolicy::Batch, 0)),
            slice_ns: None,
        };
        let before = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let start = CommandStart { scheduling: Some(scheduling), ..CommandStart::default() };
        // Field 41 of its stat is the policy, counted from behind the name.
        let script = format!(
            "grep -q 'Cpus_allowed_list:.{cpu}$' /proc/self/status && read -r line < /proc/self/stat && \
             set -- ${{line##*)}} && [ ${{39}} = 3 ]"
        );
        assert_eq!(start_as(&script, &start).collect().unwrap().status, 0);
        let policy =
            |stat: &str| stat.rsplit(')').next().unwrap().split_whitespace().nth(38).unwrap().to_owned();
        let after = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        assert_eq!(policy(&before), policy(&after));
        let nowhere = Scheduling { cpus: Some(vec![1023]), ..Scheduling::default() };
        let start = CommandStart { scheduling: Some(nowhere), ..CommandStart::default() };
        let refused = ChildCommand::start(&["true".into()], None, &start);
        assert!(matches!(refused, Err(RecordError::Start { .. })), "{refused:?}");
    }

    #[test]
    fn a_group_is_quiet_and_ends_as_a_whole() {
        let mut errors = tempfile::tempfile().unwrap();
        let quiet = Some(std::sync::Arc::new(errors.try_clone().unwrap()));
        let environment = vec![("GREETING".into(), "hello".into())];
        let options = CommandStart { quiet, own_group: true, environment, ..CommandStart::default() };
        let workload =
            start_as("trap : TERM; sleep 1000 & echo $GREETING $! >&2; wait; cat; exit 3", &options);
        let said = |errors: &mut std::fs::File| {
            let mut text = String::new();
            io::Seek::rewind(errors).and_then(|()| io::Read::read_to_string(errors, &mut text)).unwrap();
            text
        };
        let mut text = String::new();
        while !text.ends_with('\n') {
            std::thread::sleep(Duration::from_millis(5));
            text = said(&mut errors);
        }
        workload.signal(15);
        assert_eq!(workload.collect().unwrap().status, 3);
        let sleeper: u32 = text.trim().strip_prefix("hello ").unwrap().parse().unwrap();
        // It may still be a zombie.
        let state = || std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
        let is_gone = || state().is_empty() || state().contains(") Z ") || state().contains(") X ");
        while !is_gone() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
