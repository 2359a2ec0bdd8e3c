//! Arguments of `swtch simulate`.

use super::JsonArgs;
use super::words::{NameAndMeaning, NamesOf};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use std::path::PathBuf;
use std::time::Duration;
use swtch_sim::Jitter;
use swtch_sim::machine::MACHINES;
use swtch_sim::policies::policies;
use swtch_sim::workloads::{PARAMETERS, ParameterRow, WORKLOADS};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch simulate hackbench --groups 2 --machine 64 --policies eevdf,cfs,rr,fifo\n  \
    swtch simulate schbench --workers 8 --machine 2f4s --policies eevdf,cfs --hooks\n  \
    swtch simulate npb:program=is,threads=64,scale=0.1 --machine xeon-phi-31s1p --json\n  \
    swtch simulate mix --speedups 3,2,1.2 --work 200ms --machine 2f4s --policies eevdf,rr\n  \
    swtch simulate pipeline.toml --out traces\n  \
    swtch simulate replay run.swtch --policies eevdf,cfs\n  \
    swtch simulate replay run.swtch --set sched-pipe:nice=19 --with spin:tasks=2,work_ns=0\n  \
    swtch simulate --sweep grid.toml --out grid.parquet\n\n\
    SPEC: a workload by name, with parameters as options or as NAME:KEY=VALUE,...; a specification\n\
    FILE.toml, or - for one from standard input; FILE.json of rt-app; or replay and a Trace.\n\
    Policies: by name, or FILE.bpf.c (a sched_ext scheduler); parameters follow a colon, as in\n\
    min-fair:min-fairness=0.9. Times: 250us, 2ms, 1.5s.\n\
    Exit status: 0 done, 1 failed or interrupted, 2 wrong usage or an invalid specification.")]
pub(crate) struct SimulateArgs {
    /// The workload: a name, FILE.toml, - for standard input, FILE.json of rt-app, or replay
    #[arg(value_name = "SPEC", required_unless_present = "sweep", value_parser = NamesOf(workloads))]
    pub(crate) spec: Option<String>,
    /// With replay: the Trace to run again
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<PathBuf>,
    /// The machine by name, or a number of CPUs [default: this machine; replay: the recording's]
    #[arg(long, value_name = "NAME|N", value_parser = NamesOf(machines))]
    pub(crate) machine: Option<String>,
    /// Take the costs of the kernel's work from this Profile
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Policies to compare [default: eevdf; replay: the recording's, which it always adds]
    #[arg(long, value_name = "POLICY,...", value_parser = NamesOf(all_policies))]
    pub(crate) policies: Option<String>,
    /// Seed of the random numbers [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Random differences that the workload does not ask for. typical: starts within 20 us, work within 1 %, the first task's CPU and when the
    /// first tick comes, as on an ordinary machine; counted: starts within 1.6 us, one child of ten 30 % slower to its first step, CPU and tick
    /// as before, as in a virtual machine that counts instructions [default: counted with a Profile of emulated CPUs, else typical]
    /// [possible values: typical, counted, none]
    #[arg(long, value_name = "NAME", value_parser = jitter)]
    pub(crate) jitter: Option<Jitter>,
    /// Stop the run after this much simulated time
    #[arg(long, value_name = "TIME", value_parser = super::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Abort a run that has not ended after this much simulated time [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = super::duration, allow_hyphen_values = true)]
    pub(crate) limit: Option<Duration>,
    /// Write a Trace of each policy into this directory; with --sweep, the table to write
    #[arg(short, long, value_name = "DIR|FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Run all combinations of a sweep's machines, workloads, policies and seeds, on every core
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with_all = ["spec", "machine", "policies", "seed", "jitter", "duration", "limit", "hooks", "set", "with", "without", "seeds"])]
    pub(crate) sweep: Option<PathBuf>,
    /// Run only part I of N of the sweep
    #[arg(long, value_name = "I/N", requires = "sweep", value_parser = shard)]
    pub(crate) shard: Option<(u64, u64)>,
    /// Threads of the sweep [default: one a core]
    #[arg(long = "jobs", short, value_name = "N", requires = "sweep", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// With replay: change tasks by name. Keys: nice, policy (other, batch, idle), cpus, threads, weight and max
    #[arg(long, value_name = "NAME:KEY=VALUE,...")]
    pub(crate) set: Vec<String>,
    /// Run another workload beside it, such as spin:tasks=2,work_ns=0; it is not waited for
    #[arg(long, value_name = "WORKLOAD|FILE.toml")]
    pub(crate) with: Vec<String>,
    /// With replay: take tasks away by name
    #[arg(long, value_name = "NAME")]
    pub(crate) without: Vec<String>,
    /// With replay: run each policy with this many seeds [default: 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: Option<u32>,
    /// Also print the calls and times of the scheduling class's hooks
    #[arg(long)]
    pub(crate) hooks: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Simulate every timer tick, also those that decide nothing
    #[arg(long, hide = true)]
    pub(crate) every_tick: bool,
    #[command(flatten)]
    pub(crate) parameters: Parameters,
}

/// Parameters of workloads by name, as far as they were given.
#[derive(Debug, Default)]
pub(crate) struct Parameters(pub(crate) Vec<(&'static ParameterRow, String)>);

impl Args for Parameters {
    fn augment_args(command: Command) -> Command {
        command.next_help_heading("Parameters of workloads").args(PARAMETERS.iter().map(|row| {
            let arg = Arg::new(row.option).long(row.option).help(row.meaning);
            match row.value {
                "" => arg.action(ArgAction::SetTrue),
                value => arg
                    .value_name(value)
                    .value_parser(|text: &str| row.read(text))
                    .allow_hyphen_values(matches!(value, "TIME" | "N,...")),
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Parameters {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |row: &'static ParameterRow| match row.value {
            "" => matches.get_flag(row.option).then(|| (row, "true".to_owned())),
            _ => matches.get_one::<String>(row.option).map(|value| (row, value.clone())),
        };
        Ok(Self(PARAMETERS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn workloads() -> Vec<NameAndMeaning> {
    let replay = ("replay", "the work of a recorded Trace");
    WORKLOADS.iter().map(|row| (row.name, row.meaning)).chain([replay]).collect()
}

fn machines() -> Vec<NameAndMeaning> {
    MACHINES.iter().map(|row| (row.name, row.meaning)).collect()
}

fn all_policies() -> Vec<NameAndMeaning> {
    policies().map(|row| (row.name, row.meaning)).collect()
}

fn jitter(text: &str) -> Result<Jitter, String> {
    Jitter::named(text).map_err(|error| error.to_string())
}

pub(crate) fn shard(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("'{text}' is not a part; write 1/4 for the first of four");
    let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
    let (part, parts) = (part.parse().map_err(|_| wrong())?, parts.parse().map_err(|_| wrong())?);
    if parts == 0 || part == 0 || part > parts { Err(wrong()) } else { Ok((part, parts)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(shard("1/4"), Ok((1, 4)));
        for text in ["0/4", "5/4", "1", "a/b", "1/0", "-1/2"] {
            assert!(shard(text).is_err(), "{text}");
        }
    }
}
