//! A scheduler's process: started, read from, asked to end. It dies with this one.

use crate::die_with_parent;
use crate::error::SchedError;
use crate::find::Found;
use crate::kernel_log::KernelLog;
use crate::message::SchedulerMessage;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use swtch_sched_ext::{ExitInfo, SchedulerEvent, Status};

/// Loading and verifying takes seconds under emulation.
const ENABLE_PATIENCE: Duration = Duration::from_secs(60);
/// It returns every task to the kernel's scheduler first.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Limit for reading the output after an end. The rest of it is there at once, and a grandchild may hold the output open for longer.
const LAST_WORDS: Duration = Duration::from_millis(500);
const ROOT: &str = "/";

/// A scheduler that runs. Asked to end, and collected, when dropped.
#[derive(Debug)]
pub struct Scheduler {
    found: Found,
    child: Child,
    lines: Receiver<SchedulerMessage>,
    log: KernelLog,
    /// The last complaints and texts, for the message about a failed end.
    last: Vec<String>,
    exit: Option<ExitInfo>,
}

impl Scheduler {
    /// Starts it through `program`, which implements [`die_with_parent::COMMAND`] and makes it die with this process.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(found: &Found, arguments: &[OsString], program: &Path) -> Result<Self, SchedError> {
        let log = KernelLog::from_now();
        let mut command = Command::new(program);
        command.args(die_with_parent::COMMAND).arg(std::process::id().to_string()).arg("--");
        command.arg(&found.path).args(&found.file).args(arguments);
        if found.own && !arguments.iter().any(|word| word == "--json") {
            command.arg("--json");
        }
        // In a group of its own: a terminal's Ctrl-C reaches it through this process, once.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child =
            command.spawn().map_err(SchedError::system(format!("starting {}", found.path.display())))?;
        let (say, lines) = mpsc::channel();
        let own = found.own;
        if let Some(pipe) = child.stdout.take() {
            let take = move |line: String| {
                if own { SchedulerMessage::parse(&line) } else { SchedulerMessage::Text(line) }
            };
            listen(pipe, say.clone(), take);
        }
        if let Some(pipe) = child.stderr.take() {
            listen(pipe, say, SchedulerMessage::Complaint);
        }
        Ok(Self { found: found.clone(), child, lines, log, last: Vec::new(), exit: None })
    }

    /// Waits until the kernel has enabled it; returns the kernel's name for it.
    ///
    /// # Errors
    /// When it ends before, takes too long, or `stop` says so.
    pub fn wait_enabled(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<String, SchedError> {
        let began = Instant::now();
        loop {
            let status = Status::read(Path::new(ROOT));
            if let (Some("enabled"), Some(ops)) = (status.state.as_deref(), status.ops) {
                return Ok(ops);
            }
            if let Some(status) = self.ended() {
                self.rest();
                return Err(self.failure(&format!("it ended ({status})")));
            }
            if stop() {
                return Err(SchedError::Interrupted);
            }
            if began.elapsed() >= ENABLE_PATIENCE {
                return Err(self.failure(&format!("the kernel did not enable it within {ENABLE_PATIENCE:?}")));
            }
            self.next_message(LOOK_EVERY);
        }
    }

    /// Whether it still schedules.
    ///
    /// # Errors
    /// When it does not, with the kernel's words.
    pub fn check(&mut self) -> Result<(), SchedError> {
        let enabled = Status::read(Path::new(ROOT)).state.as_deref() == Some("enabled");
        let ended = self.ended();
        if enabled && ended.is_none() {
            return Ok(());
        }
        if ended.is_some() {
            self.rest();
        }
        Err(self.failure("the kernel's own scheduler took over while the command ran"))
    }

    /// Its next message, if one comes within this time.
    pub fn next_message(&mut self, patience: Duration) -> Option<SchedulerMessage> {
        match self.lines.recv_timeout(patience) {
            Ok(message) => {
                self.remember(&message);
                Some(message)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // It has closed its outputs: nothing to wait for, but not a reason to spin either.
                thread::sleep(patience.min(LOOK_EVERY));
                None
            }
        }
    }

    /// Its end, if it has come.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end, but not for ever; whether it came.
    fn ends_in_time(&mut self) -> bool {
        let began = Instant::now();
        while self.ended().is_none() {
            if began.elapsed() >= FAREWELL_PATIENCE {
                return false;
            }
            self.next_message(LOOK_EVERY);
        }
        true
    }

    /// Asks it to end.
    pub fn ask_to_end(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It fails only when it is gone.
            let _ = kill_process(pid, signal);
        }
    }

    /// Asks it to end and waits; kills it where that does not help. The kernel takes the tasks back in any case.
    ///
    /// # Errors
    /// When it ended with a failure.
    pub fn stop(mut self) -> Result<(), SchedError> {
        self.ask_to_end(Signal::INT);
        if !self.ends_in_time() {
            self.ask_to_end(Signal::KILL);
            return Err(self.failure(&format!("it did not end within {FAREWELL_PATIENCE:?} and was killed")));
        }
        self.rest();
        self.wait_released();
        if self.exit.as_ref().is_some_and(ExitInfo::is_error) {
            return Err(self.failure("it failed"));
        }
        Ok(())
    }

    /// Waits until the kernel has taken every task back.
    pub fn wait_released(&self) {
        let began = Instant::now();
        while Status::read(Path::new(ROOT)).is_loaded() && began.elapsed() < FAREWELL_PATIENCE {
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The kernel's account of the end: what the scheduler handed on, else the kernel's log.
    pub fn exit_in_words(&self) -> Option<String> {
        self.exit.as_ref().map(ExitInfo::in_words).or_else(|| self.log.last_line())
    }

    /// Its last messages, until both its outputs are closed.
    pub(crate) fn rest(&mut self) -> Vec<SchedulerMessage> {
        let began = Instant::now();
        let mut rest = Vec::new();
        while let Ok(message) = self.lines.recv_timeout(LAST_WORDS.saturating_sub(began.elapsed())) {
            self.remember(&message);
            rest.push(message);
        }
        rest
    }

    fn remember(&mut self, message: &SchedulerMessage) {
        match message {
            SchedulerMessage::Event(SchedulerEvent::Ended { exit, .. }, _) => self.exit = Some(exit.clone()),
            SchedulerMessage::Text(line) | SchedulerMessage::Complaint(line) => {
                self.last.push(line.trim().to_owned());
            }
            _ => {}
        }
    }

    fn failure(&self, what: &str) -> SchedError {
        const LINES: usize = 3;
        let mut why = what.to_owned();
        if let Some(words) = self.exit_in_words() {
            why.push_str(&format!("; the kernel says: {words}"));
        }
        let first = self.last.len().saturating_sub(LINES);
        for line in &self.last[first..] {
            why.push_str(&format!("; {line}"));
        }
        SchedError::scheduler(&self.found.name, why)
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if self.ended().is_some() {
            return;
        }
        self.ask_to_end(Signal::TERM);
        if self.ends_in_time() {
            self.wait_released();
        } else {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// How a process ended, for people.
pub(crate) fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

fn listen(
    pipe: impl Read + Send + 'static,
    say: Sender<SchedulerMessage>,
    take: impl Fn(String) -> SchedulerMessage + Send + 'static,
) {
    thread::spawn(move || {
        let mut lines = BufReader::new(pipe);
        let mut line = Vec::new();
        // Bytes that are not UTF-8 become replacement characters.
        while lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            let text = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
            if say.send(take(text)).is_err() {
                return;
            }
            line.clear();
        }
    });
}
