//! `swtch sched`.

mod compare;
mod watch;

use crate::args::JsonArgs;
use crate::args::sched::{SchedArgs, SchedCommand, TetherArgs};
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use swtch_sched::{Found, Job, LiveError, Places, Status, tether};
use swtch_units::aligned;
use watch::Watch;

pub(crate) fn run(args: &SchedArgs) -> anyhow::Result<ExitCode> {
    match &args.what {
        SchedCommand::Status(args) => status(args),
        SchedCommand::List(args) => list(args),
        SchedCommand::Compare(args) => compare::run(args),
        SchedCommand::Tether(args) => tied(args),
        SchedCommand::Run(words) => scheduler(words),
    }
}

/// This program, and where schedulers are looked for.
fn places() -> anyhow::Result<(PathBuf, Places)> {
    let program = env::current_exe().context("cannot find this program")?;
    let places = Places::new(&program, &env::var_os("PATH").unwrap_or_default());
    Ok((program, places))
}

fn status(args: &JsonArgs) -> anyhow::Result<ExitCode> {
    let status = Status::read(Path::new("/"));
    if args.asked() {
        output::json(args, &status)?;
    } else {
        output::print(&status.in_words());
    }
    Ok(ExitCode::SUCCESS)
}

fn list(args: &JsonArgs) -> anyhow::Result<ExitCode> {
    let found = places()?.1.list();
    if args.asked() {
        output::json(args, &found)?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |Found { name, path, about, .. }: &Found| {
        vec![name.clone(), about.map_or_else(|| path.display().to_string(), str::to_owned)]
    };
    output::print(&aligned(&found.iter().map(row).collect::<Vec<_>>(), |_| false));
    if found.is_empty() {
        output::complain_text(&format!(
            "swtch: no scx_NAME beside swtch or on PATH: {}",
            swtch_sched::NO_SCHEDULERS
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn tied(args: &TetherArgs) -> anyhow::Result<ExitCode> {
    let program = args.program.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    Err(tether::become_tied(args.parent, &args.program)).with_context(|| format!("cannot run {program}"))
}

/// Runs one, with its own options.
fn scheduler(words: &[OsString]) -> anyhow::Result<ExitCode> {
    let Some((name, arguments)) = words.split_first() else {
        return Err(WrongUsage("no scheduler given; see swtch sched list".to_owned()).into());
    };
    let (program, places) = places()?;
    let found = places.find(&name.to_string_lossy())?;
    let asks = |words: &[&str]| arguments.iter().any(|word| words.iter().any(|asked| word == asked));
    if asks(&["--help", "-h", "--version", "-V"]) {
        let error = Command::new(&found.path).args(arguments).exec();
        return Err(error).with_context(|| format!("cannot run {}", found.path.display()));
    }
    let mut job = Job { found, arguments: arguments.to_vec(), duration: None, program };
    if !job.found.own {
        for_others(&mut job)?;
    }
    let json = asks(&["--json"]);
    let mut watch = Watch::new(&job.found.name, json).context("cannot listen for Ctrl-C")?;
    let ended = swtch_sched::run(&job, &mut watch)?;
    if let Some(words) = &ended.words {
        output::complain_text(&format!("swtch: {words}"));
    }
    Ok(ExitCode::from(ended.exit_code()))
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
            let error = LiveError::Foreign { option: option.to_owned(), name };
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
        let found = Found { name: "x".to_owned(), path: "/bin/scx_x".into(), own: false, about: None };
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
