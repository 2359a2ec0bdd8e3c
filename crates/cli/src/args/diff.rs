//! Arguments of `swtch diff`.

use super::JsonArgs;
use clap::Args;
use std::path::PathBuf;
use swtch_decide::FailIf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch diff before.swtch after.swtch                    two recordings: which switches are new, and which tasks make them\n  \
    swtch diff old-*.swtch -- new-*.swtch                  repeats of each side: a verdict with intervals\n  \
    swtch diff before.swtch after.swtch --fail-if 'switches > +5%'\n  \
    swtch diff old-kernel.json new-kernel.json             two Profiles; studies of swtch ai and swtch faas likewise\n  \
    swtch diff old-*.swtch -o diff.html -- new-*.swtch     the same as a page\n\n\
    A verdict needs three recordings of each side, better ten, recorded in turns: the same program can differ much between two runs.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage, 3 a limit of --fail-if holds.")]
pub(crate) struct DiffArgs {
    /// OLD and NEW, or all files of the old side, followed by -- and those of the new side
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Files of the new side, after --
    #[arg(value_name = "NEW", last = true)]
    pub(crate) new: Vec<PathBuf>,
    /// Fail with status 3 when this holds, e.g. 'switches > +5%', 'wait.p99 > 20ms', or a verdict such as worse; may be given several times
    #[arg(long, value_name = "LIMIT")]
    pub(crate) fail_if: Vec<FailIf>,
    /// Price the switches of Traces by this Profile [default: this machine's, if it has been measured]
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Write a page; one that exists is replaced
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
