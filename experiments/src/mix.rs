//! Speedups to figures in percent: the one way in which all experiments with fair policies compute.

use swtch_fairness::{Allocator, Cores, Ddof, FairnessError, Metrics, Policy, Solution, performance};

/// The machine of the published mixes: two fast cores and four slow ones.
pub(crate) const FAST_CORES: u32 = 2;
/// See [`FAST_CORES`].
pub(crate) const SLOW_CORES: u32 = 4;

/// What a mix achieves under a policy, in percent of max-fair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Percent {
    /// Mean performance.
    pub(crate) throughput: f64,
    /// The least performance.
    pub(crate) min_fairness: f64,
    /// 1 less the coefficient of variation (of a sample, n - 1, as published).
    pub(crate) uniformity: f64,
}

impl Percent {
    /// Of one mix on one machine.
    ///
    /// # Errors
    /// When speedups or parameters are not what the policies take.
    pub(crate) fn of(fast: u32, slow: u32, speedups: &[f64], policy: &Policy) -> Result<Self, FairnessError> {
        let metrics = Solution::of(Cores::new(fast, slow)?, speedups, policy, Ddof::One, 0)?.metrics;
        Ok(Self::from(metrics))
    }

    /// Name and value of each.
    pub(crate) fn named(self) -> [(&'static str, f64); 3] {
        [
            ("throughput", self.throughput),
            ("minimum fairness", self.min_fairness),
            ("uniformity", self.uniformity),
        ]
    }
}

impl From<Metrics> for Percent {
    fn from(metrics: Metrics) -> Self {
        Self {
            throughput: 100.0 * metrics.throughput,
            min_fairness: 100.0 * metrics.min_fairness,
            uniformity: 100.0 * metrics.uniformity,
        }
    }
}

/// Applications in a published mix.
pub(crate) const SIZE: usize = 6;

/// Mixes of that size on that machine, one after another; allocates nothing for each.
#[derive(Debug)]
pub(crate) struct Evaluator {
    cores: Cores,
    allocator: Allocator,
}

impl Evaluator {
    /// # Errors
    /// None that are expected.
    pub(crate) fn new() -> Result<Self, FairnessError> {
        Ok(Self { cores: Cores::new(FAST_CORES, SLOW_CORES)?, allocator: Allocator::with_capacity(SIZE) })
    }

    /// What a mix achieves.
    ///
    /// # Errors
    /// When speedups or parameters are not what the policies take.
    pub(crate) fn metrics(
        &mut self,
        speedups: &[f64; SIZE],
        policy: &Policy,
    ) -> Result<Metrics, FairnessError> {
        let (mut shares, mut achieved) = ([0.0; SIZE], [0.0; SIZE]);
        self.allocator.allocate(self.cores, speedups, policy, &mut shares)?;
        performance(self.cores, speedups, &shares, &mut achieved);
        Ok(Metrics::of(&achieved, Ddof::One))
    }
}

/// The policies of the published mixes, by the names that are shown.
pub(crate) fn published_policies() -> [(&'static str, Policy); 3] {
    [
        ("max-perf", Policy::MaxPerf),
        ("min-fair(85 %)", Policy::MinFair { min_fairness: 0.85 }),
        (
            "similar-min-fair(0.2, 85 %)",
            // As it was published: the guarantee may break where similar applications share.
            Policy::SimilarMinFair { min_fairness: 0.85, similarity: 0.2, published: true },
        ),
    ]
}
