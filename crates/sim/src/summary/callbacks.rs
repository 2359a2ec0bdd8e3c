//! Where the time of hooks comes from, that of a sched_ext scheduler's callbacks among it.

use crate::assumption::Assumption;
use crate::costs::Costs;
use crate::plan::Plan;
use crate::policies::{is_own_sched_ext, is_sched_ext};

/// Where the time of the hooks under a policy comes from. No simulated time of a hook is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookTimes {
    /// A class of the kernel: only the sum of its hooks in a switch can be measured.
    OfAClass,
    /// flsched: its callbacks are in the hooks.
    WithCallbacks,
    /// The core of sched_ext, and on top of it what the scheduler's callbacks execute.
    Counted,
    /// A class of the kernel, for a scheduler of sched_ext: an instruction has no time on this machine.
    WithoutCallbacks,
}

impl HookTimes {
    pub(crate) fn of(policy: &str, costs: &Costs) -> Self {
        if !is_sched_ext(policy) {
            Self::OfAClass
        } else if is_own_sched_ext(policy) {
            Self::WithCallbacks
        } else if costs.instruction_ps > 0 {
            Self::Counted
        } else {
            Self::WithoutCallbacks
        }
    }

    /// For a table of hooks.
    pub(crate) fn basis(self) -> &'static str {
        match self {
            Self::OfAClass => "assumed share of a switch",
            Self::WithCallbacks => "assumed share of a switch, its callbacks in it",
            Self::Counted => "counted: instructions at the machine's pace",
            Self::WithoutCallbacks => "assumed; what its callbacks execute is not charged",
        }
    }
}

/// An assumption for each sched_ext scheduler among the policies, about its callbacks. The one for flsched is among the costs.
pub(crate) fn assumed(plan: &Plan) -> impl Iterator<Item = Assumption> {
    plan.policies.iter().filter_map(|policy| {
        let (value, why) = match HookTimes::of(policy, &plan.setting.costs) {
            HookTimes::OfAClass | HookTimes::WithCallbacks => return None,
            HookTimes::Counted => (
                "what their code and the kernel's functions execute, counted in instructions of Linux 7.3",
                "switches under five schedulers took within 2 % of that in the virtual machine, under a sixth 14 % less",
            ),
            HookTimes::WithoutCallbacks => (
                "as long as the hooks of the real-time class",
                "what they execute is not charged: a loop of 20,000 turns costs as much as none",
            ),
        };
        Some(Assumption::new(&format!("callbacks of {policy}"), value, why))
    })
}

/// The policies whose callbacks take no time.
pub(crate) fn not_charged<'a>(policies: &'a [String], costs: &Costs) -> Vec<&'a str> {
    let is_free = |policy: &&str| HookTimes::of(policy, costs) == HookTimes::WithoutCallbacks;
    policies.iter().map(String::as_str).filter(is_free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_take_no_time_where_an_instruction_has_none() {
        let policies = ["eevdf", "flsched:turn_ns=0", "mine.bpf.c"].map(str::to_owned);
        let known = |costs: &Costs| policies.each_ref().map(|policy| HookTimes::of(policy, costs));
        let [class, own] = [HookTimes::OfAClass, HookTimes::WithCallbacks];
        assert_eq!(known(&Costs::typical()), [class, own, HookTimes::Counted]);
        assert_eq!(known(&Costs::xeon_phi()), [class, own, HookTimes::WithoutCallbacks]);
        assert_eq!(not_charged(&policies, &Costs::xeon_phi()), ["mine.bpf.c"]);
        assert!(not_charged(&policies, &Costs::typical()).is_empty());
    }
}
