//! From speedups to shares.

mod equal;

use crate::cores::{Cores, gain, performance};
use crate::error::FairnessError;
use crate::metrics::{Ddof, mean_and_deviation};
use crate::policy::{Policy, Variant};

/// Shares are compared with the equal share, which rounding must not turn into a difference.
const ROUNDING: f64 = 1e-12;

/// Computes shares. Allocates only when there are more applications than ever before.
#[derive(Clone, Debug, Default)]
pub struct Allocator {
    /// Applications in falling order of speedup, those of the same in their own order.
    order: Vec<Ranked>,
    /// The share that the guarantee takes, by application.
    required: Vec<f64>,
    achieved: Vec<f64>,
    mix: Option<f64>,
}

/// A speedup that sorts first when it is high, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    falling: u64,
    index: u32,
}

impl Allocator {
    /// One that has allocated nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// An allocator that allocates no further memory for up to this number of applications.
    pub fn with_capacity(applications: usize) -> Self {
        Self {
            order: Vec::with_capacity(applications),
            required: Vec::with_capacity(applications),
            achieved: Vec::with_capacity(applications),
            mix: None,
        }
    }

    /// The share that the policy's guarantee took for each application; all 0 where it has none. Of the last allocation.
    pub fn required(&self) -> &[f64] {
        &self.required
    }

    /// Computes the share of each application; their sum is [`Cores::budget`].
    ///
    /// # Errors
    /// When there are no applications, a speedup is not a number above 0, a parameter is out of its range, or `shares` has another length.
    pub fn allocate(
        &mut self,
        cores: Cores,
        speedups: &[f64],
        policy: &Policy,
        shares: &mut [f64],
    ) -> Result<(), FairnessError> {
        check(speedups, shares)?;
        policy.check()?;
        self.mix = None;
        self.required.clear();
        self.required.resize(speedups.len(), 0.0);
        let (equal, budget) = (cores.equal_share(speedups.len()), cores.budget(speedups.len()));
        match *policy {
            Policy::MaxFair | Policy::ScaledLoad => shares.fill(equal),
            Policy::MaxPerf => self.greedy(speedups, budget, shares),
            Policy::MinFair { min_fairness } => self.min_fair(cores, speedups, min_fairness, shares),
            Policy::SimilarMinFair { min_fairness, similarity, published } => {
                self.min_fair(cores, speedups, min_fairness, shares);
                self.similar(speedups, equal, similarity, published, shares);
            }
            Policy::UniFair { uniformity, min_fairness, ddof } => {
                self.min_fair(cores, speedups, min_fairness, shares);
                self.mix(cores, speedups, uniformity, ddof, shares);
            }
            Policy::RFair { r, variant: Variant::Greedy } => {
                self.required.fill(r * equal);
                self.greedy(speedups, budget, shares);
                self.required.fill(0.0);
            }
            Policy::RFair { r, variant: Variant::Mix } => {
                self.greedy(speedups, budget, shares);
                mix(1.0 - r, equal, shares);
            }
            Policy::Guaranteed { threshold, ddof } => {
                self.greedy(speedups, budget, shares);
                self.mix(cores, speedups, threshold, ddof, shares);
            }
            Policy::EqualSpeedup => {
                self.sort(speedups);
                equal::speedup(&self.order, speedups, budget, &mut self.achieved, shares);
            }
            Policy::EqualSlowdown => {
                self.sort(speedups);
                equal::slowdown(&self.order, speedups, budget, &mut self.achieved, shares);
            }
        }
        Ok(())
    }

    /// The part of the throughput allocation in its mix with max-fair, where the policy makes one. Of the last allocation.
    pub fn last_mix(&self) -> Option<f64> {
        self.mix
    }

    fn sort(&mut self, speedups: &[f64]) {
        self.order.clear();
        let ranked = speedups.iter().zip(0..).map(|(speedup, index)| Ranked {
            // Bits of positive numbers sort as the numbers do.
            falling: !speedup.max(1.0).to_bits(),
            index,
        });
        self.order.extend(ranked);
        self.order.sort_unstable();
    }

    /// What is required to each, and the rest to the highest speedups, each up to all it can use.
    fn greedy(&mut self, speedups: &[f64], budget: f64, shares: &mut [f64]) {
        self.sort(speedups);
        shares.copy_from_slice(&self.required);
        let mut left = budget - self.required.iter().sum::<f64>();
        for ranked in &self.order {
            if left <= 0.0 {
                break;
            }
            let share = &mut shares[ranked.index as usize];
            let more = (1.0 - *share).min(left);
            *share += more;
            left -= more;
        }
    }

    /// `r = max(0, M phi0 - (1 - M) / e)`, from `P >= M`.
    fn min_fair(&mut self, cores: Cores, speedups: &[f64], min_fairness: f64, shares: &mut [f64]) {
        let equal = cores.equal_share(speedups.len());
        for (required, speedup) in self.required.iter_mut().zip(speedups) {
            let gain = gain(*speedup);
            *required =
                if gain > 0.0 { (min_fairness * equal - (1.0 - min_fairness) / gain).max(0.0) } else { 0.0 };
        }
        self.greedy(speedups, cores.budget(speedups.len()), shares);
    }

    /// Groups of similar speedups, each begun by one that has more than the equal share, have what they have alike.
    fn similar(&self, speedups: &[f64], equal: f64, similarity: f64, published: bool, shares: &mut [f64]) {
        let mut rest = &self.order[..];
        while let Some((first, others)) = rest.split_first() {
            let first = first.index as usize;
            if shares[first] <= equal + ROUNDING {
                rest = others;
                continue;
            }
            let top = speedups[first].max(1.0);
            let joined = others
                .iter()
                .take_while(|ranked| top - speedups[ranked.index as usize].max(1.0) < similarity);
            let (group, after) = rest.split_at(1 + joined.count());
            let sum: f64 = group.iter().map(|ranked| shares[ranked.index as usize]).sum();
            let level = if published { sum / group.len() as f64 } else { self.water_level(group, sum) };
            for ranked in group {
                let index = ranked.index as usize;
                shares[index] = if published { level } else { level.max(self.required[index]) };
            }
            rest = after;
        }
    }

    /// The level at which `max(level, required)` of the group adds up to `sum`.
    fn water_level(&self, group: &[Ranked], sum: f64) -> f64 {
        // In a group in falling order of speedup, what is required falls too: floors that stand out are those of the first.
        let mut left = sum;
        for (position, ranked) in group.iter().enumerate() {
            let level = left / (group.len() - position) as f64;
            let required = self.required[ranked.index as usize];
            if required <= level {
                return level;
            }
            left -= required;
        }
        0.0
    }

    /// Mixes with max-fair until the uniformity is reached: `a = (1 - U) / (sd - (1 - U) (T - 1))`, at most 1.
    fn mix(&mut self, cores: Cores, speedups: &[f64], uniformity: f64, ddof: Ddof, shares: &mut [f64]) {
        self.achieved.clear();
        self.achieved.resize(speedups.len(), 0.0);
        performance(cores, speedups, shares, &mut self.achieved);
        let (throughput, deviation) = mean_and_deviation(self.achieved.iter().copied(), ddof);
        let slack = 1.0 - uniformity;
        let excess = deviation - slack * (throughput - 1.0);
        // Uniform enough already, or even when alone.
        let part = if excess <= slack { 1.0 } else { slack / excess };
        mix(part, cores.equal_share(speedups.len()), shares);
        self.mix = Some(part);
    }
}

fn mix(part: f64, equal: f64, shares: &mut [f64]) {
    for share in shares {
        *share = part * *share + (1.0 - part) * equal;
    }
}

fn check(speedups: &[f64], shares: &[f64]) -> Result<(), FairnessError> {
    if speedups.is_empty() {
        return Err(FairnessError::NoApplications);
    }
    if shares.len() != speedups.len() {
        return Err(FairnessError::Length {
            what: "room for shares",
            found: shares.len(),
            expected: speedups.len(),
        });
    }
    let wrong = speedups.iter().position(|speedup| !(speedup.is_finite() && *speedup > 0.0));
    match wrong {
        Some(index) => Err(FairnessError::Speedup { index, value: speedups[index] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::POLICIES;

    #[test]
    fn after_set_up_nothing_is_allocated() {
        let mut allocator = Allocator::with_capacity(6);
        let room = |allocator: &Allocator| {
            [allocator.order.capacity(), allocator.required.capacity(), allocator.achieved.capacity()]
        };
        let before = room(&allocator);
        let mut shares = [0.0; 6];
        for name in POLICIES.map(|row| row.name) {
            let policy = Policy::from_name(name).unwrap();
            for count in [6, 3, 1, 5] {
                let speedups = [3.0, 2.5, 2.0, 1.5, 1.0, 1.2];
                let cores = Cores::new(2, 4).unwrap();
                allocator.allocate(cores, &speedups[..count], &policy, &mut shares[..count]).unwrap();
            }
            assert_eq!(room(&allocator), before, "{name}");
        }
    }
}
