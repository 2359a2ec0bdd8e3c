//! One call for a whole run: a machine, a workload, and a policy by its name.

use crate::costs::Costs;
use crate::engine::{Engine, Options};
use crate::error::SimError;
use crate::machine::Machine;
use crate::policies::{WithPolicy, policies, with_policy};
use crate::policy::Policy;
use crate::sink::{Any, Nothing, Sink};
use crate::stats::RunStats;
use crate::workload::{TaskSpec, Workload};

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
    pub(crate) fn without_sink(self) -> PolicyRun<()> {
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

/// Runs a setting under a policy by its name: one of [`policies`], or the path of a sched_ext scheduler's
/// source, which ends in `.bpf.c`. Parameters may follow a colon: `rr:slice-ms=20`, `eevdf:slice-ms=0.5` (the base slice),
/// `min-fair:min-fairness=0.9`, `flsched:slice_ns=10000000` (a variable of the source).
///
/// # Errors
/// When there is no such policy, its source cannot be compiled, and as [`Engine::new`] and [`Engine::run`].
pub fn run<S: Sink>(setting: &Setting, policy: &str, sink: S) -> Result<PolicyRun<S>, SimError> {
    let mut run = with_policy(policy, Running { setting, sink })??;
    if policies().any(|row| policy.split(':').next() == Some(row.name)) {
        // With its parameters, so that two of the same name can be told apart.
        policy.clone_into(&mut run.policy);
    }
    Ok(run)
}

/// [`run`] for what it came to alone, without a sink. It is compiled here, once and optimised; what calls [`run`] with a sink of its own
/// compiles the engine again for every policy.
///
/// # Errors
/// As [`run`].
pub fn figures(setting: &Setting, policy: &str) -> Result<PolicyRun<()>, SimError> {
    figures_and_events(setting, policy, &mut Nothing)
}

/// The same with a sink for its events.
///
/// # Errors
/// As [`run`].
pub fn figures_and_events(
    setting: &Setting,
    policy: &str,
    sink: &mut dyn Sink,
) -> Result<PolicyRun<()>, SimError> {
    run(setting, policy, Any(sink)).map(PolicyRun::without_sink)
}

struct Running<'a, S> {
    setting: &'a Setting,
    sink: S,
}

impl<S: Sink> WithPolicy<Result<PolicyRun<S>, SimError>> for Running<'_, S> {
    fn with<P: Policy>(self, policy: P) -> Result<PolicyRun<S>, SimError> {
        run_with(self.setting, policy, self.sink)
    }
}

/// Runs a setting under a policy of one's own.
///
/// # Errors
/// As [`Engine::new`] and [`Engine::run`].
pub(crate) fn run_with<P: Policy, S: Sink>(
    setting: &Setting,
    policy: P,
    sink: S,
) -> Result<PolicyRun<S>, SimError> {
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
            assert!(matches!(error, SimError::Input { .. }), "{policy}: {error}");
        }
        assert!(matches!(switches("nothing").unwrap_err(), SimError::Unknown { .. }));
        assert!(matches!(switches("nothing:x=1").unwrap_err(), SimError::Unknown { .. }));
    }
}
