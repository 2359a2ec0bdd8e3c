//! Arguments of `swtch top`.

use super::record::{source, source_help};
use super::{SAMPLE, duration, part};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use swtch_record::{Mode, Target};
use swtch_report::terminal::top::TopColumn;
use swtch_trace::SourceKind;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch top                                the whole machine; ? shows the keys\n  \
    swtch top -p 1234 --sort wait            a process and its children, the longest waits first\n  \
    swtch top --cgroup /system.slice/web.service --interval 500ms\n  \
    swtch top --counts                       lower overhead, without preemptions and wake-ups by task\n  \
    swtch top --once                         one second, as text\n  \
    swtch top --json -n 2 | jq '.cgroups[] | {name, tasks}'\n\n\
    Columns to sort by: pid, name, cost, cost-each, switches, voluntary, involuntary, wait, p99, max,\n\
    cpu, wakeups, migrations, preempted, cgroup. Processes also have tasks; CPUs have user, system, irq,\n\
    softirq, steal and idle.\n\
    If standard output is not a terminal, it writes text, one interval after the other.\n\
    Exit status: 0 quit, or all watched processes have exited; 1 failed; 2 wrong usage; 128 + N for\n\
    signal N.")]
pub(crate) struct TopArgs {
    /// Watch the whole machine (the default)
    #[arg(short, long, group = "target")]
    pub(crate) all: bool,
    /// Watch these running processes and their children
    #[arg(short, long, value_name = "PID,...", value_delimiter = ',', group = "target")]
    pub(crate) pid: Vec<u32>,
    /// Watch a cgroup and the cgroups below it
    #[arg(long, value_name = "PATH", group = "target")]
    pub(crate) cgroup: Option<String>,
    /// Time between two snapshots, e.g. 500ms, 1s, 1m
    #[arg(short, long, value_name = "TIME", value_parser = duration, default_value = "1s")]
    pub(crate) interval: Duration,
    /// Sort by this column [default: cost]
    #[arg(short, long, value_name = "COLUMN")]
    pub(crate) sort: Option<TopColumn>,
    /// Show only rows with this text in the name, number or cgroup
    #[arg(short, long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) filter: String,
    /// Read every event, to show which task preempted or woke which (the default)
    #[arg(long, conflicts_with = "counts")]
    pub(crate) events: bool,
    /// Only count, in the kernel: the lowest overhead
    #[arg(long)]
    pub(crate) counts: bool,
    /// With --counts, the share of the time in which every switch is seen, in short windows at random places. Waits, slices and costs come from the windows; the other sums are exact without them. 100% sees every switch, 0 sees none
    #[arg(long, value_name = "SHARE", value_parser = part, default_value = SAMPLE, requires = "counts")]
    pub(crate) sample: f64,
    #[arg(long, value_name = "SOURCE", value_parser = source, help = source_help(&[]))]
    pub(crate) source: Option<SourceKind>,
    /// Price with this Profile instead of this machine's, where the kernel cannot measure the cost
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Print one interval as text (or JSON) and exit
    #[arg(long, conflicts_with = "number")]
    pub(crate) once: bool,
    /// Exit after this number of intervals
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) number: Option<u64>,
    /// Print each interval as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl TopArgs {
    pub(crate) fn mode(&self) -> Mode {
        if self.counts { Mode::Counts } else { Mode::Events }
    }

    pub(crate) fn target(&self) -> Target {
        if self.pid.is_empty() {
            self.cgroup.clone().map_or(Target::Machine, Target::Cgroup)
        } else {
            Target::Processes(self.pid.clone())
        }
    }

    /// After how many windows it ends by itself.
    pub(crate) fn windows(&self) -> Option<u64> {
        if self.once { Some(1) } else { self.number }
    }
}
