//! Arguments of `swtch probe`.

use super::{JsonArgs, duration, size, words::word};
use clap::Args;
use std::ffi::OsString;
use std::time::Duration;
use swtch_decide::probe::ProgressBy;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch probe -- ./server --selftest                  what one interruption costs it\n  \
    swtch probe --time-limit 3m -- gzip -9 -k -c big.tar\n  \
    swtch probe --sizes 256K,2M --json=probe.json -- python3 products.py\n\n\
    A thread of the real-time class interrupts the command on its CPU, in blocks of 20 ms at several\n\
    rates or not at all. It touches memory between. Spans, system calls or instructions show how far\n\
    the command comes in a block.\n\
    'swtch record -- COMMAND' then prices the same command with the result. What the command prints is not shown.\n\
    Exit status: 0 done, 1 failed or interrupted, 2 wrong usage.")]
pub(crate) struct ProbeArgs {
    /// Stop after this time, however wide the intervals are, e.g. 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1m")]
    pub(crate) time_limit: Duration,
    /// The CPU that the command is confined to [default: the last one it may use]
    #[arg(long, value_name = "CPU")]
    pub(crate) cpu: Option<u32>,
    /// Memory to touch in an interruption, e.g. 64K,1M [default: by the machine's caches]
    #[arg(long, value_delimiter = ',', value_name = "SIZE,...", value_parser = size)]
    pub(crate) sizes: Option<Vec<u64>>,
    /// What tells how far the command is [default: the first that does]
    #[arg(long, value_name = "WHAT", value_parser = word::<ProgressBy>())]
    pub(crate) progress: Option<ProgressBy>,
    /// Seed of the random order
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
