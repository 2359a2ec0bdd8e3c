//! Arguments of `swtch sched bench`.

use super::JsonArgs;
use super::guest::GuestArgs;
use clap::Args;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use swtch_sched::{Policy, Shard};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch sched bench --list\n  \
    swtch sched bench --loads perf-pipe --policies flsched --boots 1 --out bench\n\n\
    --quick runs six loads, with the default schedulers in 40 boots. --resume DIR continues after an interruption,\n\
    and with the results of all shards in one directory it prints their table.\n\
    Each scheduler has several boots of a virtual machine that counts instructions: the same programs and\n\
    kernel give the same table on any machine. Boots differ, so a mark needs boots that differ more than\n\
    those of one scheduler do. The stock class is there twice: the second column shows what chance does.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct BenchArgs {
    /// List the loads and what they report
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// Run the six loads that take least time
    #[arg(long, conflicts_with = "loads")]
    pub(crate) quick: bool,
    /// Loads [default: all of --list]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) loads: Vec<String>,
    /// Schedulers besides stock, as for 'swtch sched compare'
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "flsched,global_fifo,rr")]
    pub(crate) policies: Vec<Policy>,
    /// Boots of each scheduler
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) boots: usize,
    /// Counted runs of each load in each boot
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) runs: usize,
    /// Draw other boots
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u32,
    /// Guests that run at the same time [default: as many as this machine has CPUs and memory for]
    #[arg(long, value_name = "N")]
    pub(crate) at_a_time: Option<NonZeroUsize>,
    /// Keep the results of each scheduler in this new directory; and the table as bench.html, .json, .csv and .parquet
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Run only part K of N of the schedulers, to run the others on other machines
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,
    /// Go on in this directory: only run what it does not have
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// CPUs of the virtual machine
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) cpus: u32,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[arg(long, hide = true, requires = "member_seed", value_name = "PATTERN")]
    pub(crate) metric: Vec<String>,
    #[arg(long, hide = true, requires = "member_seed", value_name = "PATTERN")]
    pub(crate) rate: Vec<String>,
    /// In a guest: a user's command in place of the loads
    #[arg(last = true, hide = true, requires = "member_seed", value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// In a guest: run the loads under the first scheduler, with this seed
    #[arg(long, hide = true, value_name = "SEED")]
    pub(crate) member_seed: Option<u64>,
    /// In a guest: run loads whose runs differ up to as often as this
    #[arg(long, hide = true, requires = "member_seed", value_name = "N")]
    pub(crate) member_most: Option<usize>,
    /// In a guest: record each load once after all counted runs
    #[arg(long, hide = true, requires = "member_seed")]
    pub(crate) member_record: bool,
}
