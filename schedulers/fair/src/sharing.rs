//! From speedups to shares of every kind of core.

use crate::controller::Decision;
use crate::kinds::{ByKind, KINDS};
use swtch_fairness::{Allocator, CoreTypes, Cores, Demand, FairnessError, Policy, keep_least_of};

/// Every task keeps so much of its time on every kind of core where speedups are sampled.
pub(crate) const LEAST_SHARE: f64 = 0.04;

/// Why a machine cannot be shared so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SharingError {
    /// The policy knows two kinds.
    #[error(
        "{policy} is defined for two kinds of cores, and there are {kinds}; use min-fair, similar-min-fair, max-perf, max-fair, uni-fair or r-fair, or name the fast ones and call all others slow: --fast 0-1"
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
/// shared by the linear program that takes their place there ([`CoreTypes::allocate`]).
#[derive(Debug)]
pub(crate) struct Sharing {
    counts: Vec<u32>,
    cores: Cores,
    policy: Policy,
    allocator: Allocator,
    /// Reused: one entry an application.
    speedups: Vec<Option<f64>>,
    demands: Vec<Demand>,
    shares: Vec<f64>,
}

impl Sharing {
    /// Of this many cores of every kind, from the fastest to the slowest.
    pub(crate) fn new(counts: &[u32], policy: Policy) -> Result<Self, SharingError> {
        if counts.len() > 2 && !policy.is_for_any_kinds() {
            return Err(SharingError::TwoKindsOnly { policy: policy.name(), kinds: counts.len() });
        }
        let (fast, others) = counts.split_first().ok_or(FairnessError::NoCores)?;
        Ok(Self {
            counts: counts.to_vec(),
            cores: Cores::new(*fast, others.iter().sum())?,
            policy,
            allocator: Allocator::default(),
            speedups: Vec::new(),
            demands: Vec::new(),
            shares: Vec::new(),
        })
    }

    /// The kinds of cores.
    pub(crate) fn kinds(&self) -> usize {
        self.counts.len()
    }

    /// The shares when this many tasks share alike: of the fastest kind first, so that no slower core is used while a faster one is idle.
    pub(crate) fn equal(&self, tasks: usize) -> ByKind<f64> {
        let busy = (tasks as f64).min(self.cores.all());
        let (mut shares, mut rest) = (ByKind::default(), 1.0_f64);
        for (share, count) in shares.iter_mut().zip(&self.counts) {
            *share = (f64::from(*count) / busy).min(rest);
            rest -= *share;
        }
        shares[self.kinds() - 1] += rest;
        shares
    }

    /// Writes the shares into the decisions. An application whose speedups are not known has what its weight entitles it to, and the others
    /// share what is left by the policy.
    pub(crate) fn share(
        &mut self,
        decisions: &mut [Decision],
        is_sampled: bool,
    ) -> Result<(), FairnessError> {
        let least = if is_sampled { LEAST_SHARE } else { 0.0 };
        self.demands.clear();
        self.demands.extend(decisions.iter().map(Decision::demand));
        if self.kinds() <= 2 {
            self.share_two(decisions, least)
        } else {
            self.share_several(decisions, least)
        }
    }

    fn share_several(&self, decisions: &mut [Decision], least: f64) -> Result<(), FairnessError> {
        let speeds = |decision: &Decision| decision.speedups.unwrap_or([1.0; KINDS])[..self.kinds()].to_vec();
        let machine = CoreTypes::new(self.counts.clone(), decisions.iter().map(speeds).collect())?
            .with_demands(self.demands.clone())?
            .with_unknown(decisions.iter().map(|decision| decision.speedups.is_none()).collect())?
            .keeping(least);
        let found = machine.allocate(&self.policy)?;
        for (decision, shares) in decisions.iter_mut().zip(found.own_shares()) {
            decision.shares = ByKind::default();
            decision.shares[..shares.len()].copy_from_slice(&shares);
        }
        Ok(())
    }

    fn share_two(&mut self, decisions: &mut [Decision], least: f64) -> Result<(), FairnessError> {
        self.speedups.clear();
        self.speedups.extend(decisions.iter().map(|decision| decision.speedups.map(|speedups| speedups[0])));
        self.shares.clear();
        self.shares.resize(decisions.len(), 0.0);
        let Self { allocator, shares, .. } = self;
        allocator.allocate_known(self.cores, &self.speedups, &self.demands, &self.policy, shares)?;
        if least > 0.0 {
            let cpus = |place: usize| allocator.entitled()[place].cpus;
            let budget = shares.iter().enumerate().map(|(place, share)| share * cpus(place)).sum();
            keep_least_of(shares, cpus, least, budget);
        }
        for (decision, share) in decisions.iter_mut().zip(&*shares) {
            decision.shares = of_two(*share);
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
