//! The plan of a replay: the recording's tasks on its machine, under the policy that it was made under and those that were asked for.

use super::resolve::{PlanError, Planner};
use super::{Plan, Platform};
use crate::assumption::Assumption;
use crate::costs::Costs;
use crate::error::SimError;
use crate::machine::{self, Machine};
use crate::recorded::Recorded;
use crate::spec::Spec;
use crate::workload::Workload;
use crate::workloads::replay::{Changes, HandOver, replay_changed};
use std::path::Path;
use swtch_profile::{Profile, file};
use swtch_topology::Host;
use swtch_trace::model::{Header, Origin};
use swtch_trace::tables::SwitchRow;
use swtch_trace::{SourceKind, Trace};

/// Seeds of a replay: the fewest whose least and greatest figure hold the median with 95 % confidence.
pub(crate) const SEEDS: u32 = 6;

/// What a replay is, besides the workload.
#[derive(Clone, Debug)]
pub struct ReplayPlan {
    /// The recording's own figures.
    pub recorded: Recorded,
    /// How much of it is handing over.
    pub hand_over: HandOver,
    /// How many of the workload's tasks were recorded; the others ran beside them.
    pub recorded_tasks: usize,
    /// With how many seeds each policy runs; with none, there is one run and no verdict.
    pub seeds: u32,
    /// The same with changes, where some are asked for.
    pub changed: Option<ChangedWorkload>,
    /// What the recording lacks, in short.
    pub lacks: Vec<&'static str>,
}

/// A replay with changes.
#[derive(Clone, Debug)]
pub struct ChangedWorkload {
    /// The changes, in words.
    pub changes: Vec<String>,
    /// The changed workload.
    pub workload: Workload,
    /// How many of its tasks were recorded.
    pub recorded_tasks: usize,
}

impl Planner<'_> {
    pub(super) fn replayed(&self, path: &str, spec: Option<&Spec>) -> Result<Plan, PlanError> {
        let trace = Trace::open(Path::new(path))?;
        let switches = trace.switches().collect::<Result<Vec<_>, _>>()?;
        if switches.is_empty() {
            let problem = without_switches(path, &trace.header.provenance.recorder);
            return Err(SimError::of_workload("replay", problem).into());
        }
        let machine = match (&self.overrides.machine, spec.filter(|spec| spec.document.machine.is_some())) {
            (None, None) => machine_of_recording(&trace.header)?,
            (_, spec) => self.machine(spec)?,
        };
        let own = self.own_profile(&trace.header, spec);
        let mut place = Platform::on(machine, spec, self.profile.or(own.as_ref()))?;
        // A recorded sleep lasted until the task was woken.
        place.costs.timer_slack_ns = 0;
        if let (Some(path), Some(_)) = (&self.overrides.own_profile, &own) {
            place.costs_from = format!("this machine's Profile, {path}");
        }
        let mut found =
            replay_changed(&trace.tables.tasks, switches.clone(), &place.costs, &Changes::default())?;
        place.assumed.append(&mut found.assumed);
        confine(&mut found.workload, &place.machine, &mut place.assumed);
        if place.machine.types.len() > 1 {
            let why = "a recording has times, not work: what ran on slower cores is replayed as more work than it was";
            place.assumed.push(Assumption::new("work", "as if recorded on the fastest kind of core", why));
        }
        if self.profile.is_none() && own.is_none() && spec.is_none_or(|spec| spec.document.costs.is_none()) {
            found.lacks.push("a Profile of its machine");
        }
        let changed = self.changed(&trace, switches, &place.machine, &place.costs)?;
        let recorded = Recorded::of(&trace);
        let mut plan = place.plan(found.workload, spec, self.overrides)?;
        self.add_policy(&mut plan, spec, recorded.policy.as_deref());
        plan.replay = Some(ReplayPlan {
            recorded,
            hand_over: found.hand_over,
            recorded_tasks: found.recorded_tasks,
            seeds: self.overrides.seeds.unwrap_or(SEEDS),
            changed,
            lacks: found.lacks,
        });
        Ok(plan)
    }

    /// This machine's Profile, where no other is given and the recording was made on such a machine.
    fn own_profile(&self, header: &Header, spec: Option<&Spec>) -> Option<Profile> {
        let is_open = self.profile.is_none() && spec.is_none_or(|spec| spec.document.costs.is_none());
        let path = self.overrides.own_profile.as_deref().filter(|_| is_open)?;
        let is_recorded = header.provenance.origin == Origin::Recorded;
        // One that cannot be read is as good as none: the output says that there is none.
        file::read(Path::new(path))
            .ok()
            .filter(|profile| is_recorded && is_alike(&profile.host, &header.host))
    }

    /// The policy of the recording runs too: only it tells how far the replay is off. Alone, it is what a replay without a list of policies runs.
    fn add_policy(&self, plan: &mut Plan, spec: Option<&Spec>, recorded: Option<&str>) {
        let Some(recorded) = recorded.filter(|policy| crate::policies::is_policy(policy)) else { return };
        let none_named =
            self.overrides.policies.is_empty() && spec.is_none_or(|spec| spec.policies().count() == 0);
        if none_named {
            plan.policies = vec![recorded.to_owned()];
        } else if !self.overrides.only_policies && !plan.policies.iter().any(|policy| policy == recorded) {
            plan.policies.push(recorded.to_owned());
        }
    }

    /// The recording with the changes that were asked for.
    fn changed(
        &self,
        trace: &Trace,
        switches: Vec<SwitchRow>,
        machine: &Machine,
        costs: &Costs,
    ) -> Result<Option<ChangedWorkload>, PlanError> {
        let what_if = &self.overrides.what_if;
        if what_if.is_empty() {
            return Ok(None);
        }
        let settings = what_if.settings()?;
        let changes = what_if.changes(&settings);
        let mut found = replay_changed(&trace.tables.tasks, switches, costs, &changes)?;
        found.workload.confine(machine);
        for setting in &settings {
            setting.apply(&mut found.workload, machine)?;
        }
        self.add_beside(&mut found.workload, machine)?;
        Ok(Some(ChangedWorkload {
            changes: what_if.words(),
            workload: found.workload,
            recorded_tasks: found.recorded_tasks,
        }))
    }
}

/// Whether two descriptions are of machines that a Profile fits alike: the same CPU model and as many CPUs.
fn is_alike(one: &Host, other: &Host) -> bool {
    let cpus = |host: &Host| host.cpus.iter().filter(|cpu| cpu.online).count();
    one.cpu_model.is_some() && one.cpu_model == other.cpu_model && cpus(one) == cpus(other)
}

/// Takes the CPUs from tasks that the machine does not have.
fn confine(workload: &mut Workload, machine: &Machine, assumed: &mut Vec<Assumption>) {
    let freed = workload.confine(machine);
    if freed > 0 {
        let why = "the machine does not have the CPUs that they were confined to";
        assumed.push(Assumption::new("CPUs of tasks", format!("all for {freed} tasks"), why));
    }
}

/// Why a recording has no table of switches, and how to make one that has.
fn without_switches(path: &str, recorder: &str) -> String {
    let known = recorder.parse().ok().and_then(|source: SourceKind| source.facts().without_switches);
    let (why, remedy) = known.unwrap_or(("it has no table of switches", "record again with --events"));
    format!("{path} cannot be replayed, which takes every switch: {why}; {remedy}")
}

/// The machine of the recording. A simulated one has its name, and with it how its threads share cores.
fn machine_of_recording(header: &Header) -> Result<Machine, SimError> {
    let simulated = header.provenance.origin == Origin::Simulated;
    let named = header.host.cpu_model.as_deref().filter(|name| simulated && *name != "host");
    match named.and_then(|name| machine::named(name, &header.host).ok()) {
        Some(machine) => Ok(machine),
        None => machine::named("host", &header.host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_without_switches_says_why_and_what_to_do() {
        let counts = without_switches("a.swtch", "bpf-counts");
        assert!(counts.contains("--counts asked") && counts.ends_with("with --events"), "{counts}");
        assert!(!counts.contains("BPF or perf"), "the source is not to blame: {counts}");
        let procfs = without_switches("a.swtch", "procfs");
        assert!(procfs.contains("source procfs") && procfs.contains("--source bpf"), "{procfs}");
        assert!(without_switches("a.swtch", "ftrace").contains("table of switches"));
    }
}
