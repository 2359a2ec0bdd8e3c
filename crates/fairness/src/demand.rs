//! What applications ask for, and what they are entitled to by their weights.

use crate::cores::{Cores, gain};
use crate::error::FairnessError;

/// An application that wants cores: how much it counts, and how many threads it has.
///
/// The weight is the whole application's, and its threads share what it is entitled to. A process of `n` threads has `n` times the weight of
/// one thread, as under the kernel's fair class. A cgroup has its `cpu.weight`, however many threads are in it.
///
/// Kim and Huh (IEEE TC 67(8), 2018) leave weights and several threads as future work. The definition is this project's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Its weight, in any unit.
    pub weight: f64,
    /// Its threads that always could run, at least 1.
    pub threads: u32,
}

impl Demand {
    /// Those of some applications, by their weights and threads; nothing where neither is given. Without threads each has one, and without
    /// weights each weighs as much as it has threads.
    ///
    /// # Errors
    /// When a list has another length than there are applications.
    pub fn of_each(
        applications: usize,
        weights: Option<&[f64]>,
        threads: Option<&[u32]>,
    ) -> Result<Option<Vec<Self>>, FairnessError> {
        for (what, found) in [("weights", weights.map(<[f64]>::len)), ("threads", threads.map(<[u32]>::len))]
        {
            if let Some(found) = found.filter(|found| *found != applications) {
                return Err(FairnessError::Length { what, found, expected: applications });
            }
        }
        if weights.is_none() && threads.is_none() {
            return Ok(None);
        }
        let demand = |place: usize| {
            let threads = threads.map_or(1, |threads| threads[place]);
            Self { weight: weights.map_or(f64::from(threads.max(1)), |weights| weights[place]), threads }
        };
        Ok(Some((0..applications).map(demand).collect()))
    }
}

impl Default for Demand {
    /// One thread that counts as much as any other.
    fn default() -> Self {
        Self { weight: 1.0, threads: 1 }
    }
}

/// What an application is entitled to under max-fair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entitled {
    /// CPU time of all its threads, in cores. Every policy leaves it as it is: policies share out kinds of cores, weights share out time.
    pub cpus: f64,
    /// The part of that time on fast cores (`phi0`).
    pub share: f64,
}

impl Cores {
    /// What each application is entitled to.
    ///
    /// - CPU time goes by weight, `min(threads, l w)` cores, until all cores or all threads are used. A thread uses one core at most.
    /// - Time on fast cores goes by weight too, `min(its CPU time, m w)`, until all fast cores are used. So an application whose weight is
    ///   worth more than its threads can use has more of the fast cores instead.
    ///
    /// With one weight and one thread each this is [`equal_share`](Cores::equal_share).
    ///
    /// ```
    /// use swtch_fairness::{Cores, Demand};
    ///
    /// let heavy = Demand { weight: 4.0, threads: 1 };
    /// let mut entitled = Vec::new();
    /// Cores::new(2, 4)?.entitle(&[heavy, Demand::default(), Demand::default()], &mut entitled)?;
    /// assert_eq!(entitled.iter().map(|one| one.share).collect::<Vec<_>>(), [1.0, 0.5, 0.5]);
    /// # Ok::<(), swtch_fairness::FairnessError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no application, a weight is not a number above 0, or an application has no thread.
    pub fn entitle(self, demands: &[Demand], entitled: &mut Vec<Entitled>) -> Result<(), FairnessError> {
        check(demands)?;
        entitled.clear();
        let whole = |demand: &Demand| Entitled { cpus: f64::from(demand.threads), share: 1.0 };
        entitled.extend(demands.iter().map(whole));
        divide(self.all(), demands, entitled, |one| &mut one.cpus);
        for one in entitled.iter_mut() {
            one.share = one.cpus;
        }
        divide(f64::from(self.fast()), demands, entitled, |one| &mut one.share);
        for one in entitled.iter_mut() {
            one.share /= one.cpus;
        }
        Ok(())
    }
}

/// What each application achieves with its share, relative to what it is entitled to. As [`performance`](crate::performance), with a `phi0` of its own for each.
///
/// # Panics
/// When the four slices differ in length.
pub fn performance_of(entitled: &[Entitled], speedups: &[f64], shares: &[f64], achieved: &mut [f64]) {
    assert!(
        entitled.len() == speedups.len() && speedups.len() == shares.len() && shares.len() == achieved.len(),
        "one of each for an application"
    );
    for (((achieved, speedup), share), own) in achieved.iter_mut().zip(speedups).zip(shares).zip(entitled) {
        let gain = gain(*speedup);
        *achieved = (1.0 + gain * share) / (1.0 + gain * own.share);
    }
}

/// # Errors
/// As [`Cores::entitle`].
pub(crate) fn check(demands: &[Demand]) -> Result<(), FairnessError> {
    if demands.is_empty() {
        return Err(FairnessError::NoApplications);
    }
    for (index, Demand { weight, threads }) in demands.iter().enumerate() {
        if !(weight.is_finite() && *weight > 0.0) {
            return Err(FairnessError::Weight { index, value: *weight });
        }
        if *threads == 0 {
            return Err(FairnessError::NoThreads { index });
        }
    }
    Ok(())
}

/// Divides `whole` by weight. An entry is its limit before, and its part after: `min(limit, level * weight)`.
///
/// An entry whose limit is below its part by weight keeps the limit, and the others divide what is left. That raises the level, so that an
/// entry once at its limit stays there.
pub(crate) fn divide<T>(
    whole: f64,
    demands: &[Demand],
    entries: &mut [T],
    part: impl Fn(&mut T) -> &mut f64,
) {
    let mut at_limit = f64::NEG_INFINITY;
    loop {
        let (mut left, mut weights) = (whole, 0.0);
        for (entry, demand) in entries.iter_mut().zip(demands) {
            let limit = *part(entry);
            if limit <= at_limit * demand.weight {
                left -= limit;
            } else {
                weights += demand.weight;
            }
        }
        // Nothing is left to divide, or all are at their limits.
        if weights == 0.0 {
            return;
        }
        let level = (left / weights).max(0.0);
        let more = entries.iter_mut().zip(demands).any(|(entry, demand)| {
            let limit = *part(entry);
            limit > at_limit * demand.weight && limit <= level * demand.weight
        });
        if !more {
            for (entry, demand) in entries.iter_mut().zip(demands) {
                let limit = part(entry);
                *limit = limit.min(level * demand.weight);
            }
            return;
        }
        at_limit = at_limit.max(level);
    }
}
