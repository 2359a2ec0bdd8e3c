//! `scx_fair`: fair sharing of cores of several kinds on a stock kernel.
#![forbid(unsafe_code)]

use clap::Parser;
use scx_fair::{Fair, Kinds, Plan, Work};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use swtch_fairness::{Parameters, Policy};
use swtch_scx::{NamedNumbers, Options, Source, parse_duration};
use swtch_topology::Host;
use swtch_units::CpuList;

const SOURCE: Source =
    Source { name: "fair", object: include_bytes!(concat!(env!("OUT_DIR"), "/fair.bpf.o")) };

/// Shares the cores of a machine with two to four kinds of them, fast and slow, among applications.
///
/// Every application gets a share of each kind of core by the policy, in rounds of 30 ms. What it gains from the faster ones is sampled while
/// it runs, and the shares are computed again every two seconds.
#[derive(Debug, Parser)]
#[command(name = "scx_fair", version, after_long_help = MORE)]
struct Args {
    /// The policy that shares out the fast cores. With three or four kinds of cores: all but similar-min-fair.
    #[arg(long, value_name = "NAME", default_value = "min-fair", value_parser = POLICIES)]
    policy: String,
    /// What everybody keeps of its performance under max-fair, 0 to 1 (min-fair, similar-min-fair, uni-fair).
    #[arg(long, value_name = "PART")]
    min_fairness: Option<f64>,
    /// Speedups that differ by less share alike (similar-min-fair).
    #[arg(long, value_name = "DIFFERENCE")]
    similarity: Option<f64>,
    /// The least uniformity, 0 to 1 (uni-fair).
    #[arg(long, value_name = "PART")]
    uniformity: Option<f64>,
    /// The part that is shared alike, 0 to 1 (r-fair).
    #[arg(long, value_name = "PART")]
    r: Option<f64>,
    /// Time between computations of the shares.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    interval: Duration,
    /// A round.
    #[arg(long, value_name = "TIME", default_value = "30ms", value_parser = parse_duration)]
    round: Duration,
    /// The fast CPUs, e.g. 0-1; by default what the kernel says of capacity and frequency.
    #[arg(long, value_name = "CPUS")]
    fast: Option<CpuList>,
    /// The CPUs of two to four kinds, from the fastest kind to the slowest, e.g. 0/1-2/3-5; `kernel`: by the capacities that the kernel
    /// has of them. By default what the kernel says of capacity and frequency.
    #[arg(long, value_name = "CPUS/CPUS...|kernel", conflicts_with = "fast")]
    kinds: Option<String>,
    /// Take speedups from a file instead of sampling. Each line has a command's name, or * for all others, and its speedup over the
    /// slowest kind of core. With more than two kinds it has a number for each faster kind, the fastest first. With --by-cgroup, a
    /// cgroup's path below /sys/fs/cgroup takes the place of the name.
    #[arg(long, value_name = "FILE", conflicts_with = "progress")]
    speedups: Option<PathBuf>,
    /// Applications count their work themselves, in a u64 in their memory; each writes its address, such as 0x7f12, into DIR/PID.
    #[arg(long, value_name = "DIR")]
    progress: Option<PathBuf>,
    /// Applications are cgroups instead of processes.
    #[arg(long, conflicts_with = "progress")]
    by_cgroup: bool,
    /// To try it where all CPUs are alike: hold up the slow ones, so that they are this many times slower than the fastest. Give a number
    /// for every slower kind, e.g. 2,4, or a file. Each line of the file has a command's name and such numbers, with blanks between.
    #[arg(long, value_name = "NUMBERS|FILE")]
    throttle_slow: Option<String>,
    #[command(flatten)]
    options: Options,
}

const POLICIES: [&str; 6] = ["max-fair", "max-perf", "min-fair", "similar-min-fair", "uni-fair", "r-fair"];

const MORE: &str = "\
Good for: programs that compute, on a machine with cores of two to four kinds. Each keeps most of what an equal share would give it, and the
machine gets the most done besides.
Bad for: latency. A task that wakes waits for a slice to end, up to 30 ms, when no core is idle. Tasks that may not use every
CPU stay outside of the sharing.

Without counters of instructions, as in most virtual machines, it needs --speedups or --progress.

Examples:
  scx_fair                                                       min-fair with 85 %, until Ctrl-C
  scx_fair --policy similar-min-fair --similarity 0.2 --for 5m
  scx_fair --policy max-fair --fast 0-1 --throttle-slow 2        where all CPUs are alike
  scx_fair --kinds kernel                                        big and little CPUs as the kernel has them
  scx_fair --kinds 0/1-2/3-5 --policy max-fair --throttle-slow 2,4     three kinds, named
  scx_fair --speedups speedups.txt --only-cgroup /sys/fs/cgroup/batch.slice --json";

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return swtch_scx::report_usage(&error),
    };
    match prepare(&args) {
        Ok(mut fair) => swtch_scx::run(&SOURCE, &args.options, &mut fair),
        Err(problem) => {
            use std::io::Write;
            let _ = writeln!(std::io::stderr().lock(), "scx_fair: {problem}");
            ExitCode::from(2)
        }
    }
}

/// From arguments to a plan.
fn prepare(args: &Args) -> Result<Fair, String> {
    let given = Parameters {
        min_fairness: args.min_fairness,
        similarity: args.similarity,
        uniformity: args.uniformity,
        r: args.r,
        ..Parameters::default()
    };
    let policy = Policy::from_name(&args.policy).and_then(|policy| policy.with(&given));
    let policy = policy.map_err(|error| error.to_string())?;
    let host = Host::read(Path::new("/")).map_err(|error| error.to_string())?;
    let kinds = match (&args.fast, &args.kinds) {
        (Some(fast), _) => Kinds::with_fast(&host.cpus, fast),
        (None, Some(kinds)) if kinds == "kernel" => Kinds::of_kernel(&host.cpus),
        (None, Some(kinds)) => Kinds::named(&host.cpus, kinds),
        (None, None) => Kinds::of(&host.cpus),
    };
    let kinds = kinds.map_err(|error| error.to_string())?;
    let faster = kinds.cpus().len() - 1;
    let plan = Plan {
        kinds,
        policy,
        interval: args.interval,
        round: args.round,
        work: work(args, policy, faster)?,
        throttle: args.throttle_slow.as_deref().map(|text| throttle(text, faster)).transpose()?,
        by_cgroup: args.by_cgroup,
    };
    Fair::new(plan).map_err(|error| error.to_string())
}

/// Where speedups come from; this many kinds of cores are faster than the slowest.
fn work(args: &Args, policy: Policy, faster: usize) -> Result<Work, String> {
    match (&args.speedups, &args.progress) {
        (Some(file), _) => {
            NamedNumbers::read(file, faster).map(Work::Given).map_err(|error| error.to_string())
        }
        (None, Some(directory)) if !directory.is_dir() => {
            Err(format!("{} is not a directory", directory.display()))
        }
        (None, Some(directory)) => Ok(Work::Reported(directory.clone())),
        (None, None) if policy == Policy::MaxFair => Ok(Work::Unknown),
        (None, None) => Ok(Work::Hardware),
    }
}

/// Numbers for this many slower kinds of cores, or the file that has them.
fn throttle(text: &str, slower: usize) -> Result<NamedNumbers, String> {
    if text.split(',').all(|part| part.trim().parse::<f64>().is_ok()) {
        return NamedNumbers::for_all(text, slower).map_err(|error| format!("--throttle-slow {error}"));
    }
    NamedNumbers::read(Path::new(text), slower).map_err(|error| error.to_string())
}
