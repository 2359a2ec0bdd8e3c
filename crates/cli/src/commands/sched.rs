//! `swtch sched`.

mod accuracy;
mod bench;
mod bisect;
pub(super) mod compare;
mod get;
mod load;

use super::own_program::search_path;
use crate::args::JsonArgs;
use crate::args::sched::{DieWithParentArgs, NewArgs, SchedArgs, SchedCommand};
use crate::console::{Console, ProgressLine};
use crate::output::{self, WrongUsage};
use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use swtch_sched::{Found, Job, SchedError, SchedProgress, SchedulerMessage};
use swtch_units::TextTable;

pub(crate) fn run(args: &SchedArgs) -> anyhow::Result<ExitCode> {
    match &args.what {
        SchedCommand::Status(args) => status(args),
        SchedCommand::List(args) => list(args),
        SchedCommand::Compare(args) => compare::run(args),
        SchedCommand::New(args) => new(args),
        SchedCommand::Get(args) => get::run(args),
        SchedCommand::Bench(args) => bench::run(args),
        SchedCommand::Load(command) => load::run(command),
        SchedCommand::Bisect(args) => bisect::run(args),
        SchedCommand::Accuracy(args) => accuracy::run(args),
        SchedCommand::DieWithParent(args) => die_with_parent(args),
        SchedCommand::Run(words) => scheduler(words),
    }
}

/// What ends a scheduler, a terminal that goes away among it.
pub(super) const ENDS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Wrong usage, where the request was wrong.
pub(super) fn usage(error: SchedError) -> anyhow::Error {
    match error {
        error @ (SchedError::Wish(_) | SchedError::NoLoad { .. }) => WrongUsage(error.to_string()).into(),
        error => error.into(),
    }
}

fn status(args: &JsonArgs) -> anyhow::Result<ExitCode> {
    let status = swtch_sched::status(Path::new("/"));
    if args.asked() {
        output::json(args, &status)?;
    } else {
        output::print(&status.in_words());
    }
    Ok(ExitCode::SUCCESS)
}

fn list(args: &JsonArgs) -> anyhow::Result<ExitCode> {
    let found = search_path()?.1.list();
    if args.asked() {
        output::json(args, &found)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = TextTable::untitled().left([1]);
    for Found { name, path, about, .. } in &found {
        table.row([name.clone(), about.map_or_else(|| path.display().to_string(), str::to_owned)]);
    }
    output::print(&table.to_string());
    if found.is_empty() {
        output::complain_text(&format!(
            "swtch: no scx_NAME next to swtch or on PATH: {}",
            swtch_sched::NO_SCHEDULERS
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a scheduler to begin with.
fn new(args: &NewArgs) -> anyhow::Result<ExitCode> {
    let [source, test] = swtch_sched::write_new(&args.name, &args.out)?;
    let (source, test) = (source.display(), test.display());
    output::print(&format!(
        "{source} is a scheduler with one queue, first in, first out; {test} runs it in a virtual machine.\n"
    ));
    Ok(ExitCode::SUCCESS)
}

fn die_with_parent(args: &DieWithParentArgs) -> anyhow::Result<ExitCode> {
    let program = args.program.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    Err(swtch_sched::die_with_parent::exec(args.parent, &args.program))
        .with_context(|| format!("cannot run {program}"))
}

/// Runs one, with its own options.
fn scheduler(words: &[OsString]) -> anyhow::Result<ExitCode> {
    let Some((name, arguments)) = words.split_first() else {
        return Err(WrongUsage("no scheduler given; see swtch sched list".to_owned()).into());
    };
    let (program, search_path) = search_path()?;
    let found = search_path.find(&name.to_string_lossy())?;
    let asks = |words: &[&str]| arguments.iter().any(|word| words.iter().any(|asked| word == asked));
    if asks(&["--help", "-h", "--version", "-V"]) {
        let error = Command::new(&found.path).args(&found.file).args(arguments).exec();
        return Err(error).with_context(|| format!("cannot run {}", found.path.display()));
    }
    let mut job = Job { found, arguments: arguments.to_vec(), duration: None, program };
    if !job.found.own {
        for_others(&mut job)?;
    }
    let json = asks(&["--json"]);
    let name = job.found.name.clone();
    let show = |_: &mut ProgressLine, progress: &SchedProgress| {
        if let SchedProgress::Message(message) = progress {
            pass_on(message, &name, json);
        }
    };
    let mut console = Console::new(ProgressLine::new("", None), &ENDS, show)?;
    let ended = swtch_sched::run(&job, &mut console)?;
    if let Some(words) = &ended.words {
        output::complain_text(&format!("swtch: {words}"));
    }
    Ok(ExitCode::from(ended.exit_code()))
}

/// Prints what the scheduler printed: events in words, or as they came.
fn pass_on(message: &SchedulerMessage, name: &str, json: bool) {
    use SchedulerMessage::{Complaint, Event, Text, Unknown};
    match message {
        Event(_, line) | Unknown(line) if json => output::print(&format!("{line}\n")),
        Event(event, _) => output::print(&format!("{name}: {}\n", event.in_words())),
        Unknown(line) | Text(line) if !json => output::print(&format!("{line}\n")),
        // Standard output has JSON only; any other line goes to standard error.
        Unknown(line) | Text(line) | Complaint(line) => output::complain_text(line),
    }
}

/// What swtch does for schedulers that know nothing of it: it ends them after a time.
fn for_others(job: &mut Job) -> anyhow::Result<()> {
    let given = |option: &str, word: &OsString| {
        let word = word.to_string_lossy();
        word == option || word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
    };
    for option in ["--only-pid", "--only-cgroup"] {
        if job.arguments.iter().any(|word| given(option, word)) {
            let name = job.found.name.clone();
            let error = SchedError::Foreign { option: option.to_owned(), name };
            return Err(WrongUsage(error.to_string()).into());
        }
    }
    if let Some(place) = job.arguments.iter().position(|word| given("--for", word)) {
        let word = job.arguments.remove(place).to_string_lossy().into_owned();
        let text = match word.split_once('=') {
            Some((_, text)) => text.to_owned(),
            None if place < job.arguments.len() => job.arguments.remove(place).to_string_lossy().into_owned(),
            None => String::new(),
        };
        let duration: Duration = crate::args::duration(&text).map_err(WrongUsage)?;
        job.duration = Some(duration);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(arguments: &[&str]) -> anyhow::Result<Job> {
        let found = Found {
            name: "x".to_owned(),
            path: "/bin/scx_x".into(),
            file: None,
            own: false,
            about: None,
            version: None,
        };
        let arguments = arguments.iter().map(OsString::from).collect();
        let mut job = Job { found, arguments, duration: None, program: "/bin/swtch".into() };
        for_others(&mut job).map(|()| job)
    }

    #[test]
    fn others_are_ended_after_a_time_and_keep_their_own_options() {
        for arguments in [&["-v", "--for", "60s", "--slice", "5"][..], &["-v", "--for=60s", "--slice", "5"]] {
            let job = foreign(arguments).unwrap();
            assert_eq!(job.arguments, ["-v", "--slice", "5"]);
            assert_eq!(job.duration, Some(Duration::from_secs(60)));
        }
        assert_eq!(foreign(&["--format", "x"]).unwrap().arguments, ["--format", "x"]);
    }

    #[test]
    fn what_others_cannot_do_is_said() {
        for arguments in [&["--only-pid", "7"][..], &["--only-cgroup=/x"], &["--for"], &["--for", "soon"]] {
            assert!(foreign(arguments).unwrap_err().is::<WrongUsage>(), "{arguments:?}");
        }
    }
}
