//! Arguments of `swtch compare`.

use super::{JsonArgs, duration};
use crate::output::WrongUsage;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use swtch_decide::compare::{Filled, Parameter, Template, expand};

#[derive(Debug, Args)]
#[command(
    override_usage = "swtch compare [OPTIONS] -- COMMAND [-- COMMAND]...\n       swtch compare [OPTIONS] 'LINE' ['LINE']..."
)]
#[command(after_help = "Examples:\n  \
    swtch compare -- make -j1 -- make -j2               two commands, without a shell\n  \
    swtch compare 'seq 9999 | sort' 'seq 9999 | tac'    lines for the shell, each in quotes\n  \
    swtch compare --parameter jobs=1,2,4 -- make -j{jobs}\n  \
    swtch compare --prepare 'rm -f *.o' --runs 3 -o compared.html -- make -j1 -- make -j2\n  \
    swtch compare --json --runs 6 -- ./server --selftest\n\n\
    Every round runs each command once, in random order. The commands' output is not shown.\n\
    A single command gets its figures with intervals, which one recording does not have.\n\
    Exit status: 0 done, 1 failed or interrupted, 2 wrong usage.")]
pub(crate) struct CompareArgs {
    /// Runs of each command
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) runs: usize,
    #[command(flatten)]
    pub(crate) how: RunArgs,
    /// Run the commands with each value in place of {NAME}; several parameters give every combination
    #[arg(long, value_name = "NAME=VALUE,...")]
    pub(crate) parameter: Vec<Parameter>,
    /// Also write the result as a page
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Lines for the shell (sh), which is counted with them
    #[arg(value_name = "LINE")]
    pub(crate) lines: Vec<String>,
    /// Programs and their arguments, run without a shell
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) commands: Vec<OsString>,
}

/// How commands are run: a part of every command that runs others several times.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Runs of each command before those that count
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(crate) warmup: usize,
    /// Run this line by the shell before each run; it is not counted
    #[arg(short, long, value_name = "LINE")]
    pub(crate) prepare: Option<String>,
    /// End a run that takes longer than this, which is an error, e.g. 30s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Stop after this time and show what is complete, e.g. 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Count runs whose exit status is not 0 too
    #[arg(short, long)]
    pub(crate) ignore_failure: bool,
    /// Show what the commands print, and let them read
    #[arg(long)]
    pub(crate) show_output: bool,
    /// Seed of the random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Price with this Profile instead of this machine's
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
}

impl CompareArgs {
    /// The commands with their parameters filled in, and those.
    pub(crate) fn planned(&self) -> Result<Filled, WrongUsage> {
        let templates = templates(&self.lines, &self.commands, "compare")?;
        expand(&templates, self.how.prepare.as_deref(), &self.parameter)
            .map_err(|error| WrongUsage(error.to_string()))
    }
}

/// The commands: lines for the shell, then words that are parted by `--`.
pub(super) fn templates(
    lines: &[String],
    commands: &[OsString],
    command: &str,
) -> Result<Vec<Template>, WrongUsage> {
    let words = commands.split(|word| word == "--").map(|words| Template::Words(words.to_vec()));
    let words = words.filter(|_| !commands.is_empty());
    let templates: Vec<Template> = lines.iter().cloned().map(Template::Line).chain(words).collect();
    let is_empty = |template: &Template| match template {
        Template::Line(line) => line.trim().is_empty(),
        Template::Words(words) => words.is_empty(),
    };
    if templates.is_empty() {
        let text = format!("no command given; say what to run: swtch {command} -- COMMAND");
        return Err(WrongUsage(text));
    }
    if templates.iter().any(is_empty) {
        let text = format!("a command is empty; write each after its own '--': swtch {command} -- COMMAND");
        return Err(WrongUsage(text));
    }
    Ok(templates)
}
