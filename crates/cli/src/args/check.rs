//! Arguments of `swtch check`.

use super::JsonArgs;
use super::words::word;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use swtch_report::check::CheckFormat;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch check                                   run the budgets, and compare with the baseline\n  \
    swtch check --accept                          write what they do now as the baseline\n  \
    swtch check --baseline origin/main            compare with the baseline of a commit\n  \
    swtch check --format markdown,junit -o results\n\n\
    A budget of swtch-budget.toml:\n  \
    [[budget]]\n  \
    name = \"pipeline\"\n  \
    command = \"./bench --once\"\n  \
    where = \"vm\"                      # or \"here\": runs on this machine\n  \
    switches = { max = 1200, change = \"+2%\" }\n\n\
    The baseline is swtch-baseline.json beside the budgets. In a guest, the command runs 16 times, each\n\
    time a little disturbed, and instructions and switches are counted. The same bytes give the same\n\
    figures on any machine.\n\
    Exit status: 0 kept or new, 1 failed, 2 wrong usage, 3 broken.")]
pub(crate) struct CheckArgs {
    /// The file of budgets
    #[arg(long, value_name = "FILE", default_value = "swtch-budget.toml")]
    pub(crate) budget: PathBuf,
    /// Compare with this file, or with the baseline of this commit [default: swtch-baseline.json beside the budgets]
    #[arg(long, value_name = "FILE|COMMIT")]
    pub(crate) baseline: Option<String>,
    /// Write the figures of this check as the baseline
    #[arg(long, conflicts_with = "baseline")]
    pub(crate) accept: bool,
    /// What to write the result as
    #[arg(long, value_delimiter = ',', value_name = "FORMAT,...", value_parser = word::<CheckFormat>(), default_value = "terminal")]
    pub(crate) format: Vec<CheckFormat>,
    /// Write each format to a file of this directory, and recordings of budgets that are new or broken [default: print; recordings go to swtch-check]
    #[arg(short, long, value_name = "DIRECTORY")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// In a guest: run the command N times, each time a little disturbed, and print what each run did
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) member_runs: Option<usize>,
    /// In a guest: record N more runs into --member-trace
    #[arg(long, hide = true, value_name = "N", requires = "member_trace")]
    pub(crate) member_recorded: Option<usize>,
    /// In a guest: the Trace of the recorded runs
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) member_trace: Option<PathBuf>,
    /// In a guest: record stacks too
    #[arg(long, hide = true, requires = "member_trace")]
    pub(crate) member_stacks: bool,
    /// In a guest: the command
    #[arg(last = true, hide = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
