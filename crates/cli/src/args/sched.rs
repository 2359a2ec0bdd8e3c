//! Arguments of `swtch sched`.

use super::guest::arch;
use super::sched_accuracy::AccuracyArgs;
use super::sched_bench::BenchArgs;
use super::sched_bisect::BisectArgs;
use super::sched_get::GetArgs;
use super::sched_load::LoadCommand;
use super::{JsonArgs, size};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;
use swtch_sched::{Policy, SCHEDULERS};
use swtch_units::TextTable;
use swtch_vm::{Arch, Spec};

/// Default number of runs of each policy; exact figures need one.
const RUNS: usize = 5;

/// What `swtch sched compare` compares by default.
static DEFAULT_POLICIES: LazyLock<String> = LazyLock::new(|| {
    let own = SCHEDULERS.iter().filter(|one| one.compared).map(|one| one.name);
    ["stock", "fifo", "rr"].into_iter().chain(own).collect::<Vec<_>>().join(",")
});

#[derive(Debug, Args)]
#[command(subcommand_help_heading = "Commands, and any scx_NAME that 'swtch sched list' shows")]
#[command(override_usage = "swtch sched NAME [OPTIONS OF scx_NAME]\n       swtch sched <COMMAND>")]
#[command(after_help = scheduler_help())]
pub(crate) struct SchedArgs {
    #[command(subcommand)]
    pub(crate) what: SchedCommand,
}

/// What the help of `swtch sched` ends with.
fn scheduler_help() -> String {
    let mut table = TextTable::untitled().left([1]);
    for one in &SCHEDULERS {
        table.row([one.name, one.about]);
    }
    format!("{}\n{EXAMPLES}", table.under("Schedulers of swtch:"))
}

const EXAMPLES: &str = "Examples:\n  \
    swtch sched list\n  \
    swtch sched status\n  \
    swtch sched flsched --for 60s                     the whole machine, for a minute\n  \
    swtch sched flsched --only-pid $(pidof server)    one process and its children\n  \
    swtch sched flsched --only-cgroup /sys/fs/cgroup/batch.slice\n  \
    swtch sched flsched --help                        what it is good for, and its options\n  \
    swtch sched new mine                              writes mine.bpf.c and its test\n  \
    swtch sched mine.bpf.c --set slice_ns=1ms --for 10s\n\n\
    It needs root, runs until Ctrl-C, --for or until the kernel ends it, and says why it ended.\n\
    When swtch ends, however it ends, the scheduler is unloaded and the kernel's own runs again.\n\
    Options of swtch's own schedulers: --for TIME, --only-pid PID, --only-cgroup PATH,\n\
    --stats SECONDS, --json, and what their --help says. Of others: --for TIME, and their own.\n\
    Exit status: 0 ended as asked, 1 failed or ended by the kernel, 2 wrong usage.";

#[derive(Debug, Subcommand)]
pub(crate) enum SchedCommand {
    /// Show which scheduler runs, and what the kernel reports about it
    Status(JsonArgs),
    /// List the schedulers in swtch's directory, on PATH and in the cache
    List(JsonArgs),
    /// Install schedulers of others, from Cargo's registry
    Get(GetArgs),
    /// Write a commented scheduler, NAME.bpf.c, and its test
    New(NewArgs),
    /// Run a command under several schedulers in turn, and compare them in one table
    Compare(Box<CompareArgs>),
    /// Run many loads under several schedulers in virtual machines, and print one table
    Bench(Box<BenchArgs>),
    /// Find the version of a scheduler that made a load slower
    Bisect(Box<BisectArgs>),
    /// Run loads in virtual machines and simulate them, and print how far the simulator is off
    Accuracy(Box<AccuracyArgs>),
    /// Run a load of 'swtch sched bench' that no package has
    #[command(hide = true, subcommand)]
    Load(LoadCommand),
    /// Makes a program die with the process that starts it
    #[command(hide = true)]
    DieWithParent(DieWithParentArgs),
    #[command(external_subcommand)]
    Run(Vec<OsString>),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch sched new mine\n  \
    sh mine.test.sh                                   compiles it and runs it in a virtual machine\n  \
    swtch sched mine.bpf.c --for 10s                  runs it here\n\n\
    No file is overwritten. Exit status: 0 done, 1 failed.")]
pub(crate) struct NewArgs {
    /// Its name: letters, digits and _
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The directory to write into [default: this one]
    #[arg(short, long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct DieWithParentArgs {
    pub(crate) parent: u32,
    #[arg(last = true)]
    pub(crate) program: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch sched compare --policies stock,fifo,rr -- sleep 0.1\n  \
    swtch sched compare --vm --runs 2 --no-record --policies stock,flsched -- hackbench -p -g 1 -l 20\n  \
    swtch sched compare --vm --deterministic --policies stock,'flsched --slice 20ms' -- hackbench -p -g 1 -l 20\n\n\
    Policies: stock (as the command is), fifo and rr (real-time, priority 1), any scheduler of\n\
    'swtch sched list', and any file of one: mine.bpf.c, 'mine.bpf.c --set slice_ns=1ms', mine.o. The command runs once under each to warm up, then --runs times in turn, and\n\
    once more recorded, for waits and the bill. Its output is not shown.\n\
    Figures of hackbench, cyclictest and schbench are known. A pattern is a regular expression with\n\
    one group around the figure.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct CompareArgs {
    /// Policies; the first is the baseline. A scheduler's options follow in the same word
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = DEFAULT_POLICIES.as_str()
    )]
    pub(crate) policies: Vec<Policy>,
    /// Counted runs of each policy [default: 5; with --deterministic: 1]
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<usize>,
    /// Only count: print no waits and no bill
    #[arg(long)]
    pub(crate) no_record: bool,
    /// Compare a figure of the command's output, of which less is better, e.g. 'p99: (\d+)'
    #[arg(long, value_name = "PATTERN")]
    pub(crate) metric: Vec<String>,
    /// The same of a figure of which more is better, e.g. 'rps: (\d+)'
    #[arg(long, value_name = "PATTERN")]
    pub(crate) rate: Vec<String>,
    /// Write what the command prints, POLICY.txt, and the Traces, POLICY.swtch, into this directory
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run in a virtual machine, on a kernel with sched_ext
    #[arg(long)]
    pub(crate) vm: bool,
    /// Architecture of the virtual machine; another than this machine's runs Debian's programs
    #[arg(long, value_name = "ARCH", value_parser = arch(), default_value_t = Arch::default(), requires = "vm")]
    pub(crate) arch: Arch,
    /// Count instructions instead of time, and boot once a policy: the same command gives the same figures
    #[arg(long, requires = "vm")]
    pub(crate) deterministic: bool,
    /// CPUs of the virtual machine
    #[arg(long, value_name = "N", default_value_t = 4, requires = "vm")]
    pub(crate) cpus: u32,
    /// Fast and slow CPUs that the kernel knows of: a machine of 'swtch simulate', or a specification with one (arm64)
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "cpus", requires = "vm")]
    pub(crate) machine: Option<String>,
    /// Give the kernel an energy model of the CPUs of --machine, by which stock places tasks (arm64)
    #[arg(long, requires = "machine")]
    pub(crate) energy_model: bool,
    /// Debian package that the virtual machine has besides, where it is of another architecture
    #[arg(long, value_name = "NAME", requires = "vm")]
    pub(crate) package: Vec<String>,
    /// Memory of the virtual machine
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1G", requires = "vm")]
    pub(crate) memory: u64,
    /// Kernel of the virtual machine: an image (vmlinuz, bzImage), or a version of Debian's, e.g. 7.2
    #[arg(long, value_name = "KERNEL", requires = "vm")]
    pub(crate) kernel: Option<PathBuf>,
    /// Copy this file or directory into the virtual machine
    #[arg(long, value_name = "FILE", requires = "vm")]
    pub(crate) copy: Vec<PathBuf>,
    /// Emulate the CPUs even if KVM works
    #[arg(long, requires = "vm")]
    pub(crate) emulate: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// The command to run under each policy
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl CompareArgs {
    pub(crate) fn runs(&self) -> usize {
        self.runs.unwrap_or(if self.deterministic { 1 } else { RUNS })
    }

    /// The guest, without the CPUs of [`machine`](Self::machine).
    pub(crate) fn guest(&self) -> Spec {
        Spec {
            arch: self.arch,
            packages: self.package.clone(),
            cpus: self.cpus,
            energy_model: self.energy_model,
            memory_mib: self.memory >> 20,
            kernel: self.kernel.clone(),
            copy: self.copy.clone(),
            deterministic: self.deterministic,
            emulate: self.emulate,
            ..Spec::new(self.command.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn sched(line: &[&str]) -> Result<SchedCommand, clap::Error> {
        let words = ["swtch", "sched"].iter().chain(line);
        match Cli::try_parse_from(words)?.command {
            Command::Sched(args) => Ok(args.what),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn other_words_are_schedulers_with_options_of_their_own() {
        let SchedCommand::Run(words) = sched(&["flsched", "--slice", "5ms", "--help"]).unwrap() else {
            panic!()
        };
        assert_eq!(words, ["flsched", "--slice", "5ms", "--help"]);
    }

    #[test]
    fn policies_may_have_options_and_exact_figures_need_one_run() {
        let line =
            ["compare", "--vm", "--deterministic", "--policies", "rr,flsched --slice 5ms", "--", "true"];
        let SchedCommand::Compare(args) = sched(&line).unwrap() else { panic!() };
        let names: Vec<String> = args.policies.iter().map(Policy::to_string).collect();
        assert_eq!((names.join("|").as_str(), args.runs()), ("rr|flsched --slice 5ms", 1));
        let SchedCommand::Compare(args) = sched(&["compare", "--", "true"]).unwrap() else { panic!() };
        assert_eq!((args.policies.len(), args.runs()), (5, 5));
        assert!(sched(&["compare", "--deterministic", "--", "true"]).is_err());
    }
}
