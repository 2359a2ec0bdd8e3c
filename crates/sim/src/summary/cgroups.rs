//! Cgroups of a run.

use crate::assumption::Assumption;
use crate::plan::Plan;
use crate::policies::has_cgroups;
use crate::run::PolicyRun;
use crate::workload::Workload;
use serde::Serialize;

/// A cgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CgroupFacts {
    /// Its path.
    pub name: String,
    /// Time of its tasks and of those in groups below it on CPUs, ns.
    pub run_ns: u64,
    /// Periods of its quota in which anything of it ran.
    pub periods: u64,
    /// Of those, the ones at whose end it was throttled on a CPU.
    pub throttled_periods: u64,
    /// For how long it was throttled, summed over CPUs, ns.
    pub throttled_ns: u64,
}

/// Each group's facts; none under a policy that knows no groups.
pub(super) fn facts<S>(plan: &Plan, run: &PolicyRun<S>) -> Vec<CgroupFacts> {
    let rows = plan.setting.workload.cgroups.iter().zip(&run.stats.cgroups);
    let facts = rows.map(|(cgroup, stats)| CgroupFacts {
        name: cgroup.name.clone(),
        run_ns: stats.run_ns,
        periods: stats.periods,
        throttled_periods: stats.throttled_periods,
        throttled_ns: stats.throttled_ns,
    });
    facts.collect()
}

/// How cgroups are simulated, and under which policies they are not.
pub(super) fn assumed(plan: &Plan) -> Vec<Assumption> {
    let changed = plan.replay.as_ref().and_then(|replay| Some(&replay.changed.as_ref()?.workload));
    let has_some = |workload: &Workload| !workload.cgroups.is_empty();
    if !has_some(&plan.setting.workload) && !changed.is_some_and(has_some) {
        return Vec::new();
    }
    let (with, without): (Vec<&String>, Vec<&String>) =
        plan.policies.iter().partition(|policy| has_cgroups(policy));
    let mut assumed = Vec::new();
    if !with.is_empty() {
        let why = "the kernel has a queue for each cgroup; here a task has the weight that its own and its cgroups' give it of all that is runnable";
        assumed.push(Assumption::new("cgroups", "one queue a CPU", why));
    }
    for policy in without {
        let why = "weights and quotas of cgroups are simulated under the fair classes of the kernel only";
        assumed.push(Assumption::new(&format!("cgroups under {policy}"), "not simulated", why));
    }
    assumed
}
