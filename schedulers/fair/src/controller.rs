//! From what applications have had to what they shall get.

use crate::source::SpeedupSource;
use crate::usage::Usage;
use std::collections::BTreeMap;
use swtch_fairness::{Allocator, Cores, FairnessError, Policy, keep_least};

/// A process, or a control group, by its number.
pub type AppId = u64;

/// A share is kept this far from 0 and 1 where speedups are sampled: every application spends as much of its time on either kind of core.
const LEAST_SHARE: f64 = 0.04;

/// What was decided about an application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Which.
    pub app: AppId,
    /// Its tasks that were busy; they share alike.
    pub tasks: u32,
    /// Its speedup; `None` while it is not known.
    pub speedup: Option<f64>,
    /// The part of its own CPU time that it is to spend on fast cores.
    pub share: f64,
    /// What it had in the interval before.
    pub used: Usage,
}

/// Computes shares, interval by interval.
#[derive(Debug)]
pub struct Controller<S> {
    cores: Cores,
    policy: Policy,
    source: S,
    allocator: Allocator,
    seen: BTreeMap<AppId, Usage>,
    /// Reused: one entry a busy task.
    speedups: Vec<f64>,
    shares: Vec<f64>,
    decisions: Vec<Decision>,
}

impl<S: SpeedupSource> Controller<S> {
    /// For so many cores, by a policy, with speedups from a source.
    pub fn new(cores: Cores, policy: Policy, source: S) -> Self {
        Self {
            cores,
            policy,
            source,
            allocator: Allocator::default(),
            seen: BTreeMap::new(),
            speedups: Vec::new(),
            shares: Vec::new(),
            decisions: Vec::new(),
        }
    }

    /// Where speedups come from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Sees the totals of all applications at the end of an interval, and computes the shares of those that were busy. As long as one's
    /// speedup is not known all share alike.
    ///
    /// # Errors
    /// When the policy's parameters cannot be.
    pub fn step(&mut self, totals: &[(AppId, Usage)]) -> Result<&[Decision], FairnessError> {
        self.decisions.clear();
        for (app, total) in totals {
            let used = total.since(&self.seen.insert(*app, *total).unwrap_or_default());
            self.source.observe(*app, &used);
            if used.busy > 0 {
                let (tasks, speedup) = (used.busy as u32, self.source.speedup(*app));
                self.decisions.push(Decision { app: *app, tasks, speedup, share: 0.0, used });
            }
        }
        self.forget_others(totals);
        if !self.decisions.is_empty() {
            self.allocate()?;
        }
        Ok(&self.decisions)
    }

    /// The share that all get when all share alike; for applications that nothing is known of.
    pub fn equal_share(&self) -> f64 {
        let tasks: u32 = self.decisions.iter().map(|decision| decision.tasks).sum();
        self.cores.equal_share(tasks.max(1) as usize)
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

    fn allocate(&mut self) -> Result<(), FairnessError> {
        self.speedups.clear();
        let is_known = self.decisions.iter().all(|decision| decision.speedup.is_some());
        for decision in &self.decisions {
            let speedup = decision.speedup.filter(|_| is_known).unwrap_or(1.0);
            self.speedups.extend(std::iter::repeat_n(speedup, decision.tasks as usize));
        }
        self.shares.clear();
        self.shares.resize(self.speedups.len(), 0.0);
        let policy = if is_known { self.policy } else { Policy::MaxFair };
        self.allocator.allocate(self.cores, &self.speedups, &policy, &mut self.shares)?;
        if self.source.is_sampled() {
            let budget = self.shares.iter().sum();
            keep_least(&mut self.shares, LEAST_SHARE, budget);
        }
        let mut rest = self.shares.as_slice();
        for decision in &mut self.decisions {
            let (own, others) = rest.split_at(decision.tasks as usize);
            // Within an application all are alike.
            decision.share = own.iter().sum::<f64>() / f64::from(decision.tasks);
            rest = others;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Counted;

    const MS: u64 = 1_000_000;

    /// Totals after `intervals` of 2 s in which applications of these speedups ran on both kinds of core.
    fn totals(speedups: &[f64], intervals: u64) -> Vec<(AppId, Usage)> {
        let of = |(index, speedup): (usize, &f64)| {
            let ns = intervals * 1000 * MS;
            let usage = Usage {
                fast_ns: ns,
                slow_ns: ns,
                fast_work: (ns as f64 * speedup) as u64,
                slow_work: ns,
                busy: intervals,
            };
            (index as AppId, usage)
        };
        speedups.iter().enumerate().map(of).collect()
    }

    fn controller(policy: Policy) -> Controller<Counted> {
        Controller::new(Cores::new(2, 4).unwrap(), policy, Counted::by("a test"))
    }

    #[test]
    fn nobody_is_favoured_before_all_are_known() {
        let mut controller = controller(Policy::MaxPerf);
        let mut first = totals(&[3.0, 2.0, 1.5, 1.4, 1.3, 1.2], 1);
        first[5].1.slow_work = 0;
        let decisions = controller.step(&first).unwrap();
        assert!(decisions.iter().all(|decision| (decision.share - 1.0 / 3.0).abs() < 1e-9), "{decisions:?}");
    }

    #[test]
    fn min_fair_gives_what_the_policy_says_with_estimated_speedups() {
        let speedups = [3.0, 2.6, 2.2, 1.8, 1.5, 1.2];
        let policy = Policy::MinFair { min_fairness: 0.85 };
        let mut controller = controller(policy);
        for interval in 1..4 {
            controller.step(&totals(&speedups, interval)).unwrap();
        }
        let decisions = controller.step(&totals(&speedups, 4)).unwrap().to_vec();
        let mut expected = vec![0.0; 6];
        Allocator::new().allocate(Cores::new(2, 4).unwrap(), &speedups, &policy, &mut expected).unwrap();
        let budget = expected.iter().sum();
        keep_least(&mut expected, LEAST_SHARE, budget);
        for (decision, expected) in decisions.iter().zip(expected) {
            assert!((decision.share - expected).abs() < 1e-6, "{decision:?} {expected}");
        }
    }

    #[test]
    fn tasks_of_one_application_share_alike_and_the_idle_get_nothing() {
        let mut controller = controller(Policy::MaxPerf);
        let mut both = totals(&[3.0, 1.5, 2.0], 1);
        both[0].1.busy = 3;
        both[2].1.busy = 0;
        let decisions = controller.step(&both).unwrap();
        assert_eq!(decisions.len(), 2);
        // Four tasks on two fast cores: three of them could use 2 x 0.96 at most, the fourth keeps its least share.
        let sum: f64 = decisions.iter().map(|decision| decision.share * f64::from(decision.tasks)).sum();
        assert!((sum - 2.0).abs() < 1e-9 && decisions[0].share > decisions[1].share, "{decisions:?}");
        assert!((controller.equal_share() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn who_has_gone_is_forgotten() {
        let mut controller = controller(Policy::MaxFair);
        controller.step(&totals(&[2.0, 2.0], 1)).unwrap();
        controller.step(&totals(&[2.0], 2)).unwrap();
        assert_eq!((controller.source().speedup(0), controller.source().speedup(1)), (Some(2.0), None));
    }
}
