//! Arguments of `swtch try`.

use super::compare::{RunArgs, templates};
use super::{JsonArgs, words::word};
use crate::output::WrongUsage;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;
use swtch_decide::compare::{Parameter, expand};
use swtch_decide::remedies::{Goal, Wanted};
use swtch_decide::runs::PlannedCommand;
use swtch_sched::SCHEDULERS;
use swtch_vm::Spec;

/// The schedulers that are tried where none are named.
static DEFAULT_SCHEDULERS: LazyLock<String> = LazyLock::new(|| {
    let own = SCHEDULERS.iter().filter(|one| one.compared).map(|one| one.name);
    own.collect::<Vec<_>>().join(",")
});

#[derive(Debug, Args)]
#[command(override_usage = "swtch try [OPTIONS] -- COMMAND\n       swtch try [OPTIONS] 'LINE'")]
#[command(after_help = "Examples:\n  \
    swtch try -- ./server --selftest\n  \
    swtch try --runs 10 --goal cpu-time -- ./server --selftest\n  \
    swtch try --parameter jobs=4,2,1 -- make -j{jobs}       the first value is the present one\n  \
    swtch try --threads-variable RAYON_NUM_THREADS --most 3 --json -- ./server --selftest\n  \
    swtch try -o tried.html -- ./server --selftest          a page\n  \
    swtch try --vm --schedulers flsched -- hackbench -g 1   where the kernel here has no sched_ext\n\n\
    It records the command once, predicts what settings would do, and runs the best of them in turn\n\
    with the command as it is. Settings are made in the processes of the runs, and in cgroups that\n\
    end with swtch: none is left behind. A scheduler has the command's tasks only.\n\
    Exit status: 0 done, 1 failed or interrupted, 2 wrong usage.")]
pub(crate) struct TryArgs {
    /// Runs of the command as it is, and of each setting
    #[arg(short = 'n', long, value_name = "N", default_value_t = 6)]
    pub(crate) runs: usize,
    /// What is to become smaller
    #[arg(long, value_name = "FIGURE", default_value = "time", value_parser = word::<Goal>())]
    pub(crate) goal: Goal,
    #[command(flatten)]
    pub(crate) how: RunArgs,
    /// Try the command with each value in place of {NAME}; the first value is the present one
    #[arg(long, value_name = "NAME=VALUE,...")]
    pub(crate) parameter: Vec<Parameter>,
    /// Environment variable that says how many threads the command starts
    #[arg(long, value_name = "NAME", default_value = "OMP_NUM_THREADS")]
    pub(crate) threads_variable: String,
    /// Also try the real-time class, which goes before everything else on the machine
    #[arg(long)]
    pub(crate) fifo: bool,
    /// Schedulers of sched_ext, or their files, that are tried for the command alone
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = DEFAULT_SCHEDULERS.as_str()
    )]
    pub(crate) schedulers: Vec<String>,
    /// Try everything in a virtual machine, on a kernel with sched_ext; the times are that machine's
    #[arg(long, conflicts_with_all = ["show_output", "profile", "prepare"])]
    pub(crate) vm: bool,
    /// CPUs of the virtual machine
    #[arg(long, value_name = "N", default_value_t = 2, requires = "vm")]
    pub(crate) cpus: u32,
    /// Copy this file or directory into the virtual machine
    #[arg(long, value_name = "FILE", requires = "vm")]
    pub(crate) copy: Vec<PathBuf>,
    /// Remove this cgroup when the input ends
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) guard_group: Option<PathBuf>,
    /// Settings that are run at most
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) most: usize,
    /// Also write the result as a page
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// A line for the shell (sh)
    #[arg(value_name = "LINE")]
    pub(crate) line: Option<String>,
    /// A program and its arguments, run without a shell
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "line")]
    pub(crate) command: Vec<OsString>,
}

impl TryArgs {
    /// The command as it is, then with the other values of its parameters.
    pub(crate) fn planned(&self) -> Result<Vec<PlannedCommand>, WrongUsage> {
        let templates = templates(self.line.as_slice(), &self.command, "try")?;
        if templates.len() > 1 {
            let text = "several commands given; swtch try takes one, and swtch compare several";
            return Err(WrongUsage(text.to_owned()));
        }
        let expanded = expand(&templates, self.how.prepare.as_deref(), &self.parameter);
        expanded.map(|(commands, _)| commands).map_err(|error| WrongUsage(error.to_string()))
    }

    /// The guest that does the same as this process would; `program` is this one.
    pub(crate) fn guest(&self, program: PathBuf) -> Spec {
        let mut command: Vec<OsString> = vec![program.into(), "try".into(), "--json".into()];
        let numbers = [
            ("--runs", self.runs.to_string()),
            ("--goal", self.goal.name().to_owned()),
            ("--warmup", self.how.warmup.to_string()),
            ("--seed", self.how.seed.to_string()),
            ("--threads-variable", self.threads_variable.clone()),
            ("--schedulers", self.schedulers.join(",")),
            ("--most", self.most.to_string()),
        ];
        let times = [("--timeout", self.how.timeout), ("--time-limit", self.how.time_limit)];
        let times =
            times.into_iter().filter_map(|(name, time)| Some((name, format!("{}ms", time?.as_millis()))));
        command
            .extend(numbers.into_iter().chain(times).flat_map(|(name, value)| [name.into(), value.into()]));
        for Parameter { name, values } in &self.parameter {
            command.extend(["--parameter".into(), format!("{name}={}", values.join(",")).into()]);
        }
        let flags = [(self.fifo, "--fifo"), (self.how.ignore_failure, "--ignore-failure")];
        command.extend(flags.into_iter().filter(|(asked, _)| *asked).map(|(_, flag)| flag.into()));
        if let Some(line) = &self.line {
            command.push(line.into());
        } else {
            command.push("--".into());
            command.extend(self.command.iter().cloned());
        }
        Spec { cpus: self.cpus, copy: self.copy.clone(), ..Spec::new(command) }
    }

    pub(crate) fn wanted(&self) -> Wanted {
        Wanted { threads_variable: self.threads_variable.clone(), fifo: self.fifo, most: self.most }
    }
}
