//! Running a command while showing and keeping what it prints.

use anyhow::{Context, Result};
use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// What a command printed, and whether it succeeded.
pub(crate) struct Outcome {
    pub(crate) succeeded: bool,
    /// "exit status: 101", or the signal that ended it.
    pub(crate) status: String,
    /// Standard output and standard error, line by line as they came.
    pub(crate) lines: Vec<String>,
}

/// The cargo that runs us, so that a toolchain chosen for it holds for its children. What it tells us of our own package they do not hear: build scripts
/// that ask for such variables would run again, and everything on them be built again, after each build outside.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let is_of_a_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_a_package) {
            command.env_remove(name);
        }
    }
    command
}

thread_local! {
    /// The CPU time of the commands that this thread ran, and of those that they ran and waited for.
    static CPU_TIME: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// What this thread has to say, where it is to be shown later.
    static KEPT: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Prints lines, or keeps them where they are to be shown later.
pub(crate) fn say(text: &str) {
    KEPT.with_borrow_mut(|kept| match kept {
        Some(lines) => lines.extend(text.lines().map(str::to_owned)),
        // A reader of ours that went away (`| head`) must not end the tests.
        None => _ = writeln!(std::io::stdout(), "{text}"),
    });
}

/// Runs this, and gives what it says instead of printing it.
pub(crate) fn kept<R>(run: impl FnOnce() -> R) -> (R, Vec<String>) {
    KEPT.set(Some(Vec::new()));
    let result = run();
    (result, KEPT.take().unwrap_or_default())
}

/// What something took, s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    /// By the clock.
    pub(crate) seconds: f64,
    /// CPU time of its commands, of all their processes. Steps run beside others, so this says what one costs, and `seconds` does not.
    pub(crate) cpu_seconds: f64,
}

/// Runs this, and says what it took.
pub(crate) fn timed<R>(run: impl FnOnce() -> R) -> (R, Took) {
    CPU_TIME.set(Duration::ZERO);
    let start = Instant::now();
    let result = run();
    let seconds = start.elapsed().as_secs_f64();
    (result, Took { seconds, cpu_seconds: CPU_TIME.get().as_secs_f64() })
}

/// Runs the command to its end and passes every line on at once, so that a log shows progress.
pub(crate) fn stream(command: &mut Command) -> Result<Outcome> {
    stream_shown(command, |_| true)
}

/// The same, of which only the lines that `shown` wants are passed on; all are kept. It is asked line by line, in order.
pub(crate) fn stream_shown(command: &mut Command, shown: impl FnMut(&str) -> bool + Send) -> Result<Outcome> {
    let described = describe(command);
    say(&format!("\n$ {described}"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{described}`"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let is_kept = KEPT.with_borrow(Option::is_some);
    let lines = Mutex::new(Lines { all: Vec::new(), to_say: is_kept.then(Vec::new), shown });
    std::thread::scope(|scope| {
        if let Some(stdout) = stdout {
            scope.spawn(|| pass_on(stdout, &lines));
        }
        if let Some(stderr) = stderr {
            scope.spawn(|| pass_on(stderr, &lines));
        }
    });
    let used = child.wait4().with_context(|| format!("lost `{described}`"))?;
    CPU_TIME.set(CPU_TIME.get() + used.rusage.utime + used.rusage.stime);
    let status = used.status;
    let Lines { all, to_say, .. } = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
    to_say.iter().flatten().for_each(|line| say(line));
    Ok(Outcome { succeeded: status.success(), status: status.to_string(), lines: all })
}

/// What a command prints.
struct Lines<F> {
    all: Vec<String>,
    /// Those that are to be shown when it has ended.
    to_say: Option<Vec<String>>,
    /// Whether a line is to be shown.
    shown: F,
}

fn pass_on<F: FnMut(&str) -> bool>(source: impl Read, lines: &Mutex<Lines<F>>) {
    let mut source = BufReader::new(source);
    let mut line = Vec::new();
    // Bytes, not `lines()`: a test may print what is not UTF-8, and a pipe left unread would block it.
    while source.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
        line.clear();
        if let Ok(mut guard) = lines.lock() {
            let Lines { all, to_say, shown } = &mut *guard;
            if shown(&text) {
                match to_say {
                    Some(lines) => lines.push(text.clone()),
                    None => _ = writeln!(std::io::stdout(), "{text}"),
                }
            }
            all.push(text);
        }
    }
}

fn describe(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let program = program.rsplit('/').next().unwrap_or(&program).to_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_and_the_status_are_kept() {
        let script = "echo out; echo err >&2; printf '\\377 unfinished'; exit 3";
        let mut outcome = stream(Command::new("sh").args(["-c", script])).unwrap();
        outcome.lines.sort();
        assert_eq!(outcome.lines, ["err", "out", "\u{fffd} unfinished"]);
        assert!(!outcome.succeeded && outcome.status.contains('3'));
    }

    #[test]
    fn what_is_kept_is_said_later_and_in_order() {
        let script =
            || stream_shown(Command::new("sh").args(["-c", "echo one; echo two"]), |line| line == "two");
        let (outcome, lines) = kept(|| script().map(|outcome| outcome.lines));
        assert_eq!(outcome.unwrap(), ["one", "two"]);
        assert_eq!(lines, ["", "$ sh -c echo one; echo two", "two"]);
    }

    #[test]
    fn the_cpu_time_of_what_a_command_runs_counts_too() {
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let cpu_seconds = |script: &str| {
            let (outcome, took) = timed(|| stream(Command::new("sh").args(["-c", script])));
            assert!(outcome.unwrap().succeeded);
            took.cpu_seconds
        };
        let idle = cpu_seconds("sleep 0.01");
        assert!(cpu_seconds(&format!("sh -c '{busy}'; true")) > idle && timed(|| ()).1.cpu_seconds == 0.0);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = stream(&mut Command::new("no-such-program-here")).err().unwrap();
        assert!(error.to_string().contains("no-such-program-here"));
    }
}
