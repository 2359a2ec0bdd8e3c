//! A machine of fast and slow cores, and what applications achieve on it.

use crate::error::FairnessError;

/// Fast and slow cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    fast: u32,
    slow: u32,
}

impl Cores {
    /// A machine with these numbers of fast and slow cores.
    ///
    /// # Errors
    /// Without any core.
    pub fn new(fast: u32, slow: u32) -> Result<Self, FairnessError> {
        if fast == 0 && slow == 0 { Err(FairnessError::NoCores) } else { Ok(Self { fast, slow }) }
    }

    /// Fast cores.
    pub fn fast(self) -> u32 {
        self.fast
    }

    /// Slow cores.
    pub fn slow(self) -> u32 {
        self.slow
    }

    /// All cores.
    pub fn all(self) -> f64 {
        f64::from(self.fast) + f64::from(self.slow)
    }

    /// Fraction of the time on the clock that each of `applications` runs at all, when all always could.
    pub fn occupancy(self, applications: usize) -> f64 {
        (self.all() / applications as f64).min(1.0)
    }

    /// The share when all share alike (`phi0`): of its own CPU time, what an application spends on fast cores.
    pub fn equal_share(self, applications: usize) -> f64 {
        let (fast, applications) = (f64::from(self.fast), applications as f64);
        if applications <= fast {
            1.0
        } else if applications < self.all() {
            fast / applications
        } else {
            fast / self.all()
        }
    }

    /// The sum of all shares (`Phi`).
    pub fn budget(self, applications: usize) -> f64 {
        applications as f64 * self.equal_share(applications)
    }
}

/// What each application achieves with its share, relative to max-fair: `P = (1 + e phi) / (1 + e phi0)` with `e = s - 1`.
///
/// # Panics
/// When the three slices differ in length.
pub fn performance(cores: Cores, speedups: &[f64], shares: &[f64], achieved: &mut [f64]) {
    assert!(
        speedups.len() == shares.len() && shares.len() == achieved.len(),
        "one of each for an application"
    );
    let equal = cores.equal_share(speedups.len());
    for ((achieved, speedup), share) in achieved.iter_mut().zip(speedups).zip(shares) {
        let gain = gain(*speedup);
        *achieved = (1.0 + gain * share) / (1.0 + gain * equal);
    }
}

/// `e = s - 1`, never below 0: an application is never worse off on a fast core.
pub(crate) fn gain(speedup: f64) -> f64 {
    (speedup - 1.0).max(0.0)
}
