//! `swtch NAME`: any program `swtch-NAME` beside swtch or on PATH, as git and cargo do.

use crate::args::groups::FROM_PYTHON;
use crate::output::WrongUsage;
use anyhow::Context;
use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

pub(crate) fn run(words: &[OsString]) -> anyhow::Result<ExitCode> {
    let Some((name, arguments)) = words.split_first() else {
        return Err(WrongUsage("no command given; see swtch --help".to_owned()).into());
    };
    let mut program = OsString::from("swtch-");
    program.push(name);
    // A Python environment that is not activated has both in its directory, and neither on PATH.
    let beside =
        env::current_exe().map(|own| own.with_file_name(&program)).ok().filter(|path| path.is_file());
    let error = Command::new(beside.unwrap_or_else(|| PathBuf::from(&program))).args(arguments).exec();
    let (name, program) = (name.to_string_lossy(), program.to_string_lossy());
    if error.kind() == io::ErrorKind::NotFound {
        let text = match FROM_PYTHON.iter().find(|one| one.name == name) {
            Some(one) => format!(
                "'swtch {name}' is not installed: it is in the Python package; pip install {}",
                one.requirement
            ),
            None => format!(
                "unknown command '{name}', and no program '{program}' next to swtch or on PATH; see swtch --help"
            ),
        };
        return Err(WrongUsage(text).into());
    }
    Err(error).with_context(|| format!("cannot run {program}"))
}
