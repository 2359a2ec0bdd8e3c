//! Arguments of `swtch import`.

use super::JsonArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch import trace.txt -o old.swtch          text of ftrace, trace-cmd report or perf script\n  \
    swtch import - -o old.swtch < trace.txt      from standard input\n  \
    swtch import trace.txt --json\n\n\
    To make such a text:\n    \
    perf sched record -- make && perf script > trace.txt\n    \
    trace-cmd record -e sched make && trace-cmd report > trace.txt\n\n\
    Lines that cannot be parsed are counted and skipped. An existing NAME.swtch is replaced when the new one is complete.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct ImportArgs {
    /// The text file; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The Trace to write [default: FILE.swtch in this directory]
    #[arg(short, long, value_name = "NAME.swtch")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
