//! One call for a whole run: a machine, a workload, and a policy by its name.

use crate::costs::Costs;
use crate::engine::{Engine, Options};
use crate::error::SimError;
use crate::machine::Machine;
use crate::policies::{Asymmetric, Cfs, Eevdf, RealTime};
use crate::policy::Policy;
use crate::scx::{CompileOptions, Object, ScxPolicy, Settings};
use crate::sink::Sink;
use crate::stats::RunStats;
use crate::workload::{TaskSpec, Workload};

/// The policies' names, with what each is.
pub const POLICIES: &[(&str, &str)] = &[
    ("eevdf", "the fair class of Linux 6.6 and later, by the rules of 6.18"),
    ("eevdf-7.2", "the same with slices that end by a timer of their own (HRTICK), as since Linux 7.2"),
    ("cfs", "the fair class before, by the rules of 6.5"),
    ("cfs-2.6", "the same with the newly idle CPUs' restraint of kernels before 5.16, the nearest to 2.6.38"),
    ("fifo", "the real-time class SCHED_FIFO"),
    ("rr", "the real-time class SCHED_RR"),
    ("flsched", "FLSCHED, from the source that the kernel runs"),
    ("max-fair", "fast cores shared alike"),
    ("max-perf", "fast cores to those who gain most"),
    ("min-fair", "each keeps 85 % of its performance under max-fair, the rest to those who gain most"),
    ("similar-min-fair", "the same, those with similar speedups alike"),
    ("uni-fair", "as much throughput as a uniformity of 85 % allows"),
    ("r-fair", "half of the fast cores shared alike, the rest to those who gain most"),
    ("guaranteed", "max-perf while the uniformity is above 85 %, else max-fair"),
    ("scaled-load", "load in proportion to the cores' power"),
    ("equal-speedup", "the same speedup over a slow core for all"),
    ("equal-slowdown", "the same slowdown against a fast core for all"),
];

/// What a run came to, whatever the policy was.
#[derive(Debug)]
pub struct PolicyRun<S> {
    /// The policy's name.
    pub policy: String,
    /// From the beginning until the last task that counts ended, or until the time was over, ns.
    pub makespan_ns: u64,
    /// Whether all tasks that count ended.
    pub complete: bool,
    /// What was counted.
    pub stats: RunStats,
    /// The tasks, as they were when they started, in the order of [`RunStats::tasks`].
    pub tasks: Vec<TaskSpec>,
    /// Time each task was on a CPU, ns.
    pub run_ns: Vec<u64>,
    /// Time each task waited in run queues, ns.
    pub wait_ns: Vec<u64>,
    /// The sink.
    pub sink: S,
}

impl<S> PolicyRun<S> {
    /// The same without what took its events.
    #[must_use]
    pub fn without_sink(self) -> PolicyRun<()> {
        let Self { policy, makespan_ns, complete, stats, tasks, run_ns, wait_ns, sink: _ } = self;
        PolicyRun { policy, makespan_ns, complete, stats, tasks, run_ns, wait_ns, sink: () }
    }
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The machine.
    pub machine: Machine,
    /// What its kernel takes.
    pub costs: Costs,
    /// What it is given to do.
    pub workload: Workload,
    /// How.
    pub options: Options,
}

impl Setting {
    /// The highest speed at which anything runs, 1024 for the reference core.
    pub fn fastest(&self) -> u64 {
        let types = self.machine.types.iter().map(|kind| kind.speed);
        let own =
            self.workload.applications.iter().flat_map(|application| application.speeds.iter().copied());
        u64::from(types.chain(own).max().unwrap_or(0))
    }
}

/// Whether a policy of this name is a sched_ext scheduler, whose own code is run.
pub fn is_sched_ext(policy: &str) -> bool {
    policy.split(':').next().is_some_and(|name| name == "flsched" || name.ends_with(SOURCE))
}

/// Runs a setting under a policy by its name: one of [`POLICIES`], or the path of a sched_ext scheduler's source, which ends in `.bpf.c`.
/// Parameters may follow a colon: `rr:slice-ms=20`, `eevdf:slice-ms=0.5` (the base slice), `min-fair:min-fairness=0.9`,
/// `flsched:slice_ns=10000000` (a variable of the source).
///
/// # Errors
/// When there is no such policy, its source cannot be compiled, and as [`Engine::new`] and [`Engine::run`].
pub fn run<S: Sink>(setting: &Setting, policy: &str, sink: S) -> Result<PolicyRun<S>, SimError> {
    let mut run = run_named(setting, policy, sink)?;
    if policy.contains(':') && !policy.contains(SOURCE) {
        // With its parameters, so that two of the same name can be told apart.
        policy.clone_into(&mut run.policy);
    }
    Ok(run)
}

fn run_named<S: Sink>(setting: &Setting, policy: &str, sink: S) -> Result<PolicyRun<S>, SimError> {
    match policy {
        "eevdf" => run_with(setting, Eevdf::new(), sink),
        "eevdf-7.2" => run_with(setting, Eevdf::since_7_2(), sink),
        "cfs" => run_with(setting, Cfs::new(), sink),
        "cfs-2.6" => run_with(setting, Cfs::before_5_16(), sink),
        "fifo" => run_with(setting, RealTime::fifo(), sink),
        "rr" => run_with(setting, RealTime::round_robin(), sink),
        other if other.starts_with("rr:") => {
            run_with(setting, RealTime::with_slice_ns(slice_ns("rr", &other[3..])?), sink)
        }
        other if other.starts_with("eevdf:") => {
            run_with(setting, Eevdf::with_slice_ns(slice_ns("eevdf", &other[6..])?), sink)
        }
        other if is_sched_ext(other) => run_with(setting, sched_ext(other)?, sink),
        other if POLICIES.iter().any(|(name, _)| other.split(':').next() == Some(name)) => {
            run_with(setting, Asymmetric::from_text(other)?, sink)
        }
        _ => Err(SimError::UnknownPolicy { name: policy.to_owned(), known: known_policies() }),
    }
}

/// The only parameter of `rr` and `eevdf`.
fn slice_ns(policy: &str, given: &str) -> Result<u64, SimError> {
    let ms = given.strip_prefix("slice-ms=").and_then(|value| value.parse::<f64>().ok());
    ms.filter(|ms| (0.001..=1e6).contains(ms)).map(|ms| (ms * 1e6) as u64).ok_or_else(|| {
        SimError::PolicyParameters {
            policy: policy.to_owned(),
            problem: format!("\"{given}\" is no parameter of it; expected slice-ms=N, from 0.001 to 1000000"),
        }
    })
}

/// What the path of a sched_ext scheduler's source ends in.
const SOURCE: &str = ".bpf.c";

/// A sched_ext scheduler by its name or path, with values for its variables.
fn sched_ext(text: &str) -> Result<ScxPolicy, SimError> {
    let (name, given) = text.split_once(':').unwrap_or((text, ""));
    let fail = |problem: String| SimError::PolicyParameters { policy: name.to_owned(), problem };
    let mut settings = Settings::default();
    for pair in given.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let number = value.trim().parse::<u64>();
        let number = number.map_err(|_| fail(format!("{key} is \"{value}\", expected a whole number")))?;
        settings = settings.number(key.trim(), number);
    }
    let object = if name == "flsched" {
        Ok(Object::flsched())
    } else {
        Object::compile(std::path::Path::new(name), &CompileOptions::default())
    };
    object.and_then(|object| ScxPolicy::new(&object, settings)).map_err(|error| fail(error.to_string()))
}

/// The policies' names, for messages.
pub fn known_policies() -> String {
    POLICIES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Runs a setting under a policy of one's own.
///
/// # Errors
/// As [`Engine::new`] and [`Engine::run`].
pub fn run_with<P: Policy, S: Sink>(setting: &Setting, policy: P, sink: S) -> Result<PolicyRun<S>, SimError> {
    let Setting { machine, costs, workload, options } = setting.clone();
    let outcome = Engine::new(machine, costs, workload, policy, sink, options)?.run()?;
    let tasks = outcome.kernel.tasks();
    Ok(PolicyRun {
        policy: outcome.policy.name().to_owned(),
        makespan_ns: outcome.makespan_ns,
        complete: outcome.complete,
        run_ns: tasks.clone().map(|(_, run_ns, _)| run_ns).collect(),
        wait_ns: tasks.clone().map(|(_, _, wait_ns)| wait_ns).collect(),
        tasks: tasks.map(|(spec, _, _)| spec.clone()).collect(),
        stats: outcome.stats,
        sink: outcome.sink,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::Nothing;
    use crate::workloads::Spin;

    fn switches(policy: &str) -> Result<(String, u64), SimError> {
        let setting = Setting {
            machine: Machine::uniform(1),
            costs: Costs::free(),
            workload: Spin { tasks: 2, work_ns: 1_000_000_000, ..Spin::default() }.build()?,
            options: Options::default(),
        };
        run(&setting, policy, Nothing).map(|run| (run.policy, run.stats.context_switches()))
    }

    #[test]
    fn a_shorter_slice_switches_more_often_and_is_named() {
        // Two seconds in slices, and each task's end.
        let (_, usual) = switches("rr").unwrap();
        let (name, short) = switches("rr:slice-ms=20").unwrap();
        assert_eq!((usual, short, name.as_str()), (22, 102, "rr:slice-ms=20"));
        assert!(switches("eevdf:slice-ms=20").unwrap().1 < switches("eevdf").unwrap().1);
    }

    #[test]
    fn what_cannot_be_a_parameter_is_refused() {
        for policy in [
            "rr:",
            "rr:slice-ms=0",
            "rr:slice-ms=x",
            "eevdf:latency=3",
            "min-fair:x=1",
            "flsched:slice_ns=x",
            "cfs:x",
        ] {
            let error = switches(policy).unwrap_err();
            assert!(matches!(error, SimError::PolicyParameters { .. }), "{policy}: {error}");
        }
        assert!(matches!(switches("nothing").unwrap_err(), SimError::UnknownPolicy { .. }));
        assert!(matches!(switches("nothing:x=1").unwrap_err(), SimError::UnknownPolicy { .. }));
    }
}
