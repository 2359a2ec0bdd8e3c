//! What runs came to, as data: the document `swtch/simulate/1`.

pub(crate) mod callbacks;
mod cgroups;
mod check;
mod effects;
mod text;
mod verdict;

pub use cgroups::CgroupFacts;
pub use effects::{Effect, FigureChange, TaskEffect, WhatIfEffects};
pub use verdict::{ReplayError, ReplayVerdict};

use crate::assumption::Assumption;
use crate::ensemble::Ensemble;
use crate::hook::Hook;
use crate::jitter::Jitter;
use crate::plan::Plan;
use crate::recorded::Recorded;
use crate::run::PolicyRun;
use crate::stats::{CpuTimes, Durations};
use crate::workload::stem;
use crate::workloads::replay::HandOver;
pub(crate) use callbacks::HookTimes;
use serde::Serialize;
use std::collections::BTreeMap;
use swtch_fairness::{Ddof, Metrics};

/// The value of [`SimulationDocument::schema`].
pub const SCHEMA: &str = "swtch/simulate/1";
/// The policy whose run others are compared with, where it is among them: each application has its even part of every kind of core.
const EVEN: &str = "max-fair";

/// All runs of a command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulationDocument {
    /// Always `swtch/simulate/1`.
    pub schema: String,
    /// Version of swtch.
    pub swtch_version: String,
    /// The machine.
    pub machine: MachineFacts,
    /// The workload.
    pub workload: WorkloadFacts,
    /// The seed.
    pub seed: u64,
    /// The jitter, which the seed drives besides the values that the workload itself makes random. Absent where all tasks start at the given
    /// nanosecond and take exactly as long as given.
    pub jitter: Option<Jitter>,
    /// Where the costs come from.
    pub costs: String,
    /// What had to be assumed.
    pub assumptions: Vec<Assumption>,
    /// What a reader must know before any figure, a sentence each.
    pub warnings: Vec<String>,
    /// The recording that was replayed; absent where nothing was.
    pub recorded: Option<Recorded>,
    /// How much of it is handing over; absent where nothing was replayed.
    pub hand_over: Option<HandOver>,
    /// Whether the replays tell the policies apart; absent where nothing was replayed.
    pub verdict: Option<ReplayVerdict>,
    /// The figures of a replay over several seeds; absent where nothing was replayed.
    pub ensemble: Option<Ensemble>,
    /// What changes to a replay do; absent where none were asked for.
    pub what_if: Option<WhatIfEffects>,
    /// The runs, in the order asked for; of a replay those with the first seed.
    pub runs: Vec<Summary>,
}

/// The machine in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineFacts {
    /// Its name.
    pub name: String,
    /// How many CPUs it has.
    pub cpus: u64,
    /// Its kinds of core.
    pub types: Vec<TypeFacts>,
}

/// A kind of core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TypeFacts {
    /// Its name.
    pub name: String,
    /// Its speed, 1024 for the reference core.
    pub speed: u32,
    /// CPUs of this kind.
    pub cpus: u64,
}

/// The workload in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkloadFacts {
    /// Its name.
    pub name: String,
    /// Its tasks at the beginning.
    pub tasks: u64,
    /// When it ends at the latest, ns.
    pub duration_ns: Option<u64>,
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The policy.
    pub policy: String,
    /// From the beginning until the last task that counts ended, or until the time was over, ns.
    pub makespan_ns: u64,
    /// Whether all tasks that count ended.
    pub complete: bool,
    /// Switches from a task.
    pub context_switches: u64,
    /// Of those, the ones it asked for.
    pub voluntary: u64,
    /// Of those, the others.
    pub involuntary: u64,
    /// Switches from the idle task.
    pub from_idle: u64,
    /// Moves between CPUs.
    pub migrations: u64,
    /// Wake-ups.
    pub wakeups: u64,
    /// Timer ticks.
    pub ticks: u64,
    /// Events that were simulated.
    pub events: u64,
    /// Time that the simulation itself took, s. The simulator has no clock, so the caller fills it in.
    pub wall_seconds: Option<f64>,
    /// Part of all CPU time, idle time included, that was spent waiting for run queues' locks.
    pub spin_share: f64,
    /// Times in run queues.
    pub wait_ns: Durations,
    /// Times of requests; absent where the workload has none.
    pub request_ns: Option<Durations>,
    /// Time of all CPUs by use, ns.
    pub cpu_ns: CpuTimes,
    /// Calls of the scheduling class's hooks.
    pub hooks: Vec<HookFacts>,
    /// Tasks by name, numbers at its end left out.
    pub tasks: Vec<TaskFacts>,
    /// Cgroups; empty without any, and under policies that know none.
    pub cgroups: Vec<CgroupFacts>,
    /// What the applications got of cores of several kinds; absent on other machines and without applications.
    pub fairness: Option<Fairness>,
}

/// Calls of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HookFacts {
    /// Its name.
    pub hook: &'static str,
    /// How often it was called.
    pub calls: u64,
    /// Time in it, waiting for locks included, ns.
    pub total_ns: u64,
    /// Of that, waiting for locks, ns.
    pub spin_ns: u64,
    /// Mean time of a call, ns; absent without any.
    pub mean_ns: Option<f64>,
    /// Where the times come from: no simulated time of a hook is measured.
    pub basis: &'static str,
}

/// Tasks of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskFacts {
    /// Their name, numbers at its end left out.
    pub name: String,
    /// How many there were.
    pub tasks: u64,
    /// Of those, the ones that ended.
    pub ended: u64,
    /// Time on CPUs, ns.
    pub run_ns: u64,
    /// Time in run queues, ns.
    pub wait_ns: u64,
    /// The longest wait of any, ns.
    pub longest_wait_ns: u64,
    /// Switches they asked for.
    pub voluntary: u64,
    /// Switches they did not ask for.
    pub involuntary: u64,
    /// Wake-ups.
    pub wakeups: u64,
    /// Moves between CPUs.
    pub migrations: u64,
}

/// What applications got.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// The policy of the run that performance is relative to.
    pub relative_to: String,
    /// Mean performance.
    pub throughput: f64,
    /// The least performance.
    pub min_fairness: f64,
    /// 1 less the coefficient of variation (of a sample).
    pub uniformity: f64,
    /// The applications.
    pub applications: Vec<ApplicationFacts>,
}

/// What an application got.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplicationFacts {
    /// Its name.
    pub name: String,
    /// Work of its tasks per time that they were there, 1 for all of a reference core.
    pub speed: f64,
    /// That, relative to the run compared with.
    pub performance: f64,
}

impl SimulationDocument {
    /// Of a plan, as yet without runs.
    pub fn new(plan: &Plan) -> Self {
        let machine = &plan.setting.machine;
        let kind = |(place, kind): (usize, &crate::machine::CoreType)| TypeFacts {
            name: kind.name.clone(),
            speed: kind.speed,
            cpus: machine.cpus.iter().filter(|cpu| cpu.core_type as usize == place).count() as u64,
        };
        let workload = &plan.setting.workload;
        Self {
            schema: SCHEMA.to_owned(),
            swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: MachineFacts {
                name: machine.name.clone(),
                cpus: machine.cpus.len() as u64,
                types: machine.types.iter().enumerate().map(kind).collect(),
            },
            workload: WorkloadFacts {
                name: workload.name.clone(),
                tasks: workload.tasks.len() as u64,
                duration_ns: workload.duration_ns,
            },
            seed: plan.setting.options.seed,
            jitter: Some(plan.setting.options.jitter).filter(|jitter| !jitter.is_none()),
            costs: plan.costs_from.clone(),
            assumptions: plan
                .assumed
                .iter()
                .cloned()
                .chain(callbacks::assumed(plan))
                .chain(cgroups::assumed(plan))
                .collect(),
            warnings: warnings(plan),
            recorded: plan.replay.as_ref().map(|replay| replay.recorded.clone()),
            hand_over: plan.replay.as_ref().map(|replay| replay.hand_over),
            verdict: None,
            ensemble: None,
            what_if: None,
            runs: Vec::new(),
        }
    }

    /// Compares what applications got with the run under `max-fair`, else with the first, and replays with their recording.
    pub fn compare(&mut self) {
        if let (Some(recorded), Some(ensemble)) = (&self.recorded, &self.ensemble) {
            let mut verdict = recorded.verdict(&self.hand_over.unwrap_or_default(), &ensemble.policies);
            if let Some(what_if) = &self.what_if {
                verdict.judge(what_if);
            }
            self.verdict = Some(verdict);
        }
        let even =
            self.runs.iter().find(|run| run.policy.split(':').next() == Some(EVEN)).or(self.runs.first());
        let Some(of) = even.and_then(|run| Some((run.policy.clone(), run.fairness.as_ref()?.speeds())))
        else {
            return;
        };
        for fairness in self.runs.iter_mut().filter_map(|run| run.fairness.as_mut()) {
            fairness.relate(&of.0, &of.1);
        }
    }
}

/// What a reader must know before any figure.
fn warnings(plan: &Plan) -> Vec<String> {
    let mut warnings = Vec::new();
    let options = &plan.setting.options;
    warnings.push(if options.jitter.is_none() {
        "No jitter: every task starts at its nanosecond and every step takes exactly its time, as on no real machine.".to_owned()
    } else if let Some(replay) = plan.replay.as_ref().filter(|replay| replay.seeds > 1) {
        format!(
            "Medians of {} runs of each policy, seeds {} and after: single runs may be chaotic.",
            replay.seeds, options.seed
        )
    } else {
        format!(
            "One run of each policy, seed {}: single runs may be chaotic, and other seeds give other figures (a sweep over seeds shows how far apart).",
            options.seed
        )
    });
    if let Some(lacks) = plan.replay.as_ref().map(|replay| &replay.lacks).filter(|lacks| !lacks.is_empty()) {
        warnings.push(format!("The replay lacks {}; what stands for them is under Assumed.", and(lacks)));
    }
    if plan.setting.machine.takes_turns {
        warnings.push(
            "Emulated CPUs: times count instructions as an emulator does and say nothing about hardware; compare switches.".to_owned(),
        );
    }
    if plan.emulated_costs {
        warnings.push(
            "The Profile was measured on emulated CPUs: its costs, and all times here, say nothing about hardware.".to_owned(),
        );
    }
    let ours = callbacks::not_charged(&plan.policies, &plan.setting.costs);
    if !ours.is_empty() {
        warnings.push(format!(
            "What the callbacks of {} execute is not charged: times under it are too short, by an unknown part.",
            ours.join(", ")
        ));
    }
    warnings
}

/// `a, b and c`.
fn and(parts: &[&str]) -> String {
    match parts {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl Fairness {
    fn speeds(&self) -> Vec<f64> {
        self.applications.iter().map(|application| application.speed).collect()
    }

    fn relate(&mut self, policy: &str, speeds: &[f64]) {
        policy.clone_into(&mut self.relative_to);
        for (application, speed) in self.applications.iter_mut().zip(speeds) {
            // An application that got nothing under that policy has no performance to compare with.
            application.performance = if *speed > 0.0 { application.speed / speed } else { 1.0 };
        }
        let performance: Vec<f64> =
            self.applications.iter().map(|application| application.performance).collect();
        let metrics = Metrics::of(&performance, Ddof::One);
        self.throughput = metrics.throughput;
        self.min_fairness = metrics.min_fairness;
        self.uniformity = metrics.uniformity;
    }
}

impl Summary {
    /// Of a run of this plan under `policy`, by the name it was asked for: its parameters are part of it.
    pub fn of<S>(plan: &Plan, policy: &str, run: &PolicyRun<S>) -> Self {
        let stats = &run.stats;
        let cpu_ns = stats.times();
        let hook = |hook: Hook| {
            let calls = stats.hooks[hook as usize];
            HookFacts {
                hook: hook.name(),
                calls: calls.calls,
                total_ns: calls.ns,
                spin_ns: calls.spin_ns,
                mean_ns: (calls.calls > 0).then(|| calls.ns as f64 / calls.calls as f64),
                basis: HookTimes::of(policy, &plan.setting.costs).basis(),
            }
        };
        let requests = Durations::of(&stats.requests);
        Self {
            policy: policy.to_owned(),
            makespan_ns: run.makespan_ns,
            complete: run.complete,
            context_switches: stats.context_switches(),
            voluntary: stats.voluntary,
            involuntary: stats.involuntary,
            from_idle: stats.from_idle,
            migrations: stats.migrations.iter().sum(),
            wakeups: stats.wakeups,
            ticks: stats.ticks,
            events: stats.events,
            wall_seconds: None,
            spin_share: cpu_ns.share(cpu_ns.spin_ns),
            wait_ns: Durations::of(&stats.waits),
            request_ns: (requests.count > 0).then_some(requests),
            cpu_ns,
            hooks: Hook::ALL.into_iter().map(hook).collect(),
            tasks: by_name(run),
            cgroups: cgroups::facts(plan, run),
            fairness: fairness(plan, policy, run),
        }
    }
}

fn by_name<S>(run: &PolicyRun<S>) -> Vec<TaskFacts> {
    // In the order in which the names come up.
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rows: Vec<TaskFacts> = Vec::new();
    for (place, (spec, stats)) in run.tasks.iter().zip(&run.stats.tasks).enumerate() {
        let name = stem(&spec.name);
        let at = *places.entry(name).or_insert_with(|| {
            rows.push(TaskFacts { name: name.to_owned(), ..TaskFacts::default() });
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.tasks += 1;
        row.ended += u64::from(stats.ended_ns.is_some());
        row.run_ns += run.run_ns[place];
        row.wait_ns += run.wait_ns[place];
        row.longest_wait_ns = row.longest_wait_ns.max(stats.longest_wait_ns);
        row.voluntary += stats.voluntary;
        row.involuntary += stats.involuntary;
        row.wakeups += stats.wakeups;
        row.migrations += stats.migrations;
    }
    rows
}

/// What applications got, relative to itself until runs are compared.
fn fairness<S>(plan: &Plan, policy: &str, run: &PolicyRun<S>) -> Option<Fairness> {
    let applications = &plan.setting.workload.applications;
    if plan.setting.machine.types.len() < 2 || applications.is_empty() {
        return None;
    }
    // Phases of an application are applications of the same name.
    let mut names: Vec<&str> = Vec::new();
    let mut sums: Vec<(u64, u64)> = Vec::new();
    for (spec, stats) in run.tasks.iter().zip(&run.stats.tasks) {
        let Some(name) = spec.application.and_then(|place| Some(&applications.get(place as usize)?.name))
        else {
            continue;
        };
        let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name);
            sums.push((0, 0));
            names.len() - 1
        });
        sums[at].0 += stats.work;
        sums[at].1 += stats.ended_ns.unwrap_or(run.makespan_ns).saturating_sub(stats.started_ns);
    }
    if names.is_empty() {
        return None;
    }
    let speed = |(work, ns): &(u64, u64)| {
        *work as f64 / f64::from(crate::machine::REFERENCE_SPEED) / (*ns).max(1) as f64
    };
    let applications: Vec<_> = names
        .iter()
        .zip(&sums)
        .map(|(name, sum)| ApplicationFacts { name: (*name).to_owned(), speed: speed(sum), performance: 1.0 })
        .collect();
    let mut fairness = Fairness {
        relative_to: String::new(),
        throughput: 1.0,
        min_fairness: 1.0,
        uniformity: 1.0,
        applications,
    };
    let own = fairness.speeds();
    fairness.relate(policy, &own);
    Some(fairness)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Overrides, Work};
    use crate::run::run;
    use crate::sink::Nothing;

    fn document(text: &str, machine: &str, policies: &[&str]) -> SimulationDocument {
        let overrides = Overrides {
            machine: Some(machine.to_owned()),
            policies: policies.iter().map(|name| (*name).to_owned()).collect(),
            ..Overrides::default()
        };
        let plan = Plan::of(Work::Named(text), "", &overrides, None).unwrap();
        let mut document = SimulationDocument::new(&plan);
        for policy in &plan.policies {
            let run = run(&plan.setting, policy, Nothing).unwrap();
            let summary = Summary::of(&plan, policy, &run);
            summary.check(&run, &plan.setting).unwrap();
            document.runs.push(summary);
        }
        document.compare();
        document
    }

    #[test]
    fn a_summary_adds_up() {
        let document = document("hackbench:groups=1,loops=5", "2f4s", &["eevdf", "rr"]);
        assert_eq!((document.schema.as_str(), document.machine.cpus), (SCHEMA, 6));
        assert_eq!(document.machine.types.iter().map(|kind| kind.cpus).collect::<Vec<_>>(), [2, 4]);
        for run in &document.runs {
            assert_eq!(run.context_switches, run.voluntary + run.involuntary);
            assert_eq!(run.cpu_ns.sum_ns(), 6 * run.makespan_ns, "{}", run.policy);
            let names: Vec<_> =
                run.tasks.iter().map(|row| (row.name.as_str(), row.tasks, row.ended)).collect();
            assert_eq!(names, [("receiver", 20, 20), ("sender", 20, 20)]);
            assert!(run.complete && run.fairness.is_none() && run.request_ns.is_none());
            assert!(run.hooks.iter().any(|hook| hook.hook == "pick_next" && hook.calls > 0));
        }
    }

    #[test]
    fn applications_are_compared_with_the_first_run() {
        let apps = "mix:applications=[{name=\"a\",speedup=3.0,work_ns=50000000},{name=\"b\",speedup=1.5,work_ns=50000000}]";
        let document = document(apps, "2f4s", &["eevdf", "rr"]);
        let fairness: Vec<_> = document.runs.iter().map(|run| run.fairness.clone().unwrap()).collect();
        assert_eq!((fairness[0].throughput, fairness[0].min_fairness), (1.0, 1.0));
        assert!(fairness.iter().all(|one| one.relative_to == "eevdf" && one.applications.len() == 2));
    }
}
