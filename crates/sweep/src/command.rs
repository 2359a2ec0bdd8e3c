//! A run that is a command: started in a directory of its own, followed, and read.

use crate::error::Error;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use swtch_sim::sweep::{Prepared, RunRow};

/// How the words of a run become a process. It should end when this one does.
pub type Start<'a> = dyn Fn(&[String]) -> Command + Sync + 'a;

const LOOK_EVERY: Duration = Duration::from_millis(10);
/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// The most of what it writes that is read.
const MOST_BYTES: u64 = 64 << 20;

/// How a command ended.
enum End {
    Itself(ExitStatus),
    /// It took longer than the sweep allows.
    Limit(Duration),
    /// The worker is to end.
    Stopped,
}

/// Makes a run. `None` where `goes_on` said that it is to end before it was done. A command that fails is a row that says so.
///
/// # Errors
/// When no directory for it can be made.
pub(crate) fn run(
    prepared: &Prepared,
    run: u64,
    words: &[String],
    start: &Start<'_>,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Option<RunRow>, Error> {
    let making = |source| Error::File { what: "cannot make a directory for a run".to_owned(), source };
    let folder = tempfile::Builder::new().prefix("swtch-run-").tempdir().map_err(making)?;
    for (name, file) in prepared.files() {
        link(&file.path, &folder.path().join(name)).map_err(making)?;
    }
    let (mut printed, mut complaints) =
        (tempfile::tempfile().map_err(making)?, tempfile::tempfile().map_err(making)?);
    let limit = prepared.sweep().limit_ns().map(Duration::from_nanos);
    let mut command = start(words);
    command.current_dir(folder.path()).stdin(Stdio::null()).process_group(0);
    command.stdout(printed.try_clone().map_err(making)?).stderr(complaints.try_clone().map_err(making)?);
    let ended = command.spawn().and_then(|child| follow(child, limit, goes_on));
    let here = folder.path().display().to_string();
    let found = match ended {
        Ok(End::Stopped) => return Ok(None),
        Ok(End::Limit(limit)) => {
            Err(format!("it took longer than {}", swtch_units::format_ns(limit.as_nanos() as f64)))
        }
        Ok(End::Itself(status)) => taken(prepared, status, &mut printed, &mut complaints),
        Err(error) => Err(format!("{} cannot be started: {error}", words.first().map_or("", String::as_str))),
    };
    Ok(Some(match found {
        Ok(taken) => prepared.printed(run, taken),
        // A row does not depend on where it was made.
        Err(why) => prepared.failed(run, why.replace(&here, ".")),
    }))
}

/// CPU seconds of this process and of its commands that have ended.
pub(crate) fn spent_s() -> f64 {
    crate::predict::cpu_s() + of_children_s().unwrap_or(0.0)
}

fn of_children_s() -> Option<f64> {
    // cutime and cstime, the 16th and 17th fields.
    let fields = crate::owner::stat(std::process::id())?;
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some((ticks(13)? + ticks(14)?) as f64 / clock_ticks_per_second() as f64)
}

fn link(file: &Path, name: &Path) -> io::Result<()> {
    name.parent().map_or(Ok(()), fs::create_dir_all)?;
    symlink(fs::canonicalize(file)?, name)
}

fn follow(mut child: Child, limit: Option<Duration>, goes_on: &mut dyn FnMut() -> bool) -> io::Result<End> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Itself(status));
        }
        let late = limit.filter(|limit| began.elapsed() > *limit);
        if late.is_some() || !goes_on() {
            end(&mut child)?;
            return Ok(late.map_or(End::Stopped, End::Limit));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Ends a command with all that it started.
fn end(child: &mut Child) -> io::Result<()> {
    let group = Pid::from_child(child);
    // It fails where all have ended.
    let _ = kill_process_group(group, Signal::TERM);
    let asked = Instant::now();
    while asked.elapsed() < GRACE && child.try_wait()?.is_none() {
        std::thread::sleep(LOOK_EVERY);
    }
    let _ = kill_process_group(group, Signal::KILL);
    child.wait().map(drop)
}

/// Takes the figures from its output. A command may report by its exit status what it found, so only one without a document failed.
fn taken(
    prepared: &Prepared,
    status: ExitStatus,
    printed: &mut File,
    complaints: &mut File,
) -> Result<String, String> {
    let text = written(printed)?;
    let taken = prepared.sweep().commands().map_or(Ok(String::new()), |commands| commands.taken(&text));
    taken.map_err(|why| {
        let how = match (status.signal(), status.code()) {
            (Some(signal), _) => format!("signal {signal}"),
            (None, Some(0)) => return why,
            (None, code) => format!("exit status {}", code.unwrap_or_default()),
        };
        let last = written(complaints).unwrap_or_default();
        let last = last.trim_end().lines().last().unwrap_or_default().trim();
        if last.is_empty() { format!("{how}; {why}") } else { format!("{how}: {last}") }
    })
}

fn written(file: &mut File) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(MOST_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| format!("what it printed cannot be read: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
