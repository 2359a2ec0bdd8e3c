//! Everything about an allocation at once, for those who look at it; [`Allocator`] is for those who need it often.

use crate::Allocator;
use crate::cores::Cores;
use crate::demand::{Demand, Entitled, performance_of};
use crate::error::FairnessError;
use crate::guaranteed::{Guaranteed, Interval};
use crate::metrics::{Ddof, Metrics};
use crate::policy::Policy;

/// Shares, and what they achieve.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Of its own CPU time, what each application spends on fast cores (`phi`).
    pub shares: Vec<f64>,
    /// What each achieves, relative to max-fair (`P`).
    pub performance: Vec<f64>,
    /// The share that the guarantee takes for each; all 0 where the policy has none.
    pub required: Vec<f64>,
    /// What each is entitled to; without demands CPU time is 1 for each.
    pub entitled: Vec<Entitled>,
    /// What the allocation is measured by.
    pub metrics: Metrics,
    /// The part of the throughput allocation in a mix with max-fair (`a`); of uni-fair and guaranteed fairness.
    pub mix: Option<f64>,
    /// The first intervals; of guaranteed fairness.
    pub sequence: Vec<Interval>,
}

impl Solution {
    /// Shares by `policy`. Includes the first `intervals` intervals if the policy decides interval by interval.
    ///
    /// # Errors
    /// As [`Allocator::allocate`].
    pub fn of(
        cores: Cores,
        speedups: &[f64],
        policy: &Policy,
        ddof: Ddof,
        intervals: usize,
    ) -> Result<Self, FairnessError> {
        Self::with_demands(cores, speedups, None, policy, ddof, intervals)
    }

    /// The same for applications with weights and threads.
    ///
    /// # Errors
    /// As [`Allocator::allocate_by_weight`].
    pub fn by_weight(
        cores: Cores,
        speedups: &[f64],
        demands: &[Demand],
        policy: &Policy,
        ddof: Ddof,
        intervals: usize,
    ) -> Result<Self, FairnessError> {
        Self::with_demands(cores, speedups, Some(demands), policy, ddof, intervals)
    }

    /// The same for applications that may have weights and threads.
    ///
    /// # Errors
    /// As [`Allocator::allocate_by_weight`].
    pub fn with_demands(
        cores: Cores,
        speedups: &[f64],
        demands: Option<&[Demand]>,
        policy: &Policy,
        ddof: Ddof,
        intervals: usize,
    ) -> Result<Self, FairnessError> {
        let mut allocator = Allocator::with_capacity(speedups.len());
        let mut shares = vec![0.0; speedups.len()];
        match demands {
            Some(demands) => {
                allocator.allocate_by_weight(cores, speedups, demands, policy, &mut shares)?;
            }
            None => {
                allocator.allocate(cores, speedups, policy, &mut shares)?;
            }
        }
        let sequence = match (policy, demands) {
            (Policy::Guaranteed { threshold, ddof }, Some(demands)) => {
                let guaranteed = Guaranteed::by_weight(cores, speedups, demands, *threshold, *ddof)?;
                guaranteed.take(intervals).collect()
            }
            (Policy::Guaranteed { threshold, ddof }, None) => {
                Guaranteed::new(cores, speedups, *threshold, *ddof)?.take(intervals).collect()
            }
            _ => Vec::new(),
        };
        Ok(Self::from_parts(&allocator, speedups, shares, sequence, ddof))
    }

    fn from_parts(
        allocator: &Allocator,
        speedups: &[f64],
        shares: Vec<f64>,
        sequence: Vec<Interval>,
        ddof: Ddof,
    ) -> Self {
        let mut performance = vec![0.0; speedups.len()];
        performance_of(allocator.entitled(), speedups, &shares, &mut performance);
        let pairs = performance.iter().zip(allocator.entitled()).map(|(one, own)| (*one, own.cpus));
        let metrics = Metrics::from_pairs(pairs, ddof);
        Self {
            shares,
            metrics,
            performance,
            required: allocator.required().to_vec(),
            entitled: allocator.entitled().to_vec(),
            mix: allocator.last_mix(),
            sequence,
        }
    }

    /// The intervals as letters, `P` for max-perf and `f` for max-fair.
    pub fn letters(&self) -> String {
        self.sequence.iter().map(|interval| interval.letter()).collect()
    }
}
