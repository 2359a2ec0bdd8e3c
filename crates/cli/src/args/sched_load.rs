//! Arguments of `swtch sched load`: the loads of `swtch sched bench` that are programs of this project.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum LoadCommand {
    /// Run schbench's protocol: message threads that wake workers, which serve requests
    Schbench(SchbenchArgs),
    /// Draw frames, and count those that come too late
    Frames(FramesArgs),
    /// Run a workload of rt-app: instance, loop, phases, run, runtime, sleep, timer, suspend and resume
    RtApp(RtAppArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SchbenchArgs {
    /// Message threads
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(crate) message_threads: usize,
    /// Workers of each message thread
    #[arg(short = 't', long, value_name = "N", default_value_t = 4)]
    pub(crate) workers: usize,
    /// Requests of each worker
    #[arg(short, long, value_name = "N", default_value_t = 100)]
    pub(crate) requests: usize,
    /// Work of a request: microseconds where an instruction takes a nanosecond
    #[arg(short, long, value_name = "US", default_value_t = 300)]
    pub(crate) work: u64,
}

#[derive(Debug, Args)]
pub(crate) struct FramesArgs {
    /// How many
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    pub(crate) count: u32,
    /// Microseconds from one to the next
    #[arg(short, long, value_name = "US", default_value_t = 16_600)]
    pub(crate) period: u64,
    /// Work of each: microseconds where an instruction takes a nanosecond
    #[arg(short, long, value_name = "US", default_value_t = 1_000)]
    pub(crate) work: u64,
}

#[derive(Debug, Args)]
pub(crate) struct RtAppArgs {
    /// The workload, in JSON without comments
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
