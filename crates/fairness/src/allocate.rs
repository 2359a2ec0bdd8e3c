//! From speedups to shares.

mod equal;

use crate::cores::{Cores, gain};
use crate::demand::{Demand, Entitled, performance_of};
use crate::error::FairnessError;
use crate::metrics::{Ddof, mean_and_deviation};
use crate::policy::{Policy, Variant};

/// Shares are compared with the equal share, which rounding must not turn into a difference.
const ROUNDING: f64 = 1e-12;
/// Halvings after which a level is known as well as a number can say it.
const HALVINGS: usize = 64;

/// Computes shares. Allocates only when there are more applications than ever before.
#[derive(Clone, Debug, Default)]
pub struct Allocator {
    /// Applications in falling order of what they gain, those of the same in their own order.
    order: Vec<Ranked>,
    /// What each is entitled to. CPU time is relative where all are entitled to the same.
    entitled: Vec<Entitled>,
    /// The share that the guarantee takes, by application.
    required: Vec<f64>,
    achieved: Vec<f64>,
    mix: Option<f64>,
}

/// A number that sorts first when it is high, and whose it is.
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
            entitled: Vec::with_capacity(applications),
            required: Vec::with_capacity(applications),
            achieved: Vec::with_capacity(applications),
            mix: None,
        }
    }

    /// The share that the policy's guarantee took for each application; all 0 where it has none. Of the last allocation.
    pub fn required(&self) -> &[f64] {
        &self.required
    }

    /// What each application is entitled to. Of the last allocation; without demands CPU time is 1 for each.
    pub fn entitled(&self) -> &[Entitled] {
        &self.entitled
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
        self.entitled.clear();
        let alike = Entitled { cpus: 1.0, share: cores.equal_share(speedups.len()) };
        self.entitled.resize(speedups.len(), alike);
        self.share_out(cores.budget(speedups.len()), speedups, policy, shares)
    }

    /// The same for applications with weights and threads. Each policy goes by what each is entitled to ([`Cores::entitle`]) where it goes by
    /// the equal share otherwise:
    ///
    /// - performance is relative to that, and a guarantee is a part of it;
    /// - throughput is the mean performance by entitled CPU time, so that fast time goes first to those with the highest `e / (1 + e phi0)`;
    /// - similar speedups share in proportion to what they are entitled to.
    ///
    /// A share is that of every thread of an application. The sum of shares times CPU times is the fast cores that can be used.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate) and [`Cores::entitle`].
    pub fn allocate_by_weight(
        &mut self,
        cores: Cores,
        speedups: &[f64],
        demands: &[Demand],
        policy: &Policy,
        shares: &mut [f64],
    ) -> Result<(), FairnessError> {
        if demands.len() != speedups.len() {
            let (found, expected) = (demands.len(), speedups.len());
            return Err(FairnessError::Length { what: "weights and threads", found, expected });
        }
        cores.entitle(demands, &mut self.entitled)?;
        let budget = self.entitled.iter().map(|one| one.cpus * one.share).sum();
        self.share_out(budget, speedups, policy, shares)
    }

    /// The same while some speedups are not known yet, as those of applications that have just come. These have what they are entitled to. The others
    /// share what these leave, by the policy. Allocates memory.
    ///
    /// # Errors
    /// As [`allocate_by_weight`](Self::allocate_by_weight).
    pub fn allocate_known(
        &mut self,
        cores: Cores,
        speedups: &[Option<f64>],
        demands: &[Demand],
        policy: &Policy,
        shares: &mut [f64],
    ) -> Result<(), FairnessError> {
        let known: Vec<f64> = speedups.iter().flatten().copied().collect();
        if known.len() == speedups.len() {
            return self.allocate_by_weight(cores, &known, demands, policy, shares);
        }
        let alike = vec![1.0; speedups.len()];
        self.allocate_by_weight(cores, &alike, demands, &Policy::MaxFair, shares)?;
        if known.is_empty() {
            return Ok(());
        }
        let all = self.entitled.clone();
        self.entitled.clear();
        let own = all.iter().zip(speedups).filter(|(_, speedup)| speedup.is_some()).map(|(own, _)| *own);
        self.entitled.extend(own);
        let budget = self.entitled.iter().map(|one| one.cpus * one.share).sum();
        let mut of_known = vec![0.0; known.len()];
        self.share_out(budget, &known, policy, &mut of_known)?;
        let places = shares.iter_mut().zip(speedups).filter(|(_, speedup)| speedup.is_some());
        places.zip(of_known).for_each(|((share, _), found)| *share = found);
        self.entitled = all;
        Ok(())
    }

    fn share_out(
        &mut self,
        budget: f64,
        speedups: &[f64],
        policy: &Policy,
        shares: &mut [f64],
    ) -> Result<(), FairnessError> {
        check(speedups, shares)?;
        policy.check()?;
        self.mix = None;
        self.required.clear();
        self.required.resize(speedups.len(), 0.0);
        match *policy {
            Policy::MaxFair | Policy::ScaledLoad => self.equal(shares),
            Policy::MaxPerf => self.greedy(speedups, budget, shares),
            Policy::MinFair { min_fairness } => self.min_fair(speedups, budget, min_fairness, shares),
            Policy::SimilarMinFair { min_fairness, similarity, published } => {
                self.min_fair(speedups, budget, min_fairness, shares);
                self.similar(speedups, similarity, published, shares);
            }
            Policy::UniFair { uniformity, min_fairness, ddof } => {
                self.min_fair(speedups, budget, min_fairness, shares);
                self.mix(speedups, uniformity, ddof, shares);
            }
            Policy::RFair { r, variant: Variant::Greedy } => {
                for (required, own) in self.required.iter_mut().zip(&self.entitled) {
                    *required = r * own.share;
                }
                self.greedy(speedups, budget, shares);
                self.required.fill(0.0);
            }
            Policy::RFair { r, variant: Variant::Mix } => {
                self.greedy(speedups, budget, shares);
                mix(1.0 - r, &self.entitled, shares);
            }
            Policy::Guaranteed { threshold, ddof } => {
                self.greedy(speedups, budget, shares);
                self.mix(speedups, threshold, ddof, shares);
            }
            Policy::EqualSpeedup => {
                self.sort(|index| speedups[index]);
                equal::speedup(&self.order, speedups, &self.entitled, budget, &mut self.achieved, shares);
            }
            Policy::EqualSlowdown => {
                self.sort(|index| speedups[index]);
                equal::slowdown(&self.order, speedups, &self.entitled, budget, &mut self.achieved, shares);
            }
        }
        Ok(())
    }

    /// The part of the throughput allocation in its mix with max-fair, where the policy makes one. Of the last allocation.
    pub fn last_mix(&self) -> Option<f64> {
        self.mix
    }

    fn sort(&mut self, number: impl Fn(usize) -> f64) {
        self.order.clear();
        let ranked = (0..self.entitled.len()).map(|index| Ranked {
            // Bits of positive numbers sort as the numbers do; speedups below 1 count as 1.
            falling: !number(index).max(1.0).to_bits(),
            index: index as u32,
        });
        self.order.extend(ranked);
        self.order.sort_unstable();
    }

    fn equal(&self, shares: &mut [f64]) {
        for (share, own) in shares.iter_mut().zip(&self.entitled) {
            *share = own.share;
        }
    }

    /// What is required to each, and the rest to those that gain most for their fast time, each up to all it can use.
    fn greedy(&mut self, speedups: &[f64], budget: f64, shares: &mut [f64]) {
        let first = self.entitled[0].share;
        if self.entitled.iter().all(|own| own.share == first) {
            // Then that is the order of speedups.
            self.sort(|index| speedups[index]);
        } else {
            let mut worth = std::mem::take(&mut self.achieved);
            worth.clear();
            let of =
                |(speedup, own): (&f64, &Entitled)| 1.0 + gain(*speedup) / (1.0 + gain(*speedup) * own.share);
            worth.extend(speedups.iter().zip(&self.entitled).map(of));
            self.sort(|index| worth[index]);
            self.achieved = worth;
        }
        shares.copy_from_slice(&self.required);
        let required = self.required.iter().zip(&self.entitled);
        let mut left = budget - required.map(|(required, own)| required * own.cpus).sum::<f64>();
        for ranked in &self.order {
            if left <= 0.0 {
                break;
            }
            let (share, cpus) =
                (&mut shares[ranked.index as usize], self.entitled[ranked.index as usize].cpus);
            let more = ((1.0 - *share) * cpus).min(left);
            *share += more / cpus;
            left -= more;
        }
    }

    /// `r = max(0, M phi0 - (1 - M) / e)`, from `P >= M`.
    fn min_fair(&mut self, speedups: &[f64], budget: f64, min_fairness: f64, shares: &mut [f64]) {
        for ((required, speedup), own) in self.required.iter_mut().zip(speedups).zip(&self.entitled) {
            let gain = gain(*speedup);
            *required = if gain > 0.0 {
                (min_fairness * own.share - (1.0 - min_fairness) / gain).max(0.0)
            } else {
                0.0
            };
        }
        self.greedy(speedups, budget, shares);
    }

    /// Groups of similar speedups, each begun by one that has more than the equal share, have what they have alike.
    fn similar(&mut self, speedups: &[f64], similarity: f64, published: bool, shares: &mut [f64]) {
        self.sort(|index| speedups[index]);
        let mut rest = &self.order[..];
        while let Some((first, others)) = rest.split_first() {
            let first = first.index as usize;
            if shares[first] <= self.entitled[first].share + ROUNDING {
                rest = others;
                continue;
            }
            let top = speedups[first].max(1.0);
            let joined = others
                .iter()
                .take_while(|ranked| top - speedups[ranked.index as usize].max(1.0) < similarity);
            let (group, after) = rest.split_at(1 + joined.count());
            self.level(group, published, shares);
            rest = after;
        }
    }

    /// Gives the group what it has so that each has the same multiple of its entitled share, from what is required to all of its time. As
    /// published nothing is required.
    fn level(&self, group: &[Ranked], published: bool, shares: &mut [f64]) {
        let entitled = |ranked: &Ranked| self.entitled[ranked.index as usize];
        let least = |ranked: &Ranked| if published { 0.0 } else { self.required[ranked.index as usize] };
        let first = entitled(&group[0]).share;
        // Relative to the first's, so that it is exactly 1 where all are entitled to the same.
        let part = |ranked: &Ranked| entitled(ranked).share / first;
        let sum: f64 = group.iter().map(|ranked| shares[ranked.index as usize] * entitled(ranked).cpus).sum();
        let (mut low, mut high) = (0.0, group.iter().map(|ranked| 1.0 / part(ranked)).fold(1.0, f64::max));
        for _ in 0..HALVINGS {
            let level = f64::midpoint(low, high);
            let at =
                |ranked: &Ranked| (level * part(ranked)).clamp(least(ranked), 1.0) * entitled(ranked).cpus;
            if group.iter().map(at).sum::<f64>() < sum { low = level } else { high = level }
        }
        // Those between their bounds share what the others leave: exactly, now that it is known which these are.
        let bound = |ranked: &Ranked| {
            let share = high * part(ranked);
            if share < least(ranked) { Some(least(ranked)) } else { (share > 1.0).then_some(1.0) }
        };
        let (mut left, mut between) = (sum, 0.0);
        for ranked in group {
            match bound(ranked) {
                Some(share) => left -= share * entitled(ranked).cpus,
                None => between += part(ranked) * entitled(ranked).cpus,
            }
        }
        for ranked in group {
            let share = bound(ranked).unwrap_or_else(|| left / between * part(ranked));
            shares[ranked.index as usize] = share.clamp(least(ranked), 1.0);
        }
    }

    /// Mixes with max-fair until the uniformity is reached: `a = (1 - U) / (sd - (1 - U) (T - 1))`, at most 1.
    fn mix(&mut self, speedups: &[f64], uniformity: f64, ddof: Ddof, shares: &mut [f64]) {
        self.achieved.clear();
        self.achieved.resize(speedups.len(), 0.0);
        performance_of(&self.entitled, speedups, shares, &mut self.achieved);
        let cpus = self.entitled.iter().map(|own| own.cpus);
        let (throughput, deviation) = mean_and_deviation(self.achieved.iter().copied().zip(cpus), ddof);
        let part = mixed_part(throughput, deviation, uniformity);
        mix(part, &self.entitled, shares);
        self.mix = Some(part);
    }
}

/// The part of an allocation with this throughput and deviation at which its mix with max-fair is as uniform as asked.
pub(crate) fn mixed_part(throughput: f64, deviation: f64, uniformity: f64) -> f64 {
    let slack = 1.0 - uniformity;
    let excess = deviation - slack * (throughput - 1.0);
    // Uniform enough already, or even when alone.
    if excess <= slack { 1.0 } else { slack / excess }
}

fn mix(part: f64, entitled: &[Entitled], shares: &mut [f64]) {
    for (share, own) in shares.iter_mut().zip(entitled) {
        *share = part * *share + (1.0 - part) * own.share;
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
            let Allocator { order, entitled, required, achieved, .. } = allocator;
            [order.capacity(), entitled.capacity(), required.capacity(), achieved.capacity()]
        };
        let before = room(&allocator);
        let mut shares = [0.0; 6];
        for name in POLICIES.map(|row| row.name) {
            let policy = Policy::from_name(name).unwrap();
            for count in [6, 3, 1, 5] {
                let speedups = [3.0, 2.5, 2.0, 1.5, 1.0, 1.2];
                let cores = Cores::new(2, 4).unwrap();
                allocator.allocate(cores, &speedups[..count], &policy, &mut shares[..count]).unwrap();
                let demands =
                    [1, 3, 1, 2, 1, 1].map(|threads| Demand { weight: f64::from(threads) * 0.7, threads });
                allocator
                    .allocate_by_weight(
                        cores,
                        &speedups[..count],
                        &demands[..count],
                        &policy,
                        &mut shares[..count],
                    )
                    .unwrap();
            }
            assert_eq!(room(&allocator), before, "{name}");
        }
    }
}
