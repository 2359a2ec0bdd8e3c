//! Several workers on this machine, each a process of its own: a run that kills its worker kills nothing else.

use crate::claims::{self, Claims};
use crate::error::Error;
use crate::heartbeat::HUNG;
use crate::owner::Owner;
use crate::state::Opened;
use crate::worker::Worked;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The command ends when this many workers in a row die before they claim anything.
const STARTS: u32 = 3;
const LOOK_EVERY: Duration = Duration::from_millis(25);
const SHOW_EVERY: Duration = Duration::from_millis(500);
/// Rust's exit status after a panic.
const PANICKED: i32 = 101;

/// What all workers did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supervised {
    /// What they made.
    pub worked: Worked,
    /// How many of them died.
    pub deaths: u64,
}

/// Runs `jobs` workers until nothing is left, or `stop` is set. A worker is `program` with what `arguments` gives for its place; it ends when
/// its standard input does, and prints a [`Worked`] as JSON. One that dies is started again. `progress`: called with the number of runs that
/// are done.
///
/// # Errors
/// When a worker fails in another way than by dying, with its message.
pub fn supervise(
    opened: &Opened,
    jobs: usize,
    (program, arguments): (&Path, &(dyn Fn(usize) -> Vec<OsString> + Sync)),
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<Supervised, Error> {
    let ended = AtomicBool::new(false);
    let slots: Vec<Slot<'_>> = (0..jobs)
        .map(|place| Slot {
            opened,
            program,
            arguments: arguments(place),
            ended: &ended,
            stdin: Mutex::default(),
        })
        .collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = slots.iter().map(|slot| scope.spawn(|| slot.run())).collect();
        let mut shown = Instant::now();
        while threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(LOOK_EVERY);
            if stop.load(Ordering::Relaxed) {
                ended.store(true, Ordering::Relaxed);
            }
            if ended.load(Ordering::Relaxed) {
                for slot in &slots {
                    slot.end();
                }
            }
            if shown.elapsed() > SHOW_EVERY {
                shown = Instant::now();
                if let Ok(state) = opened.state() {
                    progress(state.done.len());
                }
            }
        }
        let mut all = Supervised::default();
        for thread in threads {
            let one = thread
                .join()
                .unwrap_or_else(|_| Err(Error::Worker("a supervising thread panicked".to_owned())))?;
            all.worked += one.worked;
            all.deaths += one.deaths;
        }
        Ok(all)
    })
}

/// Where one worker after the other runs.
struct Slot<'a> {
    opened: &'a Opened,
    program: &'a Path,
    arguments: Vec<OsString>,
    /// Every worker is to end.
    ended: &'a AtomicBool,
    /// What the worker reads until it is to end.
    stdin: Mutex<Option<ChildStdin>>,
}

impl Slot<'_> {
    fn end(&self) {
        *self.stdin.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn run(&self) -> Result<Supervised, Error> {
        let run = self.run_until_done();
        if run.is_err() {
            self.ended.store(true, Ordering::Relaxed);
        }
        run
    }

    fn run_until_done(&self) -> Result<Supervised, Error> {
        let mut all = Supervised::default();
        let mut starts = 0;
        while !self.ended.load(Ordering::Relaxed) {
            let mut child = self.start()?;
            let pid = child.id();
            let follow = |error| failed("follow a worker", error);
            let (printed, complaint) = texts(&mut child).map_err(follow)?;
            let (signal, code) = peek(&child).map_err(follow)?;
            let cause = cause_of_death(signal, code, &complaint);
            // Before others can see that its process is gone, and do not know why.
            let recorded = cause.as_ref().map(|cause| self.record_death(pid, cause)).transpose()?;
            let status = child.wait().map_err(follow)?;
            if status.success() {
                all.worked += serde_json::from_str::<Worked>(printed.trim())
                    .map_err(|error| Error::Worker(format!("a worker printed no result: {error}")))?;
                return Ok(all);
            }
            let Some(cause) = cause else { return Err(Error::of_child(status, &complaint)) };
            all.deaths += 1;
            let was_claimed = recorded == Some(true) || code == Some(i32::from(HUNG));
            starts = if was_claimed { 0 } else { starts + 1 };
            if starts >= STARTS {
                return Err(Error::Worker(format!(
                    "{STARTS} workers in a row died before they took a shard: {cause}"
                )));
            }
        }
        all.worked.left = true;
        Ok(all)
    }

    fn start(&self) -> Result<Child, Error> {
        let mut command = Command::new(self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed("start a worker", error))?;
        *self.stdin.lock().unwrap_or_else(PoisonError::into_inner) = child.stdin.take();
        Ok(child)
    }

    /// Records the death of a worker with the runs that it had claimed; whether it had any.
    fn record_death(&self, pid: u32, cause: &str) -> Result<bool, Error> {
        let directory = &self.opened.directory;
        let own = Owner::own();
        let claims = Claims::list(directory).map_err(crate::error::reading(directory))?;
        let mut had = false;
        for (range, attempts) in claims.iter().filter(|(_, attempts)| attempts.held) {
            let owner = claims::owner(directory, range, attempts.latest);
            if owner.is_some_and(|owner| owner.pid == pid && owner.processes == own.processes) {
                had = true;
                let recorded = claims::record_death(directory, range, attempts.latest, cause);
                recorded.map_err(crate::error::writing(&claims::path(directory, range, attempts.latest)))?;
            }
        }
        Ok(had)
    }
}

fn failed(what: &str, error: io::Error) -> Error {
    Error::File { what: format!("cannot {what}"), source: error }
}

/// What a worker printed, until it ended.
fn texts(child: &mut Child) -> io::Result<(String, String)> {
    let text = |pipe: Option<&mut dyn Read>| {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    // A worker prints one line, which fits into the pipe while the other one is read.
    let printed = text(child.stdout.as_mut().map(|pipe| pipe as &mut dyn Read))?;
    Ok((printed, text(child.stderr.as_mut().map(|pipe| pipe as &mut dyn Read))?))
}

/// The signal or the exit status of a child that has ended, which stays a zombie.
fn peek(child: &Child) -> io::Result<(Option<i32>, Option<i32>)> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let status = retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(child)), options))?;
    Ok(status.map_or((None, None), |status| (status.terminating_signal(), status.exit_status())))
}

/// How a worker died; `None` where it ended by itself.
pub(crate) fn cause_of_death(signal: Option<i32>, code: Option<i32>, complaint: &str) -> Option<String> {
    match (signal, code) {
        (Some(signal), _) => Some(format!("signal {signal}")),
        (None, Some(PANICKED)) => {
            let line = complaint.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            Some(format!("it panicked: {line}"))
        }
        (None, Some(code)) if code == i32::from(HUNG) => Some("its run hung".to_owned()),
        _ => None,
    }
}
