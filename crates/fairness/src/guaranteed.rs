//! Guaranteed fairness, interval by interval.

use crate::Allocator;
use crate::cores::Cores;
use crate::demand::{Demand, performance_of};
use crate::error::FairnessError;
use crate::metrics::{Ddof, mean_and_deviation};
use crate::policy::Policy;

/// What runs in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Max-perf, written `P`.
    MaxPerf,
    /// Max-fair, written `f`.
    MaxFair,
}

impl Interval {
    /// Max-fair when the uniformity so far is below the threshold, else max-perf.
    ///
    /// ```
    /// use swtch_fairness::Interval;
    /// // The published example: uniformities before each interval, threshold 85 %.
    /// let seen = [0.93, 0.86, 0.79, 0.83, 0.87, 0.80, 0.85, 0.82];
    /// let letters: String = seen.iter().map(|uniformity| Interval::after(*uniformity, 0.85).letter()).collect();
    /// assert_eq!(letters, "PPffPfPf");
    /// ```
    pub fn after(uniformity: f64, threshold: f64) -> Self {
        if uniformity < threshold { Self::MaxFair } else { Self::MaxPerf }
    }

    /// `P` or `f`.
    pub fn letter(self) -> char {
        match self {
            Self::MaxPerf => 'P',
            Self::MaxFair => 'f',
        }
    }
}

/// Decides from the intervals so far which one runs next. The first is max-perf, because no application is worse off than another before it.
#[derive(Clone, Debug)]
pub struct Guaranteed {
    threshold: f64,
    ddof: Ddof,
    /// What each application achieves in a max-perf interval; in a max-fair one it is 1.
    max_perf: Vec<f64>,
    /// The CPU time that each is entitled to.
    cpus: Vec<f64>,
    intervals: [u64; 2],
}

impl Guaranteed {
    /// For applications with these speedups.
    ///
    /// # Errors
    /// When they cannot be shared out, or the threshold is not from 0 to 1.
    pub fn new(cores: Cores, speedups: &[f64], threshold: f64, ddof: Ddof) -> Result<Self, FairnessError> {
        let allocate = |allocator: &mut Allocator, shares: &mut [f64]| {
            allocator.allocate(cores, speedups, &Policy::MaxPerf, shares)
        };
        Self::of(speedups, threshold, ddof, allocate)
    }

    /// For applications with weights and threads.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`Cores::entitle`].
    pub fn by_weight(
        cores: Cores,
        speedups: &[f64],
        demands: &[Demand],
        threshold: f64,
        ddof: Ddof,
    ) -> Result<Self, FairnessError> {
        let allocate = |allocator: &mut Allocator, shares: &mut [f64]| {
            allocator.allocate_by_weight(cores, speedups, demands, &Policy::MaxPerf, shares)
        };
        Self::of(speedups, threshold, ddof, allocate)
    }

    fn of(
        speedups: &[f64],
        threshold: f64,
        ddof: Ddof,
        allocate: impl FnOnce(&mut Allocator, &mut [f64]) -> Result<(), FairnessError>,
    ) -> Result<Self, FairnessError> {
        Policy::Guaranteed { threshold, ddof }.check()?;
        let (mut allocator, mut shares) =
            (Allocator::with_capacity(speedups.len()), vec![0.0; speedups.len()]);
        allocate(&mut allocator, &mut shares)?;
        let mut max_perf = vec![0.0; speedups.len()];
        performance_of(allocator.entitled(), speedups, &shares, &mut max_perf);
        let cpus = allocator.entitled().iter().map(|own| own.cpus).collect();
        Ok(Self { threshold, ddof, max_perf, cpus, intervals: [0, 0] })
    }

    /// The uniformity of all intervals so far.
    pub fn uniformity(&self) -> f64 {
        let [perf, fair] = self.intervals.map(|count| count as f64);
        if perf + fair == 0.0 {
            return 1.0;
        }
        let sums = self.max_perf.iter().map(|achieved| perf * achieved + fair);
        let (mean, deviation) = mean_and_deviation(sums.zip(self.cpus.iter().copied()), self.ddof);
        1.0 - deviation / mean
    }
}

impl Iterator for Guaranteed {
    type Item = Interval;

    fn next(&mut self) -> Option<Interval> {
        let interval = Interval::after(self.uniformity(), self.threshold);
        self.intervals[usize::from(interval == Interval::MaxFair)] += 1;
        Some(interval)
    }
}
