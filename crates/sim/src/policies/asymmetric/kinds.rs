//! Which CPUs are of which kind.

use crate::machine::Machine;
use std::cmp::Reverse;
use swtch_fairness::Policy as Rule;

/// The most kinds of cores that are told apart, as in the live scheduler. Slower ones count as the slowest of these.
pub(super) const MOST_KINDS: usize = 4;

/// One of something for every kind of core, from the fastest to the slowest.
pub(super) type ByKind<T> = [T; MOST_KINDS];

/// The kinds of cores of a machine, from the fastest to the slowest.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    /// The kind of core of the machine whose speeds stand for each kind.
    pub(super) types: Vec<usize>,
    /// The CPUs of each.
    pub(super) counts: Vec<u32>,
    /// The kind of each CPU.
    pub(super) of_cpu: Vec<usize>,
}

impl Kinds {
    /// Those of a machine that a rule tells apart. Where a rule is defined for two kinds, all but the fastest are slow, as fast as the slowest.
    pub(super) fn of(machine: &Machine, rule: &Rule) -> Self {
        // Guaranteed fairness decides between two allocations, interval by interval, for two kinds.
        let any = rule.is_for_any_kinds() && !matches!(rule, Rule::Guaranteed { .. });
        let most = if any { MOST_KINDS } else { 2 };
        let used = |kind: &usize| machine.cpus.iter().any(|cpu| cpu.core_type as usize == *kind);
        let mut types: Vec<usize> = (0..machine.types.len()).filter(used).collect();
        types.sort_by_key(|kind| Reverse((machine.types[*kind].speed, *kind)));
        let place = |cpu: &crate::machine::MachineCpu| {
            let place = types.iter().position(|kind| *kind == cpu.core_type as usize);
            place.unwrap_or_default().min(most - 1)
        };
        let of_cpu: Vec<usize> = machine.cpus.iter().map(place).collect();
        if let Some(slowest) = types.last().copied().filter(|_| types.len() > most) {
            types.truncate(most);
            types[most - 1] = slowest;
        }
        let counts = (0..types.len()).map(|kind| of_cpu.iter().filter(|own| **own == kind).count() as u32);
        Self { counts: counts.collect(), types, of_cpu }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.types.len()
    }

    /// Whether a kind is the slowest.
    pub(super) fn is_slowest(&self, kind: usize) -> bool {
        kind + 1 >= self.count()
    }
}
