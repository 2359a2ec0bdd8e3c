//! Arguments of `swtch record`.

use super::{JsonArgs, SAMPLE, duration, part, size};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use swtch_cost::Price;
use swtch_record::{Cost, Mode, STACK_ENTRIES, Target};
use swtch_trace::SourceKind;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch record -- make -j4                     a command and its children\n  \
    swtch record -a --duration 10s               the whole machine\n  \
    swtch record -a --counts --duration 10s      the same, counted in the kernel\n  \
    swtch record --working-set -- ./server --selftest   also the memory used between switches\n  \
    swtch record --advise -- ./server --selftest        also what to try\n  \
    swtch record --stacks -- ./server --selftest        also which code switches\n  \
    swtch record -p 1234 --duration 30s -o web.swtch\n  \
    swtch record --cgroup /system.slice/web.service --duration 1m\n  \
    swtch record --price 0.05/vcpu-hour --json=bill.json -- ./server --selftest\n\n\
    The command's own output and exit status pass through. The Trace is a directory, NAME.swtch.\n\
    Exit status: the command's, 128 + N for signal N, 127 when it is not found; otherwise 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct RecordArgs {
    /// Record these running processes and their children
    #[arg(short, long, value_name = "PID,...", value_delimiter = ',', group = "target")]
    pub(crate) pid: Vec<u32>,
    /// Record a cgroup and the cgroups below it
    #[arg(long, value_name = "PATH", group = "target")]
    pub(crate) cgroup: Option<String>,
    /// Record the whole machine
    #[arg(short, long, group = "target")]
    pub(crate) all: bool,
    /// Stop after this time, e.g. 10s, 5m; a command is then asked to end
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    #[arg(long, value_name = "SOURCE", value_parser = source, help = source_help(&[]))]
    pub(crate) source: Option<SourceKind>,
    /// Keep every event for the whole recording (by default only for --events-for)
    #[arg(long, conflicts_with = "counts")]
    pub(crate) events: bool,
    /// Make the Trace of the events at the end: the recorder takes less CPU time until then, and leaves no events when it is killed
    #[arg(long, requires = "events", conflicts_with_all = ["counts", "events_for"])]
    pub(crate) defer: bool,
    /// Keep events for this time, then only count
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1m", conflicts_with_all = ["events", "counts"])]
    pub(crate) events_for: Duration,
    /// Only count, in the kernel: hardly any overhead, for hours and days
    #[arg(long)]
    pub(crate) counts: bool,
    /// Where it only counts, the share of the time in which every switch is seen, in short windows at random places. Waits, slices and costs come from the windows; the other sums are exact without them. 100% sees every switch, 0 sees none
    #[arg(long, value_name = "SHARE", value_parser = part, default_value = SAMPLE)]
    pub(crate) sample: f64,
    /// Memory for events that are not yet read, all CPUs together, e.g. 64M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) buffer: Option<u64>,
    /// Where the cost of a switch comes from. in-place: measured at every switch, where the kernel allows it. profile: the Profile's price, at a lower overhead
    #[arg(long, value_name = "WHERE", value_parser = cost)]
    pub(crate) cost: Option<Cost>,
    /// Estimate the memory that tasks use between two switches, which bounds the cost of refilling caches
    #[arg(long)]
    pub(crate) working_set: bool,
    /// Record the code (stacks) that gives up its CPU, is interrupted, or wakes other tasks
    #[arg(long)]
    pub(crate) stacks: bool,
    /// How many different stacks the kernel holds at once
    #[arg(long, value_name = "N", requires = "stacks", default_value_t = STACK_ENTRIES, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) stack_entries: u32,
    /// The Trace to write [default: the first free name of NAME.swtch, NAME-2.swtch, ...]
    #[arg(short, long, value_name = "NAME.swtch")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing Trace at --out when the new one is complete
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Price with this Profile instead of this machine's
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Do not use a Profile, and do not measure one if there is none
    #[arg(long, conflicts_with = "profile")]
    pub(crate) no_profile: bool,
    /// Also print the cost in money, at this price a vCPU-hour, e.g. 0.05/vcpu-hour
    #[arg(long, value_name = "PRICE")]
    pub(crate) price: Option<Price>,
    /// Print advice: what stands out, its evidence, and what to try
    #[arg(long)]
    pub(crate) advise: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// The command to record
    #[arg(last = true, value_name = "COMMAND", group = "target")]
    pub(crate) command: Vec<OsString>,
}

impl RecordArgs {
    pub(crate) fn mode(&self) -> Option<Mode> {
        match (self.events, self.counts) {
            (true, _) => Some(Mode::Events),
            (_, true) => Some(Mode::Counts),
            _ => None,
        }
    }

    pub(crate) fn target(&self) -> Option<Target> {
        if !self.command.is_empty() {
            return Some(Target::Command(self.command.clone()));
        }
        if !self.pid.is_empty() {
            return Some(Target::Processes(self.pid.clone()));
        }
        self.cgroup.clone().map(Target::Cgroup).or_else(|| self.all.then_some(Target::Machine))
    }
}

pub(super) fn source(text: &str) -> Result<SourceKind, String> {
    source_but(text, &[])
}

/// A source by its name, but for those that a command does without.
pub(super) fn source_but(text: &str, without: &[SourceKind]) -> Result<SourceKind, String> {
    let known = SourceKind::from_option(text).filter(|source| !without.contains(source));
    known.ok_or_else(|| {
        let names: Vec<&str> = sources(without).map(|(name, _)| name).collect();
        format!("unknown source '{text}'; the sources are {}", names.join(", "))
    })
}

/// The help of `--source`, from the table of the sources.
pub(super) fn source_help(without: &[SourceKind]) -> String {
    let lines: Vec<String> = sources(without).map(|(name, what)| format!("{name}: {what}")).collect();
    format!("Data source [default: the most detailed one permitted]\n{}", lines.join("\n"))
}

fn sources(without: &[SourceKind]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let hidden: Vec<&str> = without.iter().map(|source| source.facts().option).collect();
    SourceKind::options().filter(move |(name, _)| !hidden.contains(name))
}

fn cost(text: &str) -> Result<Cost, String> {
    Cost::from_name(text).ok_or_else(|| format!("unknown '{text}'; the cost comes from in-place or profile"))
}
