//! Arguments of `swtch sched accuracy`.

use super::JsonArgs;
use super::guest::GuestArgs;
use clap::Args;
use std::path::PathBuf;
use swtch_sched::Policy;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch sched accuracy --loads perf-pipe --policies rr --runs 1\n  \
    swtch sched accuracy --real accuracy              the real figures of --out accuracy, simulated again\n  \
    swtch sched accuracy --host --loads perf-pipe --runs 1\n\n\
    Loads are those of 'swtch sched bench --list' that have a workload of the simulator. They run in virtual machines\n\
    that count instructions; the simulator gets a Profile measured in such a machine. Nothing is calibrated. All loads take forty minutes.\n\
    With --host they run on one CPU of this machine, each run between two measurements of what a switch costs there; those whose own work is only\n\
    known by its instructions do not.\n\
    Of a sched_ext scheduler besides flsched the simulator needs the source: give its FILE.bpf.c.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct AccuracyArgs {
    /// Loads [default: all that can be simulated]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) loads: Vec<String>,
    /// Schedulers besides stock, as for 'swtch sched compare'
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "flsched,rr,fifo")]
    pub(crate) policies: Vec<Policy>,
    /// Counted runs of each load under each scheduler, ten times as many in a virtual machine where they differ; its simulation has three seeds for each
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) runs: usize,
    /// Keep results in this new directory: the guest's Profile, the runs, and the table as accuracy.json
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Go on in this directory: only run what it does not have
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// Take the real figures and the Profile of this directory, and only simulate again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "resume", "loads", "policies", "runs", "cpus", "memory", "kernel"])]
    pub(crate) real: Option<PathBuf>,
    /// Run on one CPU of this machine in place of a virtual machine: stock, rr and fifo
    #[arg(long, conflicts_with_all = ["out", "resume", "real", "cpus", "memory", "kernel"])]
    pub(crate) host: bool,
    /// CPUs of the virtual machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) cpus: u32,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
