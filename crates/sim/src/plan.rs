//! From a specification and the options given with it to settings that can be run.

mod replayed;
mod resolve;

pub use replayed::{ChangedWorkload, ReplayPlan};
pub(crate) use resolve::has_extension;
pub use resolve::{PlanError, Work};

use crate::assumption::Assumption;
use crate::costs::{Costs, NO_PROFILE};
use crate::engine::Options;
use crate::error::SimError;
use crate::jitter::Jitter;
use crate::machine::Machine;
use crate::policies::{is_policy, known};
use crate::program::Op;
use crate::run::Setting;
use crate::spec::Spec;
use crate::what_if::WhatIf;
use crate::workload::Workload;
use std::collections::BTreeSet;
use swtch_profile::Profile;

/// The policy where none is named.
pub(crate) const DEFAULT_POLICY: &str = "eevdf";

/// What a command line or a caller says in addition to the specification; it overrides that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The machine by its name.
    pub machine: Option<String>,
    /// The policies by their names, in order; empty: those of the specification, else `DEFAULT_POLICY`.
    pub policies: Vec<String>,
    /// The seed.
    pub seed: Option<u64>,
    /// When the run ends at the latest, ns.
    pub duration_ns: Option<u64>,
    /// When a run that has not ended is given up, ns.
    pub limit_ns: Option<u64>,
    /// Simulates every tick; see [`Options::every_tick`].
    pub every_tick: bool,
    /// Where this machine's own Profile is, when it has one: named as the remedy where no Profile was given. A replay of a recording of such a
    /// machine takes it.
    pub own_profile: Option<String>,
    /// The jitter, which the seed drives. `None`: that of the specification, else [`Jitter::COUNTED`] with costs measured on emulated CPUs and
    /// [`Jitter::TYPICAL`] with others.
    pub jitter: Option<Jitter>,
    /// With how many seeds, the next ones, a replay runs under each policy; `None`: six; 0: one run and no verdict.
    pub seeds: Option<u32>,
    /// A replay runs under no other policies than those named. Otherwise the recording's own is added.
    pub only_policies: bool,
    /// What a replay changes.
    pub what_if: WhatIf,
}

/// [`NO_PROFILE`] and what to do: a Profile that exists need not be measured.
fn no_profile(own: Option<&str>) -> String {
    match own {
        Some(path) => format!("{NO_PROFILE}; this machine has one: --profile {path}"),
        None => format!("{NO_PROFILE}; measure one with swtch measure, and give it with --profile"),
    }
}

/// Where something is to run: a machine, and what its kernel takes.
#[derive(Clone, Debug)]
pub struct Platform {
    /// The machine.
    pub machine: Machine,
    /// What its kernel takes.
    pub costs: Costs,
    /// Where the costs come from, in words.
    pub costs_from: String,
    /// What had to be assumed about both.
    pub assumed: Vec<Assumption>,
    /// The costs are those of a Profile that was measured on emulated CPUs.
    pub emulated_costs: bool,
}

/// Everything that is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Machine, costs, workload, options.
    pub setting: Setting,
    /// The policies, each known and named once.
    pub policies: Vec<String>,
    /// Where the costs come from, in words.
    pub costs_from: String,
    /// What had to be assumed.
    pub assumed: Vec<Assumption>,
    /// The costs are those of a Profile that was measured on emulated CPUs.
    pub emulated_costs: bool,
    /// What a replay is besides the workload.
    pub replay: Option<ReplayPlan>,
}

impl Platform {
    /// The machine and the costs. Without a Profile and without costs in the specification, they are those of a Xeon Phi on that machine, and
    /// of an ordinary server elsewhere.
    ///
    /// # Errors
    /// When the costs of the specification cannot be.
    pub fn on(machine: Machine, spec: Option<&Spec>, profile: Option<&Profile>) -> Result<Self, SimError> {
        let of_spec = spec.filter(|spec| spec.document.costs.is_some());
        let (costs, assumed, costs_from) = match (of_spec, profile) {
            (Some(spec), _) => {
                let (costs, assumed) = spec.costs(profile)?;
                (costs, assumed, "the specification")
            }
            (None, Some(profile)) => {
                let (costs, assumed) = Costs::of(profile);
                (costs, assumed, "the Profile")
            }
            (None, None) if machine.name == "xeon-phi-31s1p" => {
                let why = "from the published times of its hooks; no Profile was given";
                let assumed = vec![Assumption::new("costs", "those of a Xeon Phi 31S1P", why)];
                (Costs::xeon_phi(), assumed, "a Xeon Phi 31S1P")
            }
            (None, None) => {
                let assumed = vec![Assumption::new("costs", "those of an ordinary server", NO_PROFILE)];
                (Costs::typical(), assumed, "an ordinary server")
            }
        };
        let mut all = machine.assumed.clone();
        all.extend(assumed);
        let emulated_costs = profile.is_some_and(|profile| profile.host.is_emulated());
        Ok(Self { machine, costs, costs_from: costs_from.to_owned(), assumed: all, emulated_costs })
    }

    /// What is to be run there. `spec` gives what the overrides leave open.
    ///
    /// # Errors
    /// When there is no such policy.
    pub fn plan(
        self,
        mut workload: Workload,
        spec: Option<&Spec>,
        overrides: &Overrides,
    ) -> Result<Plan, SimError> {
        let mut policies: Vec<String> = Vec::new();
        let of_spec = || spec.iter().flat_map(|spec| spec.policies()).map(str::to_owned).collect();
        let named = if overrides.policies.is_empty() { of_spec() } else { overrides.policies.clone() };
        for name in named {
            if !is_policy(&name) {
                return Err(match spec.filter(|_| overrides.policies.is_empty()) {
                    Some(spec) => spec.unknown_policy(&name, &known()),
                    None => SimError::unknown("policy", &name, known()),
                });
            }
            if !policies.contains(&name) {
                policies.push(name);
            }
        }
        if policies.is_empty() {
            policies.push(DEFAULT_POLICY.to_owned());
        }
        let ours = Options::default();
        let usual = if self.emulated_costs { Jitter::COUNTED } else { Jitter::TYPICAL };
        let said = spec.map(|spec| &spec.document);
        let options = Options {
            seed: overrides.seed.or(said.map(|said| said.seed)).unwrap_or(ours.seed),
            limit_ns: overrides.limit_ns.or(said.and_then(|said| said.limit)).unwrap_or(ours.limit_ns),
            every_tick: overrides.every_tick,
            jitter: overrides.jitter.or(said.and_then(|said| said.jitter)).unwrap_or(usual),
        };
        let duration_ns = overrides.duration_ns.or(said.and_then(|said| said.duration));
        workload.duration_ns = duration_ns.or(workload.duration_ns);
        let mut assumed = self.assumed;
        assumed.extend(assumed_of_calls(&workload, &self.costs));
        let setting = Setting { machine: self.machine, costs: self.costs, workload, options };
        for one in assumed.iter_mut().filter(|one| one.why == NO_PROFILE) {
            one.why = no_profile(overrides.own_profile.as_deref());
        }
        Ok(Plan {
            setting,
            policies,
            costs_from: self.costs_from,
            assumed,
            emulated_costs: self.emulated_costs,
            replay: None,
        })
    }
}

/// What calls take that are known by their instructions only.
fn assumed_of_calls(workload: &Workload, costs: &Costs) -> Option<Assumption> {
    let call_ns = |op: &Op| match op {
        Op::Call { instructions } => Some(costs.instructions_ns(u64::from(*instructions))),
        _ => None,
    };
    let ops = workload.programs.iter().flat_map(|program| &program.ops);
    let all: BTreeSet<u64> = ops.filter_map(call_ns).collect();
    let value = all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
    let why = "making pipes or sockets was not measured; as instructions of Linux 7.3 are";
    (!all.is_empty()).then(|| Assumption::new("making a channel", format!("{value} ns"), why))
}

/// Policies in a list: commas part policies, and parameters behind a colon.
///
/// ```
/// let names = swtch_sim::plan::policies("rr,min-fair:min-fairness=0.9,ddof=0,eevdf");
/// assert_eq!(names, ["rr", "min-fair:min-fairness=0.9,ddof=0", "eevdf"]);
/// ```
pub fn policies(list: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match names.last_mut() {
            Some(name) if name.contains(':') && part.contains('=') && !part.contains(':') => {
                name.push(',');
                name.push_str(part);
            }
            _ => names.push(part.to_owned()),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(work: Work<'_>, overrides: &Overrides) -> Result<Plan, PlanError> {
        Plan::of(work, "", overrides, None)
    }

    #[test]
    fn costs_without_a_profile_are_those_of_the_machine_and_are_said_to_be_assumed() {
        let on = |machine: &str| {
            let overrides = Overrides { machine: Some(machine.to_owned()), ..Overrides::default() };
            plan(Work::Named("spin:tasks=2"), &overrides).unwrap()
        };
        assert_eq!(on("xeon-phi-31s1p").setting.costs, Costs::xeon_phi());
        let server = on("4");
        assert_eq!(server.setting.costs, Costs::typical());
        assert!(server.assumed.iter().any(|assumed| assumed.what == "costs"));
    }

    #[test]
    fn making_channels_is_assumed_where_a_workload_makes_any() {
        let assumed = |work: &str| {
            let overrides = Overrides { machine: Some("1".to_owned()), ..Overrides::default() };
            let assumed = plan(Work::Named(work), &overrides).unwrap().assumed;
            assumed.into_iter().filter(|one| one.what == "making a channel").count()
        };
        assert_eq!((assumed("hackbench:groups=1,from_start=true"), assumed("hackbench:groups=1")), (1, 0));
    }

    #[test]
    fn wishes_go_before_the_specification() {
        let text = "machine = 2\nseed = 5\nduration = \"1s\"\npolicies = [\"rr\", \"rr\"]\n[workload.spin]\n";
        let plan = |overrides: &Overrides| plan(Work::Text(text), overrides);
        let own = plan(&Overrides::default()).unwrap();
        assert_eq!((own.policies, own.setting.options.seed), (vec!["rr".to_owned()], 5));
        assert_eq!(own.setting.workload.duration_ns, Some(1_000_000_000));
        let machine = Some("3".to_owned());
        let wished = plan(&Overrides { machine, seed: Some(7), ..Overrides::default() }).unwrap();
        assert_eq!((wished.setting.machine.cpus.len(), wished.setting.options.seed), (3, 7));
        let policies = vec!["o1".to_owned()];
        let problem = plan(&Overrides { policies, ..Overrides::default() }).unwrap_err().to_string();
        assert!(problem.starts_with("there is no policy \"o1\"; there are eevdf"), "{problem}");
    }
}
