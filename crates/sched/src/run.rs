//! One scheduler from beginning to end, watched.

use crate::SchedProgress;
use crate::error::SchedError;
use crate::find::Found;
use crate::lock::permit;
use crate::message::SchedulerMessage;
use crate::process::{Scheduler, in_words};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use swtch_sched_ext::{ExitInfo, SchedulerEvent, Status};
use swtch_units::Observer;

const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Asked to end and did not: then it is killed, and the kernel takes over half a second later.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(10);

/// What to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scheduler.
    pub found: Found,
    /// Its options.
    pub arguments: Vec<OsString>,
    /// End it after this time. Of swtch's own schedulers, which do it themselves, this is among the arguments instead.
    pub duration: Option<Duration>,
    /// The program that makes it die with this process, see [`crate::die_with_parent`].
    pub program: PathBuf,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Of its process.
    pub status: ExitStatus,
    /// Its own account, of swtch's own schedulers that had the time to give one.
    pub exit: Option<ExitInfo>,
    /// Whether the end was requested, by the observer or because the time was up.
    pub asked: bool,
    /// Where it gave no account: what happened, with the kernel's words.
    pub words: Option<String>,
}

impl Ended {
    /// 0 when nothing failed and the scheduler exited with 0 or ended on request, 2 for wrong options, else 1.
    pub fn exit_code(&self) -> u8 {
        let failed = self.exit.as_ref().is_some_and(ExitInfo::is_error);
        match self.status.code() {
            Some(0) if !failed => 0,
            Some(2) => 2,
            // Ctrl-C ends many programs by the signal.
            None if self.asked && !failed => 0,
            _ => 1,
        }
    }
}

/// Runs the scheduler until it ends, or until the observer stops it.
///
/// # Errors
/// When this machine does not permit it, or it cannot be started. [`Ended`] reports a later failure.
pub fn run(job: &Job, observer: &mut dyn Observer<SchedProgress>) -> Result<Ended, SchedError> {
    // The advice is a command line, in which a file is named by its path.
    let word = job.found.file.as_deref().map(|file| file.display().to_string());
    let lock = permit(word.as_ref().unwrap_or(&job.found.name), &job.found.name)?;
    let mut scheduler = Scheduler::start(&job.found, &job.arguments, &job.program)?;
    let ended = follow(job, &mut scheduler, observer);
    drop(lock);
    Ok(ended)
}

fn follow(job: &Job, scheduler: &mut Scheduler, observer: &mut dyn Observer<SchedProgress>) -> Ended {
    // Time counts from when it schedules: loading takes a while.
    let mut enabled_at: Option<Instant> = None;
    let mut asked_at: Option<Instant> = None;
    let mut exit = None;
    let mut pass_on = |message: SchedulerMessage, observer: &mut dyn Observer<SchedProgress>| {
        if let SchedulerMessage::Event(SchedulerEvent::Ended { exit: found, .. }, _) = &message {
            exit = Some(found.clone());
        }
        observer.event(&SchedProgress::Message(message));
    };
    let status = loop {
        if let Some(message) = scheduler.next_message(LOOK_EVERY) {
            pass_on(message, observer);
        }
        if job.duration.is_some() && enabled_at.is_none() {
            let is_enabled = Status::read(Path::new("/")).state.as_deref() == Some("enabled");
            enabled_at = is_enabled.then(Instant::now);
        }
        let is_over = job.duration.zip(enabled_at).is_some_and(|(duration, at)| at.elapsed() >= duration);
        if asked_at.is_none() && (is_over || observer.stop()) {
            scheduler.ask_to_end(Signal::INT);
            asked_at = Some(Instant::now());
        }
        if asked_at.is_some_and(|at| at.elapsed() >= FAREWELL_PATIENCE) {
            scheduler.ask_to_end(Signal::KILL);
        }
        if let Some(status) = scheduler.ended() {
            break status;
        }
    };
    for message in scheduler.rest() {
        pass_on(message, observer);
    }
    let words = exit.is_none().then(|| last_words(job, scheduler, status)).flatten();
    Ended { status, exit, asked: asked_at.is_some(), words }
}

/// What there is to say of an end that the scheduler gave no account of.
fn last_words(job: &Job, scheduler: &Scheduler, status: ExitStatus) -> Option<String> {
    scheduler.wait_released();
    let kernel = scheduler.exit_in_words();
    // It never got so far, and has said why.
    if status.code().is_some() && kernel.is_none() {
        return None;
    }
    let kernel = kernel.map_or(String::new(), |words| format!("; the kernel says: {words}"));
    let back = if Status::read(Path::new("/")).is_loaded() {
        "the kernel still has it loaded (see swtch sched status)"
    } else {
        "the kernel's own scheduler is back"
    };
    Some(format!("scx_{} {}{kernel}; {back}", job.found.name, in_words(status)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn ended(raw: i32, asked: bool, kind: Option<&str>) -> u8 {
        let exit = kind.map(|kind| ExitInfo { kind: kind.to_owned(), ..ExitInfo::default() });
        Ended { status: ExitStatus::from_raw(raw), exit, asked, words: None }.exit_code()
    }

    #[test]
    fn the_exit_status_says_whether_it_was_asked_for() {
        assert_eq!(ended(0, true, Some("unreg")), 0);
        assert_eq!(ended(0, false, Some("error_stall")), 1);
        assert_eq!(ended(1 << 8, false, None), 1);
        assert_eq!(ended(2 << 8, false, None), 2);
        assert_eq!(ended(2, true, None), 0, "by the signal that was sent");
        assert_eq!(ended(9, false, None), 1);
    }
}
