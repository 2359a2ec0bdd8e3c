//! Arguments of `swtch sweep`.

use super::{JsonArgs, duration};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use swtch_sweep::parse_array;

const EXAMPLES: &str = "Examples:\n  \
    swtch sweep run grid.toml DIR -o grid.parquet          on this machine\n  \
    swtch sweep run grid.toml DIR --on dask://10.0.0.1:8786\n  \
    swtch sweep run grid.toml DIR --on slurm:compute --workers 20 --jobs 8\n  \
    swtch sweep plan grid.toml DIR                         then, on any machine that sees DIR:\n  \
    swtch sweep work DIR\n  \
    swtch sweep plan grid.toml s3://bucket/grid            machines that share nothing but an object store\n\n\
    The sweep's file is that of 'swtch simulate --sweep', and so is the table, byte for byte. Its runs may be commands\n\
    instead, such as studies of 'swtch sched bench', 'check' and 'faas': docs/sweep.md.\n\
    Everything is in DIR: stop at any moment, and the same command continues.\n\
    Exit status: 0 done, 1 failed or a run failed, 2 wrong usage.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    pub(crate) what: SweepCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Plan a sweep into a directory: what runs, hashes of every input, shards of 2 to 20 s
    Plan(PlanArgs),
    /// Make the runs of a directory until none is left, beside any number of other workers
    Work(WorkArgs),
    /// Plan a sweep and make all its runs here, on Dask or on SLURM
    Run(Box<RunArgs>),
    /// Show how far a sweep is: runs, time left, cost
    Status(StatusArgs),
    /// Print the shards that are not done, as an option of sbatch
    Gaps(GapsArgs),
    /// Make one table of all runs, the same bytes as on one machine
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PlannedArgs {
    /// The sweep: machines, workloads, policies and seeds; or a command and its values
    #[arg(value_name = "GRID.toml")]
    pub(crate) grid: PathBuf,
    /// The directory, on a file system that all workers see; or a place in an object store: s3://, gs://, az://
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Take the costs of the kernel's work from this Profile
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// What a shard costs [default: 2s to 20s, by the size of the sweep]
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub(crate) shard_time: Option<Duration>,
    /// Take a shard from a worker that gives no sign of life for this long
    #[arg(long, value_name = "TIME", value_parser = positive, default_value = "60s")]
    pub(crate) lease: Duration,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  swtch sweep plan grid.toml DIR\n  swtch sweep plan grid.toml SERVER --profile server.json --json"
)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) planned: PlannedArgs,
    /// Try runs from this step on and print what they cost: the process that a plan starts
    #[arg(long, hide = true, value_name = "STEP")]
    pub(crate) try_from: Option<u64>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch sweep work DIR                     every CPU of this machine\n  \
    swtch sweep work DIR --jobs 4 --shards 3,17-19\n  \
    parallel --jobs 0 ssh {} swtch sweep work /shared/DIR ::: node1 node2\n  \
    swtch sweep work s3://bucket/grid\n\n\
    Ctrl-C, SIGTERM: finish the current runs and leave the rest to others; status 0.")]
pub(crate) struct WorkArgs {
    /// The directory of 'swtch sweep plan', or its place in an object store
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) jobs: WorkersArgs,
    /// Make only these shards, e.g. 3,17-19
    #[arg(long, value_name = "LIST", value_parser = list)]
    pub(crate) shards: Option<Shards>,
    /// Begin at part I of N, so that workers that begin apart seldom want the same shard
    #[arg(long, value_name = "I/N", value_parser = super::simulate::shard)]
    pub(crate) start: Option<(u64, u64)>,
    /// Be the one process that a supervisor started
    #[arg(long, hide = true)]
    pub(crate) one: bool,
    /// End as on a signal when standard input ends: for engines, whose own workers may be killed
    #[arg(long, hide = true)]
    pub(crate) until_eof: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Numbers of shards.
#[derive(Clone, Debug)]
pub(crate) struct Shards(pub(crate) Vec<usize>);

#[derive(Debug, Args)]
pub(crate) struct WorkersArgs {
    /// Workers at once, a process each [default: one a core]
    #[arg(long = "jobs", short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
}

impl WorkersArgs {
    pub(crate) fn given(&self) -> Option<usize> {
        self.jobs.map(|jobs| jobs as usize)
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch sweep run grid.toml DIR -o grid.parquet\n  \
    swtch sweep run grid.toml DIR --on dask                  a cluster on this machine\n  \
    swtch sweep run grid.toml DIR --on dask://10.0.0.1:8786  one that runs\n  \
    swtch sweep run grid.toml DIR --on slurm:compute --workers 20 --jobs 8 --time 2:00:00\n\n\
    Dask is in the Python package: pip install 'swtch[dask]'. Its workers, and SLURM's nodes, see DIR under the same path\n\
    and have this version of swtch. Rows never pass through an engine.")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) planned: PlannedArgs,
    /// Where the workers run: here, dask, dask://ADDRESS, slurm or slurm:PARTITION
    #[arg(long, value_name = "ENGINE", value_parser = engine, default_value = "here")]
    pub(crate) on: Engine,
    #[command(flatten)]
    pub(crate) jobs: WorkersArgs,
    /// Write the table there at the end
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Workers of the Dask cluster on this machine, or tasks of the SLURM array [default: one a core; SLURM: by the cost, at most 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) workers: Option<u32>,
    /// With slurm: the time limit of a task, as sbatch takes it
    #[arg(long, value_name = "LIMIT")]
    pub(crate) time: Option<String>,
    /// With slurm: one more option of sbatch, e.g. --sbatch=--account=physics
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) sbatch: Vec<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  swtch sweep status DIR\n  swtch sweep status DIR --json | jq '.done, .left_s'"
)]
pub(crate) struct StatusArgs {
    /// The directory of 'swtch sweep plan', or its place in an object store
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  swtch sweep gaps DIR                     --array=3,17,40-42\n  \
    sbatch $(swtch sweep gaps DIR) --wrap 'swtch sweep work DIR --shards $SLURM_ARRAY_TASK_ID'\n\n\
    It prints nothing when all shards are done.")]
pub(crate) struct GapsArgs {
    /// The directory of 'swtch sweep plan', or its place in an object store
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  swtch sweep merge DIR -o grid.parquet\n  swtch sweep merge DIR -o now.parquet --so-far"
)]
pub(crate) struct MergeArgs {
    /// The directory of 'swtch sweep plan', or its place in an object store
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// The table to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Take what is there, also where runs are missing
    #[arg(long)]
    pub(crate) so_far: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Where workers run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Here,
    /// A cluster by its address, or one on this machine.
    Dask(Option<String>),
    /// A partition, or the default one.
    Slurm(Option<String>),
}

fn engine(text: &str) -> Result<Engine, String> {
    let wrong =
        || format!("'{text}' is not an engine; write here, dask, dask://ADDRESS, slurm or slurm:PARTITION");
    match text {
        "here" => return Ok(Engine::Here),
        "dask" => return Ok(Engine::Dask(None)),
        "slurm" => return Ok(Engine::Slurm(None)),
        _ => {}
    }
    if let Some(address) = text.strip_prefix("dask://").filter(|address| !address.is_empty()) {
        let scheme = if address.contains("://") { "" } else { "tcp://" };
        return Ok(Engine::Dask(Some(format!("{scheme}{address}"))));
    }
    let partition = text.strip_prefix("slurm:").filter(|partition| !partition.is_empty());
    partition.map(|partition| Engine::Slurm(Some(partition.to_owned()))).ok_or_else(wrong)
}

fn list(text: &str) -> Result<Shards, String> {
    parse_array(text).map(Shards)
}

fn positive(text: &str) -> Result<Duration, String> {
    let found = duration(text)?;
    if found.is_zero() { Err(format!("{text} is not more than 0")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_read_as_people_write_them() {
        let dask = |address: &str| Ok(Engine::Dask(Some(address.to_owned())));
        assert_eq!(engine("here"), Ok(Engine::Here));
        assert_eq!(engine("dask"), Ok(Engine::Dask(None)));
        assert_eq!(engine("dask://10.0.0.1:8786"), dask("tcp://10.0.0.1:8786"));
        assert_eq!(engine("dask://tls://a:1"), dask("tls://a:1"));
        assert_eq!(engine("slurm:long"), Ok(Engine::Slurm(Some("long".to_owned()))));
        for text in ["", "ray", "dask://", "slurm:", "slurmlong"] {
            assert!(engine(text).is_err(), "{text}");
        }
    }
}
