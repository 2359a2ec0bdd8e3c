//! Loads: what is run, and which figures of its output are kept. A file each in `loads/`.

use crate::better::Better;
use crate::compare::{Metric, Policy};
use crate::error::SchedError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The files, by the name of the load.
static FILES: [(&str, &str); 32] = [
    ("hackbench-pipe-process", include_str!("../../loads/hackbench-pipe-process.toml")),
    ("hackbench-pipe-thread", include_str!("../../loads/hackbench-pipe-thread.toml")),
    ("hackbench-socket-process", include_str!("../../loads/hackbench-socket-process.toml")),
    ("hackbench-socket-thread", include_str!("../../loads/hackbench-socket-thread.toml")),
    ("perf-pipe", include_str!("../../loads/perf-pipe.toml")),
    ("perf-pipe-thread", include_str!("../../loads/perf-pipe-thread.toml")),
    ("perf-messaging", include_str!("../../loads/perf-messaging.toml")),
    ("cyclictest", include_str!("../../loads/cyclictest.toml")),
    ("schbench", include_str!("../../loads/schbench.toml")),
    ("saturated", include_str!("../../loads/saturated.toml")),
    ("fork-storm", include_str!("../../loads/fork-storm.toml")),
    ("frames-saturated", include_str!("../../loads/frames-saturated.toml")),
    ("frames-fork-storm", include_str!("../../loads/frames-fork-storm.toml")),
    ("launch", include_str!("../../loads/launch.toml")),
    ("fairness", include_str!("../../loads/fairness.toml")),
    ("weights", include_str!("../../loads/weights.toml")),
    ("quota", include_str!("../../loads/quota.toml")),
    ("crowd", include_str!("../../loads/crowd.toml")),
    ("rt-app-frames", include_str!("../../loads/rt-app-frames.toml")),
    ("rt-app-sleeps", include_str!("../../loads/rt-app-sleeps.toml")),
    ("sysbench-threads", include_str!("../../loads/sysbench-threads.toml")),
    ("sysbench-mutex", include_str!("../../loads/sysbench-mutex.toml")),
    ("redis", include_str!("../../loads/redis.toml")),
    ("nginx", include_str!("../../loads/nginx.toml")),
    ("pgbench", include_str!("../../loads/pgbench.toml")),
    ("compress", include_str!("../../loads/compress.toml")),
    ("compile", include_str!("../../loads/compile.toml")),
    ("stress-switch", include_str!("../../loads/stress-switch.toml")),
    ("stress-fork", include_str!("../../loads/stress-fork.toml")),
    ("stress-futex", include_str!("../../loads/stress-futex.toml")),
    ("stress-mutex", include_str!("../../loads/stress-mutex.toml")),
    ("stress-yield", include_str!("../../loads/stress-yield.toml")),
];

/// The figure that is the time from a load's start to its end.
pub const WHOLE_RUN: &str = "whole run";

/// The program that needs no package.
const OWN: &str = "swtch";

/// Where a program is, by its name or its whole path.
pub(super) fn file_of(program: &String) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.is_absolute() {
        path.exists().then(|| path.to_owned())
    } else {
        swtch_vm::program_on_path(program)
    }
}

static LOADS: LazyLock<Vec<Load>> = LazyLock::new(|| {
    FILES.iter().filter_map(|(name, text)| Some(read(text).ok()?.sized(name))).flatten().collect()
});

/// A command to run under schedulers, and what its output says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Its name: that of its file, and its size.
    #[serde(default)]
    pub name: String,
    /// What it does, in one line.
    pub about: String,
    /// The command, its program first.
    pub command: Vec<String>,
    /// Sizes: each is a load of its own, in whose command it replaces `{size}`. `--quick` runs the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<u32>,
    /// Other programs that the command starts; files and directories by their whole path.
    #[serde(default)]
    pub copy: Vec<String>,
    /// The packages of Debian that have the programs, where not every system has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<String>,
    /// Whether `--quick` runs it.
    #[serde(default)]
    pub quick: bool,
    /// The figures that schedulers are compared by.
    pub metrics: Vec<LoadMetric>,
    /// Policies under which it does not end: a load that computes until another of its tasks ends it waits for ever under FIFO.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never_ends_under: Vec<String>,
    /// What stands for it in the simulator, where something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedLoad>,
}

/// What stands for a load in the simulator. Its time is that of the load's first figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulatedLoad {
    /// As `swtch simulate` takes it: a workload by name, with parameters, or the text of a file. `{alone}` is replaced by the time of the load `alone`,
    /// in ns. In the load's command it replaces `{work}`.
    pub work: String,
    /// A load that does the work of one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
    /// How many operations there are, where the figure is the time of one or their rate; with sizes, for each one of it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub operations: u32,
    /// The figure that its time is known by, where that is not the first. `whole run` is the time from the load's start to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Other figures of the load that its simulation has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, SimulatedFigure>,
    /// Policies under which it does not stand for the load, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub except: BTreeMap<String, String>,
    /// The number of loops in the command and in `work`, and a larger one: on a real machine the load is over too soon to be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longer: Option<[u32; 2]>,
}

/// A figure in a simulation, of some times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulatedFigure {
    /// Which times.
    pub times: SimulatedTimes,
    /// What of them.
    pub of: Statistic,
    /// Of tasks of this name only, where the times are of tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// A statistic of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Half are shorter.
    Median,
    /// 99 of 100 are shorter.
    P99,
    /// Their sum divided by their number.
    Mean,
    /// The longest of them.
    Longest,
    /// The longest less the shortest.
    Spread,
}

/// Times that a simulation can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SimulatedTimes {
    /// CPU time of each task, on the reference core in the simulation.
    Cpu,
    /// From another task's answer until the task that it is for goes on.
    Answer,
    /// From the time at which a sleep was to end until the task runs.
    Lateness,
    /// Those of requests.
    Request,
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
const fn is_one(operations: &u32) -> bool {
    *operations == 1
}

/// A figure of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadMetric {
    /// What it is.
    pub name: String,
    /// Of its values.
    pub unit: String,
    /// Which values are better.
    pub better: Better,
    /// The words in front of it in the command's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The words behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Or a pattern with one group. With none of them, it is the time of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

impl Load {
    /// Of a command: the figures that its output has by patterns, or what is known of its program, or the time of its run.
    pub fn of_command(command: &[OsString], patterns: &[Metric]) -> Self {
        let known = Metric::known_of(command);
        let metrics = if patterns.is_empty() { known.as_slice() } else { patterns };
        let unit = String::new;
        let by_pattern = |metric: &Metric| LoadMetric {
            name: metric.name.clone(),
            unit: unit(),
            better: metric.better,
            after: None,
            before: None,
            pattern: Some(metric.text().to_owned()),
        };
        let mut metrics: Vec<LoadMetric> = metrics.iter().map(by_pattern).collect();
        if metrics.is_empty() {
            metrics.push(LoadMetric {
                name: WHOLE_RUN.to_owned(),
                unit: "s".to_owned(),
                better: Better::Smaller,
                after: None,
                before: None,
                pattern: None,
            });
        }
        let command: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Self {
            name: command.join(" "),
            about: String::new(),
            command,
            sizes: Vec::new(),
            copy: Vec::new(),
            packages: None,
            quick: false,
            metrics,
            never_ends_under: Vec::new(),
            simulated: None,
        }
    }

    /// The same with more loops, for a real machine.
    #[must_use]
    pub fn longer(&self) -> Self {
        let Some((simulated, [from, to])) =
            self.simulated.as_ref().zip(self.simulated.as_ref().and_then(|one| one.longer))
        else {
            return self.clone();
        };
        let (from_text, to_text) = (from.to_string(), to.to_string());
        let put = |word: &String| {
            if *word == from_text {
                to_text.clone()
            } else {
                word.replace(&format!(" {from_text} "), &format!(" {to_text} "))
            }
        };
        let simulated = SimulatedLoad {
            work: simulated.work.replace(&format!("loops={from}"), &format!("loops={to}")),
            operations: if simulated.operations == from { to } else { simulated.operations },
            ..simulated.clone()
        };
        Self { command: self.command.iter().map(put).collect(), simulated: Some(simulated), ..self.clone() }
    }

    /// Whether it is a user's command, which describes itself.
    pub(super) fn is_of_user(&self) -> bool {
        self.about.is_empty()
    }

    /// The programs that it starts, but for this one, which is in every guest.
    pub(super) fn programs(&self) -> impl Iterator<Item = &String> {
        self.command.iter().take(1).chain(&self.copy).filter(|program| *program != OWN)
    }

    /// Why it cannot run on this machine: the first program that is missing, and what has it.
    pub fn missing(&self) -> Option<SchedError> {
        self.programs().find(|program| file_of(program).is_none()).map(|program| self.no_program(program))
    }

    pub(super) fn no_program(&self, program: &str) -> SchedError {
        SchedError::NoProgram {
            load: self.name.clone(),
            program: program.to_owned(),
            packages: self.packages.clone().unwrap_or_else(|| "its package".to_owned()),
        }
    }

    /// Why it is not run under this policy, where it is not.
    pub fn does_not_end_under(&self, policy: &Policy) -> Option<String> {
        let policy = policy.to_string();
        let why = "nothing takes the CPU there from its tasks that compute until another ends them";
        self.never_ends_under.contains(&policy).then(|| format!("it does not end under {policy}: {why}"))
    }

    /// The loads of a file: one, or one of each size.
    fn sized(self, file: &str) -> Vec<Self> {
        if self.sizes.is_empty() {
            let work = self.simulated.as_ref().map_or("", |simulated| &simulated.work);
            let command = self.command.iter().map(|word| word.replace("{work}", work)).collect();
            return vec![Self { name: file.to_owned(), command, ..self }];
        }
        let of = |(place, size): (usize, &u32)| {
            let put = |text: &String| text.replace("{size}", &size.to_string());
            Self {
                name: format!("{file}-{size}"),
                about: put(&self.about),
                command: self.command.iter().map(put).collect(),
                simulated: self.simulated.as_ref().map(|simulated| SimulatedLoad {
                    work: put(&simulated.work),
                    operations: if simulated.operations == 1 { 1 } else { simulated.operations * size },
                    ..simulated.clone()
                }),
                sizes: Vec::new(),
                quick: self.quick && place == 0,
                ..self.clone()
            }
        };
        self.sizes.iter().enumerate().map(of).collect()
    }
}

impl LoadMetric {
    /// Its value in a run's output. Where the words are there several times, as for each thread, it is the worst.
    pub fn value(&self, output: &str, seconds: f64) -> Option<f64> {
        if let Some(pattern) = &self.pattern {
            return Metric::by_pattern(pattern, self.better).ok()?.value(output);
        }
        let number = |word: Option<&str>| word?.trim_end_matches(',').parse::<f64>().ok();
        let found: Vec<f64> = match (&self.after, &self.before) {
            (Some(words), _) => {
                let rests =
                    output.match_indices(words.as_str()).map(|(at, words)| &output[at + words.len()..]);
                rests.filter_map(|rest| number(rest.split_whitespace().next())).collect()
            }
            (None, Some(words)) => {
                let starts = output.match_indices(words.as_str()).map(|(at, _)| &output[..at]);
                starts.filter_map(|start| number(start.split_whitespace().next_back())).collect()
            }
            (None, None) => vec![seconds],
        };
        found.into_iter().reduce(|one, other| self.better.worst(one, other))
    }
}

fn read(text: &str) -> Result<Load, toml::de::Error> {
    toml::from_str(text)
}

/// All loads.
pub fn loads() -> &'static [Load] {
    &LOADS
}

/// The loads of these names.
///
/// # Errors
/// [`SchedError::NoLoad`], which lists those there are; [`SchedError::Wish`] where a name is given twice.
pub fn loads_named(names: &[String]) -> Result<Vec<Load>, SchedError> {
    if let Some((_, twice)) = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)) {
        return Err(SchedError::Wish(format!("{twice} is given twice; name each load once")));
    }
    let one = |name: &String| {
        loads().iter().find(|load| load.name == *name).cloned().ok_or_else(|| SchedError::NoLoad {
            name: name.clone(),
            known: loads().iter().map(|load| load.name.clone()).collect::<Vec<_>>().join(", "),
        })
    };
    names.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_load() {
        for (name, text) in &FILES {
            let load = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!load.command.is_empty() && !load.metrics.is_empty(), "{name}");
        }
        assert_eq!(loads().iter().filter(|load| load.quick).count(), 6);
        let words =
            loads().iter().flat_map(|load| &load.command).chain(loads().iter().map(|load| &load.about));
        assert!(!words.into_iter().any(|word| word.contains("{size}")), "a size without sizes");
        let hackbench = loads_named(&["hackbench-pipe-process-4".to_owned()]).unwrap();
        assert_eq!(hackbench[0].command.join(" "), "hackbench -p -g 4 -l 50");
        assert!(hackbench[0].about.contains("4 times 20 senders"), "{}", hackbench[0].about);
        let is_simulated_here =
            |load: &&Load| load.simulated.as_ref().is_some_and(|one| one.longer.is_some());
        for load in loads().iter().filter(is_simulated_here) {
            let longer = load.longer();
            assert_ne!(longer.command, load.command, "{}", load.name);
            let (before, after) = (load.simulated.as_ref().unwrap(), longer.simulated.as_ref().unwrap());
            assert!(before.alone.is_some() || before.work != after.work, "{}", load.name);
        }
        assert_eq!(hackbench[0].longer().command.join(" "), "hackbench -p -g 4 -l 1000");
        for load in loads() {
            assert!(!load.command.concat().contains("{work}"), "{}: a workload that is not there", load.name);
            let Some(simulated) = &load.simulated else { continue };
            for name in simulated.time.iter().chain(simulated.figures.keys()) {
                let is_there = load.metrics.iter().any(|metric| metric.name == *name);
                assert!(is_there || name == WHOLE_RUN, "{}: {name}", load.name);
            }
            for policy in simulated.except.keys().chain(&load.never_ends_under) {
                assert!(policy.parse::<Policy>().is_ok(), "{}: {policy}", load.name);
            }
        }
        let named = |name: &str| loads_named(&[name.to_owned()]).unwrap().remove(0);
        assert_eq!(named("schbench-8").simulated.unwrap().operations, 800);
        let frames = named("rt-app-frames");
        assert!(frames.command[2].contains(&frames.simulated.unwrap().work));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/loads");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), FILES.len(), "a file without a row");
        assert!(loads_named(&["hackbench".to_owned()]).unwrap_err().to_string().contains("perf-pipe"));
    }

    #[test]
    fn what_never_ends_under_a_policy_is_not_run_there() {
        let quota = loads_named(&["quota".to_owned()]).unwrap().remove(0);
        let why = quota.does_not_end_under(&Policy::Fifo).unwrap();
        assert!(why.starts_with("it does not end under fifo: "), "{why}");
        assert_eq!(quota.does_not_end_under(&Policy::RoundRobin), None);
    }

    #[test]
    fn figures_are_found_in_what_the_programs_print() {
        let value = |load: &str, index: usize, output: &str| {
            loads_named(&[load.to_owned()]).unwrap()[0].metrics[index].value(output, 7.0)
        };
        let cyclictest = "T: 0 (  204) P: 0 I:1000 C:    100 Min:     17 Act:   54 Avg:   53 Max:      63\n\
                          T: 1 (  205) P: 0 I:1500 C:     74 Min:     45 Act:   54 Avg:   54 Max:      70\n";
        assert_eq!(
            (value("cyclictest", 0, cyclictest), value("cyclictest", 1, cyclictest)),
            (Some(54.0), Some(70.0))
        );
        assert_eq!(
            value("hackbench-pipe-process-1", 0, "Running in process mode\nTime: 0.090\n"),
            Some(0.09)
        );
        let pipe = "     Total time: 0.040 [sec]\n\n      20.451000 usecs/op\n          48897 ops/sec\n";
        assert_eq!(value("perf-pipe", 0, pipe), Some(20.451));
        let switch = "switch             34540.94 nanosecs per context switch (pipe method)";
        assert_eq!(value("stress-switch", 0, switch), Some(34540.94));
        let redis = "SET: 41493.78 requests per second, p50=0.423 msec\nGET: 43103.45 requests per second, p50=0.407 msec\n";
        assert_eq!((value("redis", 0, redis), value("redis", 1, redis)), (Some(41493.78), Some(0.423)));
        let yields =
            "yield               2119.46 ns duration per sched_yield call (geometic mean of 2 instances)";
        assert_eq!(value("stress-yield", 0, yields), Some(2119.46));
        assert_eq!(value("stress-fork", 0, "anything"), Some(7.0));
        assert_eq!(value("perf-pipe", 0, "perf: command not found"), None);
    }
}
