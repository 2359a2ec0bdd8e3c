//! From what applications have had to what they shall get.

use crate::kinds::ByKind;
use crate::sharing::{Sharing, SharingError};
use crate::source::SpeedupSource;
use crate::usage::Usage;
use std::collections::BTreeMap;
use swtch_fairness::{Demand, FairnessError, Policy};

/// A process, or a cgroup, by its number.
pub type AppId = u64;

/// What was decided about an application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Which.
    pub app: AppId,
    /// Its tasks that were busy; they share alike.
    pub tasks: u32,
    /// Its weight, 1 for one task of nice 0: a process's is the sum of its tasks'.
    pub weight: f64,
    /// Its speedup on every kind of core over the slowest; `None` while it is not known.
    pub speedups: Option<ByKind<f64>>,
    /// The part of its own CPU time that it is to spend on every kind of core; together 1.
    pub shares: ByKind<f64>,
    /// What it had in the interval before.
    pub used: Usage,
}

impl Decision {
    /// What it asks for.
    pub(crate) fn demand(&self) -> Demand {
        Demand { weight: self.weight, threads: self.tasks }
    }
}

/// The weight of a task of nice 0, as the kernel counts it for a scheduler.
const NICE_0: f64 = 100.0;

/// What a swap costs is more than tasks gain whose speedups differ by less.
const NOTHING_TO_GAIN: f64 = 0.01;

/// Computes shares, interval by interval.
#[derive(Debug)]
pub struct Controller<S> {
    sharing: Sharing,
    source: S,
    seen: BTreeMap<AppId, Usage>,
    decisions: Vec<Decision>,
}

impl<S: SpeedupSource> Controller<S> {
    /// For this many cores of every kind, from the fastest to the slowest, by a policy, with speedups from a source.
    ///
    /// # Errors
    /// When there is no core, or the policy is for two kinds and there are more.
    pub fn new(counts: &[u32], policy: Policy, source: S) -> Result<Self, SharingError> {
        let sharing = Sharing::new(counts, policy)?;
        Ok(Self { sharing, source, seen: BTreeMap::new(), decisions: Vec::new() })
    }

    /// The kinds of cores.
    pub fn kinds(&self) -> usize {
        self.sharing.kinds()
    }

    /// Where speedups come from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Sees the totals of all applications at the end of an interval, and computes the shares of those that were busy. As long as one's
    /// speedup is not known it has what its weight entitles it to. `weight` says an application's own weight, where it has one as a
    /// whole; its tasks' weights add up otherwise.
    ///
    /// # Errors
    /// When the policy's parameters cannot be.
    pub fn step(
        &mut self,
        totals: &[(AppId, Usage)],
        weight: impl Fn(AppId) -> Option<f64>,
    ) -> Result<&[Decision], FairnessError> {
        self.decisions.clear();
        for (app, total) in totals {
            let used = total.since(&self.seen.insert(*app, *total).unwrap_or_default());
            self.source.observe(*app, &used);
            self.decide_about(*app, used, weight(*app));
        }
        self.forget_others(totals);
        self.share()?;
        Ok(&self.decisions)
    }

    /// Within an interval: computes the shares again if an application has become busy that was not there, or one has gone. Of the others, what
    /// the last interval said holds. `None` when all are there still, and no other.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn revise(
        &mut self,
        totals: &[(AppId, Usage)],
        weight: impl Fn(AppId) -> Option<f64>,
    ) -> Result<Option<&[Decision]>, FairnessError> {
        let before = self.decisions.len();
        self.decisions.retain(|decision| totals.iter().any(|(app, _)| *app == decision.app));
        let mut has_changed = self.decisions.len() != before;
        for (app, total) in totals {
            let used = total.since(&self.seen.get(app).copied().unwrap_or_default());
            if used.busy > 0 && !self.decisions.iter().any(|decision| decision.app == *app) {
                self.decide_about(*app, used, weight(*app));
                has_changed = true;
            }
        }
        if !has_changed {
            return Ok(None);
        }
        self.share()?;
        Ok(Some(&self.decisions))
    }

    fn decide_about(&mut self, app: AppId, used: Usage, weight: Option<f64>) {
        if used.busy == 0 {
            return;
        }
        let (tasks, speedups) = (used.busy as u32, self.source.speedups(app));
        // Where the kernel said nothing of weights, all are alike.
        let of_tasks = if used.weight > 0 { used.weight as f64 / NICE_0 } else { f64::from(tasks) };
        let weight = weight.unwrap_or(of_tasks);
        self.decisions.push(Decision { app, tasks, weight, speedups, shares: ByKind::default(), used });
    }

    fn share(&mut self) -> Result<(), FairnessError> {
        if self.decisions.is_empty() {
            return Ok(());
        }
        self.sharing.share(&mut self.decisions, self.source.is_sampled())
    }

    /// The shares that all get when all share alike; for applications that nothing is known of.
    pub fn equal_shares(&self) -> ByKind<f64> {
        let tasks: u32 = self.decisions.iter().map(|decision| decision.tasks).sum();
        self.sharing.equal(tasks.max(1) as usize)
    }

    /// Whether every application that was busy is about as fast on one kind of core as on another.
    pub fn all_kinds_are_alike(&self) -> bool {
        let is_alike = |decision: &Decision| {
            let is_one = |speedup: &f64| (speedup - 1.0).abs() < NOTHING_TO_GAIN;
            decision.speedups.is_some_and(|speedups| speedups[..self.kinds()].iter().all(is_one))
        };
        !self.decisions.is_empty() && self.decisions.iter().all(is_alike)
    }

    fn forget_others(&mut self, totals: &[(AppId, Usage)]) {
        if self.seen.len() == totals.len() {
            return;
        }
        let source = &mut self.source;
        self.seen.retain(|app, _| {
            let is_there = totals.iter().any(|(other, _)| other == app);
            if !is_there {
                source.forget(*app);
            }
            is_there
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::LEAST_SHARE;
    use crate::source::Counted;
    use swtch_fairness::{Allocator, Cores, keep_least};
    const MS: u64 = 1_000_000;

    /// Weights are those of tasks.
    fn own(_app: AppId) -> Option<f64> {
        None
    }

    /// Totals after `intervals` of 2 s in which applications of these speedups ran on every kind of core.
    fn totals<const N: usize>(speedups: &[[f64; N]], intervals: u64) -> Vec<(AppId, Usage)> {
        let ns = intervals * 1000 * MS;
        let of = |(index, speedups): (usize, &[f64; N])| {
            let mut usage = Usage { busy: intervals, ..Usage::default() };
            for (kind, speedup) in speedups.iter().chain(&[1.0]).enumerate() {
                usage.ran_ns[kind] = ns;
                usage.work[kind] = (ns as f64 * speedup) as u64;
            }
            (index as AppId, usage)
        };
        speedups.iter().enumerate().map(of).collect()
    }

    fn controller(policy: Policy) -> Controller<Counted> {
        Controller::new(&[2, 4], policy, Counted::by("a test", 2)).unwrap()
    }

    /// Known speedups.
    struct MeasuredSpeedups(Vec<[f64; 2]>);

    impl SpeedupSource for MeasuredSpeedups {
        fn name(&self) -> &'static str {
            "a test"
        }

        fn is_sampled(&self) -> bool {
            false
        }

        fn observe(&mut self, _app: AppId, _used: &Usage) {}

        fn speedups(&self, app: AppId) -> Option<ByKind<f64>> {
            let [first, second] = self.0.get(app as usize)?;
            Some([*first, *second, 1.0, 0.0])
        }

        fn forget(&mut self, _app: AppId) {}
    }

    #[test]
    fn one_that_is_not_known_has_its_part_and_the_others_share_the_rest() {
        let mut controller = controller(Policy::MaxPerf);
        let mut first = totals(&[[3.0], [2.0], [1.5], [1.4], [1.3], [1.2]], 1);
        first[5].1.work[1] = 0;
        let decisions = controller.step(&first, own).unwrap();
        let fast: Vec<f64> = decisions.iter().map(|decision| decision.shares[0]).collect();
        // Two fast cores less a third of one, to those that gain most; the others keep their least share.
        assert!((fast[5] - 1.0 / 3.0).abs() < 0.02 && fast[0] > 0.9 && fast[1] > 0.5, "{fast:?}");
        assert!((fast.iter().sum::<f64>() - 2.0).abs() < 1e-9 && fast[4] <= LEAST_SHARE + 0.01, "{fast:?}");
    }

    #[test]
    fn weights_count_for_tasks_and_for_whole_applications() {
        let mut both = totals(&[[2.0]; 6], 1);
        both[0].1.weight = 335;
        both[1..].iter_mut().for_each(|(_, usage)| usage.weight = 100);
        let fast = |decisions: &[Decision]| decisions[0].shares[0] / decisions[1].shares[0];
        assert!((fast(controller(Policy::MaxFair).step(&both, own).unwrap()) - 3.35).abs() < 1e-9);
        let weight = |app: AppId| Some(if app == 0 { 2.0 } else { 1.0 });
        assert!((fast(controller(Policy::MaxFair).step(&both, weight).unwrap()) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn who_comes_or_goes_within_an_interval_has_the_shares_computed_again() {
        let mut controller = controller(Policy::MaxFair);
        let six = totals(&[[2.0]; 6], 1);
        controller.step(&six, own).unwrap();
        // Six have gone on, none is new.
        assert_eq!(controller.revise(&totals(&[[2.0]; 6], 1), own).unwrap(), None);
        let fast =
            |found: Option<&[Decision]>| found.unwrap().iter().map(|one| one.shares[0]).collect::<Vec<_>>();
        // One is gone: as many fast cores for five.
        let found = fast(controller.revise(&six[..5], own).unwrap());
        assert!(found.len() == 5 && found.iter().all(|share| (share - 0.4).abs() < 1e-9), "{found:?}");
        // Two others come, of which one has done little yet; seven would share six cores.
        let mut later = six[..5].to_vec();
        later.push((8, Usage { busy: 1, weight: 100, ran_ns: [300 * MS, 0, 0, 0], ..Usage::default() }));
        later.push((9, Usage { ran_ns: [MS, 0, 0, 0], ..Usage::default() }));
        let found = fast(controller.revise(&later, own).unwrap());
        assert!(found.len() == 6 && found.iter().all(|share| (share - 1.0 / 3.0).abs() < 1e-9), "{found:?}");
        assert_eq!(controller.revise(&later, own).unwrap(), None);
        // The end of the interval counts all of it.
        assert_eq!(
            controller.step(&later, own).unwrap().iter().find(|one| one.app == 8).unwrap().used.ran_ns[0],
            300 * MS
        );
    }

    #[test]
    fn min_fair_gives_what_the_policy_says_with_estimated_speedups() {
        let speedups = [3.0, 2.6, 2.2, 1.8, 1.5, 1.2];
        let policy = Policy::MinFair { min_fairness: 0.85 };
        let mut controller = controller(policy);
        for interval in 1..4 {
            controller.step(&totals(&speedups.map(|speedup| [speedup]), interval), own).unwrap();
        }
        let decisions =
            controller.step(&totals(&speedups.map(|speedup| [speedup]), 4), own).unwrap().to_vec();
        let mut expected = vec![0.0; 6];
        Allocator::new().allocate(Cores::new(2, 4).unwrap(), &speedups, &policy, &mut expected).unwrap();
        let budget = expected.iter().sum();
        keep_least(&mut expected, LEAST_SHARE, budget);
        for (decision, expected) in decisions.iter().zip(expected) {
            assert!((decision.shares[0] - expected).abs() < 1e-6, "{decision:?} {expected}");
        }
    }

    #[test]
    fn tasks_of_one_application_share_alike_and_the_idle_get_nothing() {
        let mut controller = controller(Policy::MaxPerf);
        let mut both = totals(&[[3.0], [1.5], [2.0]], 1);
        both[0].1.busy = 3;
        both[2].1.busy = 0;
        let decisions = controller.step(&both, own).unwrap();
        assert_eq!(decisions.len(), 2);
        // Four tasks on two fast cores: three of them could use 2 x 0.96 at most, the fourth keeps its least share.
        let sum: f64 = decisions.iter().map(|decision| decision.shares[0] * f64::from(decision.tasks)).sum();
        assert!((sum - 2.0).abs() < 1e-9 && decisions[0].shares[0] > decisions[1].shares[0], "{decisions:?}");
        assert!((controller.equal_shares()[0] - 0.5).abs() < 1e-9);
    }

    #[test]
    fn where_kinds_are_alike_for_all_no_swap_is_needed() {
        let are_alike = |speedups: &[[f64; 2]]| {
            let source = MeasuredSpeedups(speedups.to_vec());
            let mut controller = Controller::new(&COUNTS, Policy::MaxFair, source).unwrap();
            assert!(!controller.all_kinds_are_alike(), "no application is there");
            controller.step(&totals(&[[1.0, 1.0]; 3], 1), own).unwrap();
            controller.all_kinds_are_alike()
        };
        assert!(are_alike(&[[1.0, 1.0], [1.005, 0.995], [1.0, 1.0]]));
        assert!(!are_alike(&[[1.0, 1.0], [1.0, 1.0], [1.5, 1.0]]));
        assert!(!are_alike(&[[1.0, 1.0], [1.0, 1.02], [1.0, 1.0]]));
        assert!(!are_alike(&[[1.0, 1.0], [1.0, 1.0]]), "one is not known");
    }

    #[test]
    fn who_has_gone_is_forgotten() {
        let mut controller = controller(Policy::MaxFair);
        controller.step(&totals(&[[2.0], [2.0]], 1), own).unwrap();
        controller.step(&totals(&[[2.0]], 2), own).unwrap();
        let speedups = |app| controller.source().speedups(app);
        assert_eq!((speedups(0), speedups(1)), (Some([2.0, 1.0, 0.0, 0.0]), None));
    }

    /// Worked example 6: one core of each of the faster kinds and two slow ones.
    const COUNTS: [u32; 3] = [1, 1, 2];
    const SPEEDUPS: [[f64; 2]; 4] = [[3.0, 2.0], [2.8, 2.2], [2.4, 1.8], [1.6, 1.4]];

    /// What each achieves with its shares, relative to sharing alike.
    fn performance(decisions: &[Decision]) -> Vec<f64> {
        let speed = |speedups: &ByKind<f64>, shares: &ByKind<f64>| -> f64 {
            speedups.iter().zip(shares).map(|(speedup, share)| speedup * share).sum()
        };
        let of = |decision: &Decision| {
            let speedups = decision.speedups.unwrap();
            speed(&speedups, &decision.shares) / speed(&speedups, &[0.25, 0.25, 0.5, 0.0])
        };
        decisions.iter().map(of).collect()
    }

    #[test]
    fn three_kinds_are_shared_as_the_linear_program_says() {
        for (policy, expected) in [
            (Policy::MinFair { min_fairness: 1.0 }, [1.074_83, 1.0, 1.0, 1.0]),
            (Policy::MinFair { min_fairness: 0.85 }, [1.455_102, 1.15, 0.85, 0.85]),
            (Policy::MaxFair, [1.0; 4]),
        ] {
            let mut controller =
                Controller::new(&COUNTS, policy, MeasuredSpeedups(SPEEDUPS.to_vec())).unwrap();
            let found = performance(controller.step(&totals(&SPEEDUPS, 1), own).unwrap());
            assert!(
                found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5),
                "{found:?}"
            );
        }
        let mut controller =
            Controller::new(&COUNTS, Policy::MaxPerf, MeasuredSpeedups(SPEEDUPS.to_vec())).unwrap();
        let found = performance(controller.step(&totals(&SPEEDUPS, 1), own).unwrap());
        assert!((found.iter().sum::<f64>() / 4.0 - 1.104_147).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn where_three_kinds_are_sampled_everybody_stays_on_each() {
        let policy = Policy::MinFair { min_fairness: 0.85 };
        let mut controller = Controller::new(&COUNTS, policy, Counted::by("a test", 3)).unwrap();
        let mut first = totals(&SPEEDUPS, 1);
        first[3].1.work[1] = 0;
        let decisions = controller.step(&first, own).unwrap();
        let off = |decision: &Decision| {
            let pairs = decision.shares.iter().zip([0.25, 0.25, 0.5, 0.0]);
            pairs.map(|(share, part)| (share - part).abs()).fold(0.0, f64::max)
        };
        assert!(off(&decisions[3]) < 1e-9 && off(&decisions[0]) > 0.1, "{decisions:?}");
        assert_eq!(controller.equal_shares(), [0.25, 0.25, 0.5, 0.0]);
        let decisions = controller.step(&totals(&SPEEDUPS, 2), own).unwrap();
        for decision in decisions {
            assert!(decision.shares[..3].iter().all(|share| *share >= LEAST_SHARE - 1e-9), "{decision:?}");
            assert!((decision.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{decision:?}");
        }
        // The floor is part of the program, so that the guarantee holds with it.
        assert!(performance(decisions).iter().all(|achieved| *achieved >= 0.85 - 1e-9), "{decisions:?}");
    }

    #[test]
    fn tasks_of_one_application_count_each_on_three_kinds_too() {
        let mut controller =
            Controller::new(&COUNTS, Policy::MaxPerf, MeasuredSpeedups(SPEEDUPS.to_vec())).unwrap();
        let mut all = totals(&SPEEDUPS, 1);
        all[3].1.busy = 5;
        let decisions = controller.step(&all, own).unwrap();
        for (kind, count) in COUNTS.iter().enumerate() {
            // Eight tasks on four cores: each runs half of the time.
            let used: f64 = decisions.iter().map(|one| one.shares[kind] * f64::from(one.tasks) / 2.0).sum();
            assert!((used - f64::from(*count)).abs() < 1e-9, "{decisions:?}");
        }
    }

    #[test]
    fn policies_for_two_kinds_are_refused_with_a_way_out() {
        for name in ["equal-slowdown", "equal-speedup"] {
            let policy = Policy::from_name(name).unwrap();
            let error =
                Controller::new(&COUNTS, policy, MeasuredSpeedups(Vec::new())).err().unwrap().to_string();
            assert!(
                error.starts_with(&format!("{name} is defined for two kinds of cores, and there are 3; use")),
                "{error}"
            );
            assert!(Controller::new(&COUNTS[..2], policy, MeasuredSpeedups(Vec::new())).is_ok());
        }
    }
}
