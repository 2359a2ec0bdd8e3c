//! One run without a recorder: time and switches.

use super::policy::CHRT;
pub(crate) use super::policy::Prepared;
use crate::error::SchedError;
use crate::process::in_words;
use nix::sys::resource::{UsageWho, getrusage};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use swtch_units::last_lines;

/// How often it is looked whether to stop. Seldom: the looking is a task that wakes up.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Whether a run is to stop.
pub(crate) struct Stop<'a> {
    pub(crate) asked: &'a mut dyn FnMut() -> bool,
    /// How often to look.
    pub(crate) every: Duration,
}

impl<'a> Stop<'a> {
    /// For a run that may be interrupted at any time.
    pub(crate) fn at_any_time(asked: &'a mut dyn FnMut() -> bool) -> Self {
        Self { asked, every: LOOK_EVERY }
    }
}

/// More of a command's output is not kept, of either stream.
const MOST_OUTPUT: u64 = 1 << 20;

/// What one run took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// From its start to its end.
    pub(crate) seconds: f64,
    /// Switches of the command and its descendants, away from them because they waited for something.
    pub(crate) voluntary: u64,
    /// And those where they could have gone on.
    pub(crate) involuntary: u64,
    /// Switches on the whole machine, from and to the idle task among them.
    pub(super) machine: Option<u64>,
    /// What it wrote to standard error.
    #[serde(skip)]
    pub(super) complaints: String,
}

pub(crate) fn run(
    one: &Prepared,
    words: &[OsString],
    stdout: Stdio,
    stop: Stop<'_>,
) -> Result<Counted, SchedError> {
    let before = switches()?;
    let machine_before = machine_switches();
    let began = Instant::now();
    let complaints = under(one, words, stdout, stop)?;
    let seconds = began.elapsed().as_secs_f64();
    let machine = machine_switches().zip(machine_before).map(|(after, before)| after - before);
    let after = switches()?;
    Ok(Counted {
        seconds,
        voluntary: after.0.saturating_sub(before.0),
        involuntary: after.1.saturating_sub(before.1),
        machine,
        complaints,
    })
}

/// Runs words under the policy, to a successful end; returns what they wrote to standard error.
pub(super) fn under(
    one: &Prepared,
    words: &[OsString],
    stdout: Stdio,
    stop: Stop<'_>,
) -> Result<String, SchedError> {
    let prefixed: Vec<OsString> =
        one.prefix.iter().map(OsString::from).chain(words.iter().cloned()).collect();
    finish(one, &prefixed, words, stdout, stop)
}

/// Runs the words; `shown` is what the user knows of them.
pub(super) fn finish(
    one: &Prepared,
    words: &[OsString],
    shown: &[OsString],
    stdout: Stdio,
    stop: Stop<'_>,
) -> Result<String, SchedError> {
    let failed = |how: String| SchedError::Command {
        policy: one.name.clone(),
        command: shown.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default(),
        how,
    };
    let Some((program, arguments)) = words.split_first() else {
        return Err(failed("is not a command".into()));
    };
    let mut complaints = tempfile::tempfile().map_err(SchedError::system("making a file for complaints"))?;
    let errors = complaints.try_clone().map_err(SchedError::system("making a file for complaints"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(errors).process_group(0);
    let mut child = command.spawn().map_err(|error| {
        let missing = program == CHRT && error.kind() == io::ErrorKind::NotFound;
        let advice = if missing { "; fifo and rr need chrt: apt-get install util-linux" } else { "" };
        failed(format!("cannot be started: {error}{advice}"))
    })?;
    let Stop { asked, every } = stop;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (done, heard) = mpsc::channel::<()>();
    // Waiting in the kernel, not looking again and again: what is measured is not disturbed.
    let (status, stopped) = thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let status = child.wait();
            drop(done);
            status
        });
        let mut stopped = false;
        while let Err(RecvTimeoutError::Timeout) =
            heard.recv_timeout(if stopped { LOOK_EVERY } else { every })
        {
            if asked() {
                let signal = if stopped { Signal::KILL } else { Signal::TERM };
                stopped = true;
                let _ = group.map(|group| kill_process_group(group, signal));
            }
        }
        let status = waiting.join().unwrap_or_else(|_| Err(io::Error::other("waiting failed")));
        (status, stopped)
    });
    if stopped || asked() {
        return Err(SchedError::Interrupted);
    }
    let status: ExitStatus = status.map_err(SchedError::system("waiting for the command"))?;
    if status.success() {
        return output_of(&mut complaints);
    }
    let said = last_lines(&mut complaints);
    let advice =
        if said.starts_with(" (chrt: failed") { "; fifo and rr need root or cap_sys_nice" } else { "" };
    Err(failed(format!("{}{said}{advice}", in_words(status))))
}

/// What a command wrote into a file, from its end as much as is kept.
pub(crate) fn output_of(file: &mut File) -> Result<String, SchedError> {
    let reading = || SchedError::system("reading output");
    let length = file.metadata().map_err(reading())?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_OUTPUT))).map_err(reading())?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(reading())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Voluntary and involuntary, of all descendants that have been waited for.
fn switches() -> Result<(u64, u64), SchedError> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_err(|error| SchedError::system("asking for the switches of children")(error.into()))?;
    Ok((usage.voluntary_context_switches() as u64, usage.involuntary_context_switches() as u64))
}

fn machine_switches() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("ctxt ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Policy;
    use crate::find::SearchPath;
    use std::ffi::OsStr;
    use std::path::Path;

    fn stock() -> Prepared {
        Policy::Stock.prepare(&SearchPath::new(Path::new("/"), OsStr::new(""))).unwrap()
    }

    fn words(script: &str) -> Vec<OsString> {
        ["sh", "-c", script].map(OsString::from).to_vec()
    }

    #[test]
    fn a_failure_has_the_commands_last_words() {
        let error = under(
            &stock(),
            &words("echo no such table >&2; exit 3"),
            Stdio::null(),
            Stop::at_any_time(&mut || false),
        )
        .unwrap_err()
        .to_string();
        assert_eq!(error, "under stock, sh ended with status 3 (no such table); there is nothing to compare");
        let absent =
            under(&stock(), &["no-such-program".into()], Stdio::null(), Stop::at_any_time(&mut || false))
                .unwrap_err()
                .to_string();
        assert!(absent.contains("cannot be started"), "{absent}");
    }

    #[test]
    fn a_command_that_goes_on_for_ever_can_be_stopped() {
        let began = Instant::now();
        let error = under(&stock(), &words("sleep 1000"), Stdio::null(), Stop::at_any_time(&mut || true))
            .unwrap_err();
        assert!(matches!(error, SchedError::Interrupted));
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn this_kernel_counts_switches() {
        let before = switches().unwrap();
        under(&stock(), &words("sleep 0.01; sleep 0.01"), Stdio::null(), Stop::at_any_time(&mut || false))
            .unwrap();
        let after = switches().unwrap();
        assert!(after.0 > before.0 && machine_switches().is_some());
    }
}
