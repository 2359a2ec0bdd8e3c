//! Arguments in: the only place that knows the command line.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod documentation;
pub(crate) mod export;
pub(crate) mod groups;
pub(crate) mod guest;
pub(crate) mod import;
pub(crate) mod keep;
pub(crate) mod otlp;
pub(crate) mod probe;
pub(crate) mod record;
pub(crate) mod sched;
pub(crate) mod sched_accuracy;
pub(crate) mod sched_bench;
pub(crate) mod sched_bisect;
pub(crate) mod sched_get;
pub(crate) mod sched_load;
pub(crate) mod serve;
pub(crate) mod shares;
pub(crate) mod simulate;
pub(crate) mod sweep;
pub(crate) mod top;
pub(crate) mod try_settings;
pub(crate) mod vm;
pub(crate) mod why;
mod words;

pub(crate) use crate::output::JsonArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use documentation::{BookArgs, ExplainArgs};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use swtch_cost::Price;
use swtch_decide::Verdict;
use swtch_measure::{Access, Class, Method, Preset};
use swtch_topology::Placement;
use swtch_units::Bytes;
use words::word;

/// What context switches cost: on this machine, in this workload, in money.
#[derive(Debug, Parser)]
#[command(name = "swtch", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Any program swtch-NAME on PATH runs as 'swtch NAME'.\n\nExamples:\n  \
    swtch doctor                      what this machine allows\n  \
    swtch measure --quick             what a switch costs here, in ten seconds\n  \
    swtch record -- make -j4          what the switches of a command cost it\n  \
    swtch top                         what every task's switches cost right now\n  \
    swtch report -o report.html       the last measurement as a page")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what this machine allows, and how to enable the rest
    Doctor(DoctorArgs),
    /// Measure what a context switch costs on this machine
    Measure(Box<MeasureArgs>),
    /// Record a workload, and what its context switches cost
    Record(Box<record::RecordArgs>),
    /// Show what context switches cost right now, task by task, on a live screen
    Top(Box<top::TopArgs>),
    /// Show what made the slowest requests slow: CPU, run queue, blocking, quota, interrupts, hypervisor
    Why(Box<why::WhyArgs>),
    /// Compare commands by repeated runs in random order: time, CPU time, switches, waits
    Compare(Box<compare::CompareArgs>),
    /// Check budgets for context switches: a regression guard for CI
    Check(Box<check::CheckArgs>),
    /// Show what differs between two recordings, Profiles or studies: a verdict, how much, and which tasks
    Diff(Box<diff::DiffArgs>),
    /// Try settings on a command: fewer threads, one CPU, longer slices; and say which to keep
    Try(Box<try_settings::TryArgs>),
    /// Measure what an interruption costs a command, by interrupting it
    Probe(Box<probe::ProbeArgs>),
    /// Draw one page of Profiles, Traces or studies
    Report(ReportArgs),
    /// Serve metrics of the whole machine to Prometheus
    Serve(Box<serve::ServeArgs>),
    /// Write what 'swtch serve --keep' keeps as a Trace: what happened in the last minute
    Dump(keep::DumpArgs),
    /// Convert a Trace for other programs: Perfetto, Parquet, CSV, Prometheus
    Export(export::ExportArgs),
    /// Convert a recording of perf or ftrace to a Trace
    Import(import::ImportArgs),
    /// Predict what another scheduler or machine would do
    Simulate(Box<simulate::SimulateArgs>),
    /// Simulate all combinations of a sweep: on this machine, many machines, Dask or SLURM
    Sweep(Box<sweep::SweepArgs>),
    /// Compute each application's share of the fast cores under the fair policies
    Shares(Box<shares::SharesArgs>),
    /// Run a sched_ext scheduler on this kernel, or compare schedulers
    Sched(sched::SchedArgs),
    /// Run a command on a sched_ext kernel in a virtual machine
    Vm(Box<vm::VmArgs>),
    /// Print the JSON Schema of a file that swtch writes
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print a manual page, or write all of them
    Man(ManArgs),
    /// Explain a term, or list all terms
    Explain(ExplainArgs),
    /// Open the documentation in a browser
    Book(BookArgs),
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  swtch doctor\n  swtch doctor --json | jq '.capabilities[] | select(.state != \"ok\")'"
)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch measure --quick                        c1 of every method, a coarse sweep, in 10 s\n  \
    swtch measure                                everything this machine has, in 90 s\n  \
    swtch measure --method pipe,futex --placement same-cpu,shared-l3\n  \
    swtch measure --sizes 64K,1M,8M --strides 8,64 --access read\n  \
    swtch measure --quick --out now.json --compare last-week.json\n\n\
    The Profile goes to --out, or becomes this machine's profile ($XDG_STATE_HOME/swtch/profile.json).\n\
    Exit status: 0 done, 1 failed or interrupted, 2 wrong usage.")]
pub(crate) struct MeasureArgs {
    /// Measure for at most 10 s: c1 of every method, a coarse sweep of sizes
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Measure for at most 15 minutes: every stride and access at every size
    #[arg(long)]
    pub(crate) full: bool,
    /// How the two tasks hand over the CPU
    #[arg(long, value_delimiter = ',', value_name = "METHOD,...", value_parser = word::<Method>())]
    pub(crate) method: Option<Vec<Method>>,
    /// Array sizes of the total cost, e.g. 64K,1M
    #[arg(long, value_delimiter = ',', value_name = "SIZE,...", value_parser = size)]
    pub(crate) sizes: Option<Vec<u64>>,
    /// Strides of the total cost, e.g. 8,64,4K
    #[arg(long, value_delimiter = ',', value_name = "SIZE,...", value_parser = size)]
    pub(crate) strides: Option<Vec<u64>>,
    /// What the tasks do with each element of an array
    #[arg(long, value_delimiter = ',', value_name = "ACCESS,...", value_parser = word::<Access>())]
    pub(crate) access: Option<Vec<Access>>,
    /// Where the tasks run
    #[arg(long, value_delimiter = ',', value_name = "PLACE,...", value_parser = word::<Placement>())]
    pub(crate) placement: Option<Vec<Placement>>,
    /// Scheduling classes
    #[arg(long, value_delimiter = ',', value_name = "CLASS,...", value_parser = word::<Class>())]
    pub(crate) class: Option<Vec<Class>>,
    /// Stop a condition when its 95 % confidence interval is within this share of the median, e.g. 1%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) precision: Option<f64>,
    /// Stop the whole command after this time, e.g. 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Largest array of the sweep, e.g. 8M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_array: Option<u64>,
    /// Seed of the random order of conditions
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Write the Profile to this file, and its samples to NAME.samples.parquet
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result and do not save it
    #[arg(long, conflicts_with = "out")]
    pub(crate) no_save: bool,
    /// Report what changed since this Profile
    #[arg(long, value_name = "OLD.json")]
    pub(crate) compare: Option<PathBuf>,
    /// With --compare: compare with this Profile instead of measuring
    #[arg(long, value_name = "NEW.json", requires = "compare")]
    pub(crate) with: Option<PathBuf>,
    /// With --compare: fail with status 3 when this is the verdict
    #[arg(long, value_name = "VERDICT", requires = "compare", value_parser = word::<Verdict>())]
    pub(crate) fail_if: Option<Verdict>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

impl MeasureArgs {
    pub(crate) fn preset(&self) -> Preset {
        match (self.quick, self.full) {
            (true, _) => Preset::Quick,
            (_, true) => Preset::Full,
            _ => Preset::Default,
        }
    }

    /// Whether only a part of what the preset has was asked for.
    pub(crate) fn partial(&self) -> bool {
        self.method.is_some()
            || self.sizes.is_some()
            || self.strides.is_some()
            || self.access.is_some()
            || self.placement.is_some()
            || self.class.is_some()
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  swtch report -o report.html\n  \
    swtch report board.json server.json -o side-by-side.html\n  \
    swtch report before.swtch after.swtch -o traces.html\n  \
    swtch report cloud/ edge/ -o machines.html\n  \
    swtch report faas-tiers/ -o tiers.html\n  \
    swtch report python.json go.json -o languages.html\n  \
    swtch report policies.parquet -o policies.html")]
pub(crate) struct ReportArgs {
    /// Files of one kind: Profiles, Traces, studies, functions or sweeps. Traces are directories NAME.swtch, studies those of 'swtch ai run', functions those of 'swtch faas tiers' or responses of handlers, sweeps tables in Parquet [default: this machine's Profile]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Price Traces with this Profile instead of this machine's
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Also print the cost in money, at this price a vCPU-hour, e.g. 0.05/vcpu-hour
    #[arg(long, value_name = "PRICE")]
    pub(crate) price: Option<Price>,
    #[command(flatten)]
    pub(crate) spans: why::SpanArgs,
    /// The page to write; one that exists is replaced [default: report.html, or the first free report-N.html]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  swtch schema profile > profile-2.schema.json\n  \
    swtch schema trace > trace-3.schema.json\n  \
    swtch schema diff > diff-1.schema.json")]
pub(crate) struct SchemaArgs {
    /// The kind of file
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch completions bash > ~/.local/share/bash-completion/completions/swtch\n  \
    swtch completions zsh > ~/.zfunc/_swtch      (a directory in $fpath)\n  \
    swtch completions fish > ~/.config/fish/completions/swtch.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  swtch man record | man -l -\n  \
    swtch man sched compare > swtch-sched-compare.1\n  \
    swtch man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The command, e.g. 'sched compare' [default: swtch itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this directory
    #[arg(short, long, value_name = "DIRECTORY", conflicts_with = "command")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaOf {
    /// `swtch/profile/2`
    Profile,
    /// `swtch/trace/3`, the header
    Trace,
    /// `swtch/compare/1`
    Compare,
    /// `swtch/accuracy/1`
    Accuracy,
    /// `swtch/check/1`
    Check,
    /// `swtch/diff/1`
    Diff,
    /// `swtch/probe/1`
    Probe,
    /// `swtch/try/1`
    Try,
}

fn size(text: &str) -> Result<u64, String> {
    text.parse::<Bytes>().map(Bytes::get).map_err(|error| error.to_string())
}

fn share(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}' is not a share; write 1% or 0.01");
    match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|value| value / 100.0).map_err(|_| wrong()),
        None => text.trim().parse().map_err(|_| wrong()),
    }
}

/// The default of `--sample`: [`swtch_record::DEFAULT_SAMPLE`].
const SAMPLE: &str = "2%";

/// A share of the whole.
fn part(text: &str) -> Result<f64, String> {
    let found = share(text)?;
    if (0.0..=1.0).contains(&found) { Ok(found) } else { Err(format!("{text} is not between 0 and 100%")) }
}

/// With a unit, or in seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    swtch_units::parse_duration(text).map_err(|error| error.to_string())
}

/// Help and version go out as they are; a mistake becomes one line and status 2.
pub(crate) fn report(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        crate::output::print(&error.render().to_string());
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        crate::output::complain_text(text.trim_end());
        return ExitCode::from(2);
    }
    // clap's first paragraph says what is wrong; the rest is usage, which --help has.
    let what: Vec<&str> = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    let what = what.join(" ");
    let what = what.strip_prefix("error: ").unwrap_or(&what);
    let meant = error.get(clap::error::ContextKind::SuggestedArg);
    let meant = meant.map_or_else(String::new, |argument| format!(" (did you mean {argument}?)"));
    crate::output::complain_text(&format!("swtch: {what}{meant}; see --help"));
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_and_shares_are_read_as_people_write_them() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        for text in ["", "s", "-1s", "1x", "nan", "1e400s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("0.02"), Ok(0.02));
        assert!(share("one").is_err());
    }
}
