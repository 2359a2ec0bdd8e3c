//! `scx_fair`: fair sharing of fast and slow cores on a stock kernel.
#![forbid(unsafe_code)]

use clap::Parser;
use scx_fair::{Fair, NamedNumbers, Plan, Work, fast_cpus};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use swtch_fairness::{Parameters, Policy};
use swtch_scx::{Options, Source, parse_duration};
use swtch_topology::Host;
use swtch_units::CpuList;

const SOURCE: Source =
    Source { name: "fair", object: include_bytes!(concat!(env!("OUT_DIR"), "/fair.bpf.o")) };

/// Shares the fast cores of a machine with fast and slow ones among applications.
///
/// Every application gets a share of the fast cores by the policy, in rounds of 30 ms. What it gains from a fast core is sampled while it
/// runs, and the shares are computed anew every two seconds.
#[derive(Debug, Parser)]
#[command(name = "scx_fair", version, after_long_help = MORE)]
struct Args {
    /// Who gets the fast cores.
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
    /// Take speedups from a file instead of sampling: a command's name and its speedup a line, * for all others. With --by-cgroup, a control
    /// group's path below /sys/fs/cgroup instead of the command's name.
    #[arg(long, value_name = "FILE", conflicts_with = "progress")]
    speedups: Option<PathBuf>,
    /// Applications count their work themselves, in a u64 in their memory; each writes its address, such as 0x7f12, into FOLDER/PID.
    #[arg(long, value_name = "FOLDER")]
    progress: Option<PathBuf>,
    /// Applications are control groups instead of processes.
    #[arg(long, conflicts_with = "progress")]
    by_cgroup: bool,
    /// To try it where all CPUs are alike: hold up the slow ones, so that they are this many times slower; a number, or a file with a
    /// command's name and a number a line.
    #[arg(long, value_name = "NUMBER|FILE")]
    throttle_slow: Option<String>,
    #[command(flatten)]
    options: Options,
}

const POLICIES: [&str; 6] = ["max-fair", "max-perf", "min-fair", "similar-min-fair", "uni-fair", "r-fair"];

const MORE: &str = "\
Good for: programs that compute, on a machine with fast and slow cores, when each is to keep most of what an equal share would give it, and
the machine is to get the most done besides.
Bad for: what somebody waits for: a task that wakes waits for a slice to end, up to 30 ms, when no core is idle. Tasks that may not use every
CPU stay outside of the sharing.

Without counters of instructions, as in most virtual machines, it needs --speedups or --progress.

Examples:
  scx_fair                                                       min-fair with 85 %, until Ctrl-C
  scx_fair --policy similar-min-fair --similarity 0.2 --for 5m
  scx_fair --policy max-fair --fast 0-1 --throttle-slow 2        where all CPUs are alike
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
    let fast = fast_cpus(&host.cpus, args.fast.as_ref()).map_err(|error| error.to_string())?;
    let plan = Plan {
        fast,
        cpus: host.cpus.iter().map(|cpu| cpu.id).collect(),
        policy,
        interval: args.interval,
        round: args.round,
        work: work(args, policy)?,
        throttle: args.throttle_slow.as_deref().map(throttle).transpose()?,
        by_cgroup: args.by_cgroup,
    };
    Fair::new(plan).map_err(|error| error.to_string())
}

fn work(args: &Args, policy: Policy) -> Result<Work, String> {
    match (&args.speedups, &args.progress) {
        (Some(file), _) => NamedNumbers::read(file).map(Work::Given).map_err(|error| error.to_string()),
        (None, Some(folder)) if !folder.is_dir() => Err(format!("{} is no folder", folder.display())),
        (None, Some(folder)) => Ok(Work::Reported(folder.clone())),
        (None, None) if policy == Policy::MaxFair => Ok(Work::Unknown),
        (None, None) => Ok(Work::Hardware),
    }
}

fn throttle(text: &str) -> Result<NamedNumbers, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 1.0 => Ok(NamedNumbers::for_all(number)),
        Ok(_) => Err(format!("--throttle-slow {text}: expected a number of at least 1")),
        Err(_) => NamedNumbers::read(Path::new(text)).map_err(|error| error.to_string()),
    }
}
