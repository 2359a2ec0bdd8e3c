//! Differences between runs on a real machine that have no cause known to a simulation. They are when exactly a task starts, how long the
//! same work takes, and where the first task of a workload happens to be.
//!
//! Without it all tasks start at the same nanosecond and take exactly as long, which no machine does. Two threads that wake each other up
//! may then miss each other for ever. All seeds of a workload without random steps are one run.

use crate::error::SimError;
use crate::period::Period;
use serde::Serialize;
use swtch_stats::Rng;

/// By how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Jitter {
    /// A task of the workload starts later by up to this, evenly distributed, ns. Where instructions are counted, a thread that is made runs
    /// longer by as much before its own first step.
    pub start_ns: u64,
    /// What a step takes differs by up to this either way, evenly distributed, in thousandths.
    pub work_per_mille: u32,
    /// What one child of ten runs longer by, from its fork to its own first step, in thousandths. Under a fair class every child differs, by up to
    /// half of that either way.
    pub child_per_mille: u32,
    /// The CPU on which the first task of the workload starts is any.
    pub placement: bool,
    /// The workload begins at any time between two ticks, instead of with one.
    pub tick_phase: bool,
}

impl Jitter {
    /// None: the seed changes only what the workload itself says is random. For schedules worked out by hand.
    pub const NONE: Self =
        Self { start_ns: 0, work_per_mille: 0, child_per_mille: 0, placement: false, tick_phase: false };

    /// That of an ordinary machine: starts within 20 us, work within 1 %. A run begins anywhere between two ticks, which do not wait for it.
    ///
    /// Two threads made one after the other began 4.4 to 17.5 us apart (10th and 90th percentile of 4,000 pairs, median 10.0 us). A loop of
    /// 60 us that touches no memory took -0.5 to +3.0 % of its median (5th and 95th percentile of 4,000). The machine was a shared virtual
    /// one of two CPUs under Linux 6.18. The lower figure is taken of the second: what is above it is other programs' doing.
    pub const TYPICAL: Self =
        Self { start_ns: 20_000, work_per_mille: 10, child_per_mille: 0, placement: true, tick_phase: true };

    /// That of a virtual machine that counts instructions: starts within 1.6 us, the same work takes the same time, and one child of ten runs
    /// 30 % longer before its own first step and the others within 0.1 %, or all of them up to 15 % either way. A run begins anywhere between two ticks: how many children have been made by the first tick
    /// decides which of them begin at a later virtual time.
    ///
    /// In such a machine (Linux 7.3.4, one CPU, November 2026) a loop of 87 us, a message through a pipe and one through a socket took to
    /// the ns what half of them took, from the 5th to the 95th percentile of 4,000 each. Two threads made one after the other began 23.5 to 24.9 us
    /// apart (10th and 90th percentile of 4,000). Of 1,560 children of fork most ran within 0.1 % of 57 us up to their own first step, under a
    /// scheduler without preemption, and one in ten to one in twenty 30 % longer; under the stock class they differ by a fifth either way
    /// (`experiments/sched_ext/differences.c`). Those of a hackbench, by the kernel's trace, ran 85 to 116 us there, and two of forty 133 and 165.
    pub const COUNTED: Self =
        Self { start_ns: 1_600, work_per_mille: 0, child_per_mille: 300, placement: true, tick_phase: true };

    /// By its name: `none` (or `0`), `typical` or `counted`.
    ///
    /// # Errors
    /// For any other name.
    pub fn named(name: &str) -> Result<Self, SimError> {
        match name {
            "none" | "0" => Ok(Self::NONE),
            "typical" => Ok(Self::TYPICAL),
            "counted" => Ok(Self::COUNTED),
            _ => {
                let problem = format!("there is no \"{name}\"; expected none, typical or counted");
                Err(SimError::input("jitter", problem))
            }
        }
    }

    /// Whether the seed changes nothing by it.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// One child of this many runs longer.
const CHILDREN: u64 = 10;

/// What a seed makes of it.
#[derive(Clone, Debug)]
pub(crate) struct Perturbation {
    jitter: Jitter,
    rng: Rng,
}

impl Perturbation {
    pub(crate) fn new(jitter: Jitter, seed: u64) -> Self {
        // Numbers of its own: those that policies and programs draw are the same with it and without.
        Self { jitter, rng: Rng::new(seed ^ 0x6a69_7474_6572) }
    }

    /// When a task starts that is to start at a time, ns.
    pub(crate) fn start_ns(&mut self, at_ns: u64) -> u64 {
        if self.jitter.start_ns == 0 {
            return at_ns;
        }
        at_ns.saturating_add(self.rng.below(self.jitter.start_ns + 1))
    }

    /// What a step takes, in any unit finer than the work.
    #[inline]
    pub(crate) fn work(&mut self, units: u64) -> u64 {
        if self.jitter.work_per_mille == 0 {
            return units;
        }
        let most = units / 1000 * u64::from(self.jitter.work_per_mille.min(999));
        let part = (u128::from(most) * 2 * u128::from(self.rng.next_u64())) >> 64;
        (units - most).saturating_add(part as u64)
    }

    /// What a child of `fork` runs from its fork to its own first step, in any unit. Under a fair class children and their parent run in turns.
    pub(crate) fn child(&mut self, units: u64, in_turns: bool) -> u64 {
        let longer = units / 1000 * u64::from(self.jitter.child_per_mille);
        if in_turns {
            units - longer / 2 + self.rng.below(longer + 1)
        } else if longer > 0 && self.rng.below(CHILDREN) == 0 {
            units + longer
        } else if longer > 0 {
            // None runs exactly as long as the others: which of equal tasks comes first goes by that.
            units + self.rng.below(units / 1000 + 1)
        } else {
            units
        }
    }

    /// The same of a thread. Where each step differs by itself, nothing more does.
    pub(crate) fn thread(&mut self, units: u64) -> u64 {
        if self.jitter.child_per_mille == 0 {
            units
        } else {
            units + 1024 * self.rng.below(self.jitter.start_ns + 1)
        }
    }

    /// Ticks that come every so often, from when on is any time.
    pub(crate) fn tick_period(&mut self, period: Period) -> Period {
        if self.jitter.tick_phase { period.begun(self.rng.below(period.ns())) } else { period }
    }

    /// The place of the CPU on which the first task starts.
    pub(crate) fn first_cpu(&mut self, cpus: usize) -> usize {
        if self.jitter.placement { self.rng.below(cpus as u64) as usize } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_and_work_stay_within_their_bounds_and_keep_their_means() {
        let mut typical = Perturbation::new(Jitter::TYPICAL, 1);
        let starts: Vec<u64> = (0..10_000).map(|_| typical.start_ns(5)).collect();
        assert!(starts.iter().all(|ns| (5..=20_005).contains(ns)));
        assert!(starts.iter().any(|ns| *ns < 500) && starts.iter().any(|ns| *ns > 19_500));
        let work: Vec<u64> = (0..10_000).map(|_| typical.work(1_024_000)).collect();
        assert!(work.iter().all(|units| (1_013_760..=1_034_240).contains(units)));
        let mean = work.iter().sum::<u64>() as f64 / 1e4 / 1_024_000.0;
        assert!((mean - 1.0).abs() < 5e-4, "{mean}");
        let cpus: std::collections::BTreeSet<usize> = (0..200).map(|_| typical.first_cpu(4)).collect();
        assert_eq!(cpus.len(), 4);
    }

    #[test]
    fn none_changes_nothing_and_the_longest_work_does_not_overflow() {
        let mut none = Perturbation::new(Jitter::NONE, 7);
        assert_eq!((none.start_ns(3), none.work(12_345), none.first_cpu(8)), (3, 12_345, 0));
        let mut typical = Perturbation::new(Jitter::TYPICAL, 7);
        assert!(typical.work(u64::MAX) > u64::MAX / 100 * 98);
        assert_eq!(typical.work(0), 0);
        assert!(typical.start_ns(u64::MAX) == u64::MAX);
    }

    #[test]
    fn where_instructions_are_counted_one_child_of_ten_differs_and_no_work() {
        let mut counted = Perturbation::new(Jitter::COUNTED, 1);
        assert_eq!(counted.work(1_024_000), 1_024_000);
        let longer = (0..10_000).filter(|_| match counted.child(57_000, false) {
            57_000..=57_057 => false,
            units => units == 74_100 || panic!("{units}"),
        });
        assert!((900..1_100).contains(&longer.count()));
        let mut typical = Perturbation::new(Jitter::TYPICAL, 1);
        assert_eq!((typical.child(57_000, false), typical.child(57_000, true)), (57_000, 57_000));
        let among_others: Vec<u64> = (0..10_000).map(|_| counted.child(57_000, true)).collect();
        let (low, high) = (57_000 * 85 / 100, 57_000 * 115 / 100);
        assert!(among_others.iter().all(|units| (low..=high).contains(units)));
        assert!(
            among_others.iter().any(|units| *units < low + 500)
                && among_others.iter().any(|units| *units > high - 500)
        );
    }

    #[test]
    fn the_first_tick_comes_at_any_time_within_a_period() {
        let first_tick_ns = |of: &mut Perturbation| of.tick_period(Period::new(4_000_000)).end_ns(1);
        assert_eq!(first_tick_ns(&mut Perturbation::new(Jitter::NONE, 1)), 4_000_000);
        for jitter in [Jitter::TYPICAL, Jitter::COUNTED] {
            let mut random = Perturbation::new(jitter, 1);
            let mean = (0..10_000).map(|_| first_tick_ns(&mut random)).sum::<u64>() / 10_000;
            assert!((1_950_000..2_050_000).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn names_are_those_of_the_help() {
        assert_eq!(
            ["0", "typical", "counted"].map(|name| Jitter::named(name).unwrap()),
            [Jitter::NONE, Jitter::TYPICAL, Jitter::COUNTED]
        );
        let error = Jitter::named("much").unwrap_err().to_string();
        assert_eq!(error, "jitter: there is no \"much\"; expected none, typical or counted");
    }
}
