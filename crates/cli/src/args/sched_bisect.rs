//! Arguments of `swtch sched bisect`.

use super::JsonArgs;
use super::guest::GuestArgs;
use clap::Args;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch sched bisect --versions lavd@1.0.17,lavd@1.0.18,lavd@1.0.19,lavd@1.0.20 -- hackbench -p -g 4 -l 50\n  \
    swtch sched bisect --versions old.bpf.c,new.bpf.c -- perf-pipe\n  \
    swtch sched bisect --repo scx --good v1.0.19 --bad v1.0.20 --build 'cargo build --release -p scx_lavd' \\\n      \
    --program target/release/scx_lavd -- hackbench-pipe-process-4\n\n\
    LOAD is one of 'swtch sched bench --list', whose first figure decides, or any command: its figure is that of\n\
    --metric or --rate, or what is known of the program, or the time of its run. Each version that is looked at\n\
    has several boots of a virtual machine that counts instructions. Versions of Cargo's registry are installed as\n\
    they are needed; a commit that cannot be built is left out.\n\
    Exit status: 0 found, 1 failed, or the bad version is not worse than the good one, 2 wrong usage.")]
pub(crate) struct BisectArgs {
    /// Schedulers in the order of their age, the good one first and the bad one last
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        required_unless_present = "repo",
        conflicts_with = "repo"
    )]
    pub(crate) versions: Vec<String>,
    /// A git repository: search its commits
    #[arg(long, value_name = "DIR", requires_all = ["good", "bad", "program"])]
    pub(crate) repo: Option<PathBuf>,
    /// A commit that is good
    #[arg(long, value_name = "COMMIT", requires = "repo")]
    pub(crate) good: Option<String>,
    /// A later commit that is bad
    #[arg(long, value_name = "COMMIT", requires = "repo")]
    pub(crate) bad: Option<String>,
    /// What builds the scheduler in a commit's files
    #[arg(long, value_name = "COMMAND", requires = "repo")]
    pub(crate) build: Option<String>,
    /// The scheduler among a commit's files: a program, FILE.bpf.c or FILE.o
    #[arg(long, value_name = "PATH", requires = "repo")]
    pub(crate) program: Option<PathBuf>,
    /// Decide by this figure of the command's output, of which less is better, e.g. 'p99: (\d+)'
    #[arg(long, value_name = "PATTERN", conflicts_with = "rate")]
    pub(crate) metric: Option<String>,
    /// The same of a figure of which more is better
    #[arg(long, value_name = "PATTERN")]
    pub(crate) rate: Option<String>,
    /// Boots of each version
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) boots: usize,
    /// Counted runs in each boot
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) runs: usize,
    /// Guests that run at the same time [default: as many as this machine has CPUs and memory for]
    #[arg(long, value_name = "N")]
    pub(crate) at_a_time: Option<NonZeroUsize>,
    /// Keep the results of each version in this directory, and go on with what is there
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// CPUs of the virtual machine
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) cpus: u32,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// A load, or a command
    #[arg(last = true, required = true, value_name = "LOAD")]
    pub(crate) load: Vec<OsString>,
}
