//! The costs of a specification.

use crate::assumption::Assumption;
use crate::costs::{Costs, NO_PROFILE};
use crate::hook::{Family, Hook};
use crate::slabs::SlabCosts;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use swtch_profile::Profile;

/// A time, ns.
#[derive(Clone, Copy, Debug)]
struct Ns(u64);

impl<'de> Deserialize<'de> for Ns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::quantity::ns(deserializer).map(Self)
    }
}

/// A size, bytes.
#[derive(Clone, Copy, Debug)]
struct Bytes(u64);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::quantity::bytes(deserializer).map(Self)
    }
}

/// What the other figures are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Base {
    /// Those of the Profile; of an ordinary server where there is none.
    #[default]
    Profile,
    Typical,
    XeonPhi,
    Free,
}

macro_rules! costs_table {
    ($($time:ident)*) => {
        /// `[costs]`: figures that stand in place of the base's.
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct CostsTable {
            base: Base,
            $($time: Option<Ns>,)*
            cold_socket_ns: Option<Ns>,
            byte_ps: Option<u64>,
            instruction_ps: Option<u64>,
            pipe_locked_per_mille: Option<u32>,
            migration_ns: Option<[Ns; 6]>,
            refill: Option<Vec<(Bytes, Ns)>>,
            hooks: BTreeMap<Family, BTreeMap<Hook, Ns>>,
            locked_per_mille: BTreeMap<Family, u32>,
        }

        impl CostsTable {
            fn times(&self, costs: &mut Costs) {
                $(if let Some(Ns(ns)) = self.$time {
                    costs.$time = ns;
                })*
            }
        }
    };
}

costs_table! {
    process_switch_ns thread_switch_ns idle_switch_ns wake_ns ipi_ns idle_exit_ns interrupt_ns tick_ns tick_period_ns pipe_ns socket_ns cold_pipe_ns
    socket_sleep_ns pipe_lines_ns socket_lines_ns pipe_data_ns socket_data_ns futex_ns barrier_look_ns yield_ns sleep_ns timer_slack_ns fork_ns thread_fork_ns start_ns thread_start_ns new_stack_ns new_stack_start_ns exit_ns thread_exit_ns shared_file_ns
}

impl CostsTable {
    /// The costs, and what had to be assumed; or what is wrong with them.
    pub(super) fn apply(&self, profile: Option<&Profile>) -> Result<(Costs, Vec<Assumption>), String> {
        let (mut costs, assumed) = match (self.base, profile) {
            (Base::Profile, Some(profile)) => Costs::of(profile),
            (Base::Profile, None) => {
                let assumed = Assumption::new("costs", "those of an ordinary server", NO_PROFILE);
                (Costs::typical(), vec![assumed])
            }
            (Base::Typical, _) => (Costs::typical(), Vec::new()),
            (Base::XeonPhi, _) => (Costs::xeon_phi(), Vec::new()),
            (Base::Free, _) => (Costs::free(), Vec::new()),
        };
        self.times(&mut costs);
        if let Some(Ns(ns)) = self.cold_socket_ns {
            costs.slabs = SlabCosts::even(ns);
        }
        costs.byte_ps = self.byte_ps.unwrap_or(costs.byte_ps);
        costs.instruction_ps = self.instruction_ps.unwrap_or(costs.instruction_ps);
        if let Some(per_mille) = self.pipe_locked_per_mille {
            if per_mille > 1_000 {
                return Err(format!("pipe_locked_per_mille is {per_mille}; expected at most 1000"));
            }
            costs.pipe_locked_per_mille = per_mille;
        }
        if let Some(times) = self.migration_ns {
            costs.migration_ns = times.map(|Ns(ns)| ns);
        }
        if let Some(points) = &self.refill {
            costs.refill = points.iter().map(|(Bytes(bytes), Ns(ns))| (*bytes, *ns)).collect();
        }
        for (family, hooks) in &self.hooks {
            for (hook, Ns(ns)) in hooks {
                let place = &mut costs.hook_ns[*family as usize][*hook as usize];
                *place = u32::try_from(*ns)
                    .map_err(|_| format!("a hook takes {ns} ns; expected less than 4.3 s"))?;
            }
        }
        for (family, per_mille) in &self.locked_per_mille {
            if *per_mille > 1_000 {
                return Err(format!("locked_per_mille is {per_mille}; expected at most 1000"));
            }
            costs.locked_per_mille[*family as usize] = *per_mille;
        }
        if costs.tick_ns >= costs.tick_period_ns {
            let (tick, period) = (costs.tick_ns, costs.tick_period_ns);
            return Err(format!(
                "a tick of {tick} ns in every {period} ns; expected tick_ns below tick_period_ns"
            ));
        }
        if costs.refill.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err("the sizes of refill do not ascend".to_owned());
        }
        Ok((costs, assumed))
    }
}
