//! From speedups to shares of every kind of core.

use crate::controller::Decision;
use crate::kinds::{ByKind, KINDS};
use swtch_fairness::{Allocator, CoreTypes, Cores, FairnessError, Policy, keep_least};

/// Every task keeps so much of its time on every kind of core where speedups are sampled.
pub(crate) const LEAST_SHARE: f64 = 0.04;

/// Why a machine cannot be shared so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SharingError {
    /// The policy knows two kinds.
    #[error(
        "{policy} is defined for two kinds of cores, and there are {kinds}; use min-fair, max-perf or max-fair, or name the fast ones and call all others slow: --fast 0-1"
    )]
    TwoKindsOnly {
        /// Which.
        policy: &'static str,
        /// How many kinds there are.
        kinds: usize,
    },
    /// There is nothing to share.
    #[error(transparent)]
    Fairness(#[from] FairnessError),
}

/// A machine and a policy. Two kinds of cores are shared by the published rules (Kim and Huh, IEEE TC 67(8), 2018). Three and four are
/// shared by the linear program that takes their place there ([`CoreTypes::min_fair`]).
#[derive(Debug)]
pub(crate) struct Sharing {
    counts: Vec<u32>,
    cores: Cores,
    policy: Policy,
    allocator: Allocator,
    /// Reused: one entry a busy task.
    speedups: Vec<f64>,
    shares: Vec<f64>,
}

impl Sharing {
    /// Of this many cores of every kind, from the fastest to the slowest.
    pub(crate) fn new(counts: &[u32], policy: Policy) -> Result<Self, SharingError> {
        let several = matches!(policy, Policy::MaxFair | Policy::MaxPerf | Policy::MinFair { .. });
        if counts.len() > 2 && !several {
            return Err(SharingError::TwoKindsOnly { policy: policy.name(), kinds: counts.len() });
        }
        let (fast, others) = counts.split_first().ok_or(FairnessError::NoCores)?;
        Ok(Self {
            counts: counts.to_vec(),
            cores: Cores::new(*fast, others.iter().sum())?,
            policy,
            allocator: Allocator::default(),
            speedups: Vec::new(),
            shares: Vec::new(),
        })
    }

    /// The kinds of cores.
    pub(crate) fn kinds(&self) -> usize {
        self.counts.len()
    }

    /// The shares when this many tasks share alike.
    pub(crate) fn equal(&self, tasks: usize) -> ByKind<f64> {
        if self.kinds() <= 2 {
            return of_two(self.cores.equal_share(tasks));
        }
        let mut shares = ByKind::default();
        for (share, count) in shares.iter_mut().zip(&self.counts) {
            *share = f64::from(*count) / self.cores.all();
        }
        shares
    }

    /// Writes the shares into the decisions. As long as one's speedups are not known all share alike.
    pub(crate) fn share(
        &mut self,
        decisions: &mut [Decision],
        is_sampled: bool,
    ) -> Result<(), FairnessError> {
        let is_known = decisions.iter().all(|decision| decision.speedups.is_some());
        let policy = if is_known { self.policy } else { Policy::MaxFair };
        if self.kinds() <= 2 {
            return self.share_two(decisions, &policy, is_sampled);
        }
        let min_fairness = match policy {
            Policy::MinFair { min_fairness } => min_fairness,
            Policy::MaxPerf => 0.0,
            _ => {
                let equal = self.equal(decisions.len());
                for decision in decisions {
                    decision.shares = equal;
                }
                return Ok(());
            }
        };
        let speeds =
            decisions.iter().filter_map(|decision| Some(decision.speedups?[..self.kinds()].to_vec()));
        let machine = CoreTypes::new(self.counts.clone(), speeds.collect())?
            .with_tasks(decisions.iter().map(|decision| decision.tasks).collect())?
            .keeping(if is_sampled { LEAST_SHARE } else { 0.0 });
        let found = machine.min_fair(min_fairness)?;
        for (decision, shares) in decisions.iter_mut().zip(found.shares) {
            decision.shares = ByKind::default();
            for (own, share) in decision.shares.iter_mut().zip(shares) {
                // Of the application's own time, not of the clock's.
                *own = share / machine.occupancy();
            }
        }
        Ok(())
    }

    fn share_two(
        &mut self,
        decisions: &mut [Decision],
        policy: &Policy,
        is_sampled: bool,
    ) -> Result<(), FairnessError> {
        self.speedups.clear();
        for decision in &*decisions {
            let speedup = decision.speedups.filter(|_| *policy != Policy::MaxFair).map_or(1.0, |of| of[0]);
            self.speedups.extend(std::iter::repeat_n(speedup, decision.tasks as usize));
        }
        self.shares.clear();
        self.shares.resize(self.speedups.len(), 0.0);
        self.allocator.allocate(self.cores, &self.speedups, policy, &mut self.shares)?;
        if is_sampled {
            let budget = self.shares.iter().sum();
            keep_least(&mut self.shares, LEAST_SHARE, budget);
        }
        let mut rest = self.shares.as_slice();
        for decision in decisions {
            let (own, others) = rest.split_at(decision.tasks as usize);
            // Within an application all are alike.
            decision.shares = of_two(own.iter().sum::<f64>() / f64::from(decision.tasks));
            rest = others;
        }
        Ok(())
    }
}

/// The shares of two kinds.
fn of_two(fast: f64) -> ByKind<f64> {
    let mut shares = [0.0; KINDS];
    (shares[0], shares[1]) = (fast, 1.0 - fast);
    shares
}
