//! From blocks to what one interruption costs.

use super::InterruptionCost;
use std::collections::BTreeMap;
use swtch_measure::{Block, Treatment};
use swtch_stats::{MedianInterval, median, median_interval_sorted, sorted};

/// Rounds below which the median has no 95 % interval.
pub(super) const LEAST_ROUNDS: usize = 6;
/// An interval is narrow when half of it is below this share of the median,
const NARROW_SHARE: f64 = 0.2;
/// or below this share of what an interruption costs that displaces nothing: what is so small does not show in a bill.
const NARROW_OF_DIRECT: f64 = 0.05;
/// A block in which the program had less of the CPU's remaining time says little about it.
const LEAST_SHARE: f64 = 0.03;

/// A block with the progress that the program made in it.
#[derive(Clone, Debug)]
pub(super) struct Observation<'a> {
    pub(super) round: u64,
    /// The launch of the program it was in; absent where rounds are alike whichever launch they are of.
    pub(super) launch: Option<u64>,
    pub(super) treatment: Treatment,
    pub(super) block: &'a Block,
    pub(super) progress: f64,
    /// How long the spans right after an interruption took together, ns: the median of the block's. It is absent where they do not tell.
    pub(super) after_ns: Option<f64>,
}

/// One unit of progress within a block.
#[derive(Clone, Copy, Debug)]
struct PerUnit {
    /// CPU time of the program, ns.
    own_ns: f64,
    /// The same, with what the interruptions took of the helper beyond its work.
    all_ns: f64,
    /// Interruptions that met the program.
    interruptions: f64,
    /// The spans right after an interruption, ns.
    after_ns: Option<f64>,
}

impl PerUnit {
    fn of(observation: &Observation<'_>) -> Option<Self> {
        let Observation { block, progress, after_ns, .. } = observation;
        // Where others run on the CPU, or none does, an interruption meets the program only by chance.
        let share = share(block);
        let overhead_ns = block.helper_cpu_ns.saturating_sub(block.helper_work_ns()) as f64;
        (share >= LEAST_SHARE && *progress > 0.0).then(|| Self {
            own_ns: block.cpu_ns as f64 / progress,
            all_ns: (block.cpu_ns as f64 + share * overhead_ns) / progress,
            interruptions: share * block.interruptions.len() as f64 / progress,
            after_ns: *after_ns,
        })
    }
}

/// The program's share of what the interruptions left of its CPU in a block.
pub(super) fn share(block: &Block) -> f64 {
    let left_ns = (block.end_ns - block.begin_ns).saturating_sub(block.helper_cpu_ns) as f64;
    (block.cpu_ns as f64 / left_ns.max(1.0)).min(1.0)
}

/// The blocks by treatment, of each round and launch: a round in which the program was started again is two.
#[derive(Debug)]
pub(super) struct Rounds(BTreeMap<(u64, Option<u64>), BTreeMap<Treatment, PerUnit>>);

impl Rounds {
    pub(super) fn of<'a>(observations: impl IntoIterator<Item = &'a Observation<'a>>) -> Self {
        let mut rounds: BTreeMap<_, BTreeMap<Treatment, PerUnit>> = BTreeMap::new();
        for observation in observations {
            if let Some(unit) = PerUnit::of(observation) {
                let round = (observation.round, observation.launch);
                rounds.entry(round).or_default().insert(observation.treatment, unit);
            }
        }
        Self(rounds)
    }

    /// What an interruption of `treatment` costs beyond a block with `none`.
    pub(super) fn interruption(&self, treatment: Treatment, none: Treatment) -> Option<InterruptionCost> {
        self.cost(treatment, none, |with, without| {
            (with.all_ns - without.all_ns) / (with.interruptions - without.interruptions)
        })
    }

    /// What the program itself takes longer after an interruption of `treatment` than after one at the same rate that displaces nothing: by
    /// the spans right after them where these tell in most rounds, else by whole blocks.
    pub(super) fn refill(&self, treatment: Treatment) -> Option<InterruptionCost> {
        let bare = Treatment { displaced_bytes: 0, ..treatment };
        let by_spans = |with: &PerUnit, without: &PerUnit| {
            let difference = with.after_ns.zip(without.after_ns);
            difference.map_or(f64::NAN, |(with, without)| with - without)
        };
        let both = self.0.values().filter_map(|round| Some((round.get(&treatment)?, round.get(&bare)?)));
        let tell = both.clone().filter(|(with, without)| by_spans(with, without).is_finite()).count();
        if 2 * tell > both.count() {
            return self.cost(treatment, bare, by_spans);
        }
        self.cost(treatment, bare, |with, without| (with.own_ns - without.own_ns) / with.interruptions)
    }

    fn cost(
        &self,
        with: Treatment,
        without: Treatment,
        cost: impl Fn(&PerUnit, &PerUnit) -> f64,
    ) -> Option<InterruptionCost> {
        let mut of_launches: BTreeMap<Option<u64>, Vec<f64>> = BTreeMap::new();
        for ((_, launch), round) in &self.0 {
            if let Some((with, without)) = round.get(&with).zip(round.get(&without)) {
                let ns = cost(with, without);
                if ns.is_finite() {
                    of_launches.entry(*launch).or_default().push(ns);
                }
            }
        }
        // Rounds of one launch are more alike than launches. So a launch counts once, where there are enough of them.
        let values: Vec<f64> = if of_launches.len() < LEAST_ROUNDS {
            of_launches.into_values().flatten().collect()
        } else {
            of_launches.values().map(|values| median(values)).collect()
        };
        let values = sorted(&values);
        let MedianInterval { low, high, .. } = median_interval_sorted(&values, 0.95)?;
        Some(InterruptionCost {
            displaced_bytes: with.displaced_bytes,
            rate_per_s: 1e9 / with.period_ns as f64,
            median: median(&values),
            ci_low: low,
            ci_high: high,
        })
    }
}

/// How many times the rounds so far it takes until every interval is narrow; 1 or less when they are. An interval narrows as the square root.
pub(super) fn further(costs: &[InterruptionCost], direct_ns: f64) -> f64 {
    let times = |cost: &InterruptionCost| {
        let narrow_ns = (NARROW_SHARE * cost.median.abs()).max(NARROW_OF_DIRECT * direct_ns.abs());
        ((cost.ci_high - cost.ci_low) / 2.0 / narrow_ns).powi(2)
    };
    costs.iter().map(times).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_measure::Interruption;
    use swtch_stats::Rng;

    /// Round, treatment, block, progress.
    type Observed = (u64, Treatment, Block, f64);

    /// Launches of `a_launch` rounds each, or all of one kind where it is 0.
    fn rounds_of(
        observed: &[Observed],
        a_launch: u64,
        after_ns: impl Fn(&Observed) -> Option<f64>,
    ) -> Rounds {
        let observations = observed.iter().map(|one| Observation {
            round: one.0,
            launch: one.0.checked_div(a_launch),
            treatment: one.1,
            block: &one.2,
            progress: one.3,
            after_ns: after_ns(one),
        });
        Rounds::of(&observations.collect::<Vec<_>>())
    }

    fn by_blocks(observed: &[Observed]) -> Rounds {
        rounds_of(observed, 0, |_| None)
    }

    const NONE: Treatment = Treatment { displaced_bytes: 0, period_ns: 20_000_000 };
    const BARE: Treatment = Treatment { displaced_bytes: 0, period_ns: 250_000 };
    const FULL: Treatment = Treatment { displaced_bytes: 1 << 20, period_ns: 250_000 };

    /// A program that loses `refill_ns` after an interruption with displaced caches. The machine's speed wanders by 20 %, and by 2 % from
    /// one block to the next. For some of the time another program takes half of its CPU.
    fn observed(rng: &mut Rng, rounds: u64, refill_ns: f64) -> Vec<Observed> {
        let mut blocks = Vec::new();
        let mut drift = 0.0;
        let mut normal = |scale: f64| scale * (0..12).map(|_| rng.unit_f64()).sum::<f64>() - 6.0 * scale;
        for round in 0..rounds {
            for treatment in [FULL, NONE, BARE] {
                drift = 0.98 * drift + normal(0.03);
                let speed = (drift + normal(0.02)).exp();
                let interruptions = 20_000_000 / treatment.period_ns;
                let share = if round % 3 == 0 { 0.5 } else { 1.0 };
                let (entry_ns, switch_ns, touch_ns) = (4_000.0, 6_000.0, 10_000.0);
                let touched = if treatment == FULL { touch_ns } else { 0.0 };
                let helper_work_ns = interruptions as f64 * touched;
                let helper_cpu_ns = helper_work_ns + interruptions as f64 * switch_ns;
                let cpu_ns = share * (20_000_000.0 - helper_cpu_ns);
                let lost_ns = entry_ns + if treatment == FULL { refill_ns } else { 0.0 };
                let useful_ns = cpu_ns - share * interruptions as f64 * lost_ns;
                let at = |number| {
                    let from_ns = number * treatment.period_ns;
                    Interruption { from_ns, until_ns: from_ns + touched as u64 }
                };
                let block = Block {
                    begin_ns: 0,
                    end_ns: 20_000_000,
                    interruptions: (0..interruptions).map(at).collect(),
                    cpu_ns: cpu_ns as u64,
                    helper_cpu_ns: helper_cpu_ns as u64,
                    ..Block::default()
                };
                let progress = useful_ns / 1_000.0 * speed;
                blocks.push((round, treatment, block, progress));
            }
        }
        blocks
    }

    #[test]
    fn the_known_cost_is_found_whatever_the_machine_does_meanwhile() {
        let rounds = by_blocks(&observed(&mut Rng::new(1), 2_000, 5_000.0));
        let refill = rounds.refill(FULL).unwrap();
        assert!((refill.median / 5_000.0 - 1.0).abs() < 0.1, "{refill:?}");
        // What enters, what switches, and what is lost.
        for (treatment, ns) in [(BARE, 10_000.0), (FULL, 15_000.0)] {
            let cost = rounds.interruption(treatment, NONE).unwrap();
            assert!((cost.median / ns - 1.0).abs() < 0.1, "{cost:?}");
            assert!(cost.ci_low < cost.median && cost.median < cost.ci_high);
        }
    }

    /// A against A: a size that costs nothing has 0 in its interval as often as the interval says.
    #[test]
    fn nothing_is_found_where_there_is_nothing() {
        let mut rng = Rng::new(7);
        let holds = (0..400).filter(|_| {
            let cost = by_blocks(&observed(&mut rng, 60, 0.0)).refill(FULL).unwrap();
            cost.ci_low <= 0.0 && 0.0 <= cost.ci_high
        });
        let holds = holds.count();
        assert!((370..=398).contains(&holds), "{holds} of 400");
    }

    #[test]
    fn a_block_without_the_program_or_its_progress_is_left_out() {
        let mut observed = observed(&mut Rng::new(3), 30, 5_000.0);
        let sound = by_blocks(&observed).refill(FULL);
        let (mut away, mut idle) = (observed[0].clone(), observed[0].clone());
        away.2.cpu_ns = 10_000;
        idle.3 = 0.0;
        observed.extend([away, idle].map(|lost| (1_000, lost.1, lost.2, lost.3)));
        assert_eq!(by_blocks(&observed).refill(FULL), sound);
    }

    #[test]
    fn too_few_rounds_have_no_interval() {
        let observed = observed(&mut Rng::new(3), LEAST_ROUNDS as u64, 5_000.0);
        assert!(by_blocks(&observed).refill(FULL).is_some());
        let one_less: Vec<Observed> = observed.into_iter().filter(|one| one.0 > 0).collect();
        assert_eq!(by_blocks(&one_less).refill(FULL), None);
    }

    /// What blocks lose besides refilling is not in it.
    #[test]
    fn spans_right_after_an_interruption_tell_where_they_are_there_in_most_rounds() {
        let observed = observed(&mut Rng::new(5), 60, 5_000.0);
        let after = |one: &Observed| Some(if one.1 == FULL { 1_300.0 } else { 900.0 } + one.0 as f64);
        let cost = rounds_of(&observed, 0, after).refill(FULL).unwrap();
        assert_eq!((cost.median, cost.ci_low, cost.ci_high), (400.0, 400.0, 400.0));
        let seldom = rounds_of(&observed, 0, |one| after(one).filter(|_| one.0 < 20)).refill(FULL);
        assert_eq!(seldom, by_blocks(&observed).refill(FULL));
    }

    /// What every launch draws anew, where its memory lies in the caches, is in the interval although the rounds of a launch agree.
    #[test]
    fn a_launch_counts_once_however_many_rounds_it_has() {
        let mut rng = Rng::new(9);
        let blocks = observed(&mut rng, 64, 5_000.0);
        let [mut by_launches, mut by_rounds] = [0, 0];
        for _ in 0..400 {
            let drawn: Vec<f64> = (0..8).map(|_| 200.0 * (rng.unit_f64() - 0.5)).collect();
            let after = |one: &Observed| {
                let refill = 400.0 + drawn[one.0 as usize / 8] + (one.0 % 8) as f64;
                Some(if one.1 == FULL { 900.0 + refill } else { 900.0 })
            };
            let holds = |a_launch| {
                let cost = rounds_of(&blocks, a_launch, after).refill(FULL).unwrap();
                cost.ci_low <= 403.5 && 403.5 <= cost.ci_high
            };
            by_launches += u32::from(holds(8));
            by_rounds += u32::from(holds(0));
        }
        assert!(by_launches >= 380 && by_rounds < 320, "{by_launches} and {by_rounds} of 400");
    }

    #[test]
    fn it_says_how_much_longer_it_takes() {
        let cost = |median, half| InterruptionCost {
            displaced_bytes: 0,
            rate_per_s: 1.0,
            median,
            ci_low: median - half,
            ci_high: median + half,
        };
        assert!((further(&[cost(1000.0, 400.0)], 0.0) - 4.0).abs() < 1e-9);
        assert!((further(&[cost(0.0, 500.0)], 10_000.0) - 1.0).abs() < 1e-9);
        assert!(further(&[cost(1000.0, 100.0)], 0.0) < 1.0);
    }
}
