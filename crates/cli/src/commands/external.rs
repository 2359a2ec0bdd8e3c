//! `swtch NAME`: any program `swtch-NAME` next to swtch or on PATH, as git and cargo do.

use super::explain::distance;
use crate::args::Cli;
use crate::args::groups::FROM_PYTHON;
use crate::output::WrongUsage;
use anyhow::Context;
use clap::CommandFactory;
use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub(crate) fn run(words: &[OsString]) -> anyhow::Result<ExitCode> {
    let Some((name, arguments)) = words.split_first() else {
        return Err(WrongUsage("no command given; see swtch --help".to_owned()).into());
    };
    let mut program = OsString::from("swtch-");
    program.push(name);
    let found = self::program(&program);
    let is_there = found.is_some();
    let error = Command::new(found.unwrap_or_else(|| PathBuf::from(&program))).args(arguments).exec();
    let (name, program) = (name.to_string_lossy(), program.to_string_lossy());
    // A directory on PATH that may not be searched gives the error of a program that may not be run.
    if error.kind() == io::ErrorKind::NotFound || !is_there {
        let text = if let Some(one) = FROM_PYTHON.iter().find(|one| one.name == name) {
            format!(
                "'swtch {name}' is not installed: it is in the Python package; pip install {}",
                one.requirement
            )
        } else {
            let meant = nearest(&name).map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
            format!(
                "unknown command '{name}'{meant}, and no program '{program}' next to swtch or on PATH; see swtch --help"
            )
        };
        return Err(WrongUsage(text).into());
    }
    Err(error).with_context(|| format!("cannot run {program}"))
}

/// Where a program is: next to this one, or on PATH. A Python environment that is not activated has both in its directory, and neither on PATH.
pub(super) fn program(name: impl AsRef<Path>) -> Option<PathBuf> {
    let beside = env::current_exe().map(|own| own.with_file_name(name.as_ref())).ok();
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|place| place.join(name.as_ref()));
    beside.into_iter().chain(on_path).find(|path| path.is_file())
}

/// The command with the most similar name, where one is similar.
fn nearest(word: &str) -> Option<String> {
    let names = Cli::command();
    let names =
        names.get_subcommands().map(clap::Command::get_name).chain(FROM_PYTHON.iter().map(|one| one.name));
    let (steps, name) = names.map(|name| (distance(name, word), name)).min()?;
    (steps <= 2 && steps < word.len() / 2).then(|| name.to_owned())
}
