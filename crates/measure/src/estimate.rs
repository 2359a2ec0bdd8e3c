//! From batches to an [`Estimate`]: which batches enter, the median and its interval, the low figure, the warnings.

use crate::batch::Batch;
use crate::condition::Condition;
use crate::noise::{Usual, rejection};
use swtch_profile::check::{UNEXPECTED_SWITCHES_SHARE, is_unexpected};
use swtch_profile::model::{Ended, Estimate};
use swtch_profile::vocabulary::{Flag, Rejection};
use swtch_stats as stats;

/// Confidence of every interval.
pub(crate) const CONFIDENCE: f64 = 0.95;
/// Which quantile of each arm the low figure takes. The noise of a shared machine is one-sided: the low end is the machine, the
/// rest its company.
pub(crate) const LOW_QUANTILE: f64 = 0.05;
/// Fewer kept batches than this have no order-statistic interval at 95 %.
const FEWEST_BATCHES: usize = 6;
/// When more than this share is rejected, the host is noisy and leaving batches out would be choosing.
const MOST_REJECTED_SHARE: f64 = 0.6;
/// A share of the expected switches below which a method did not switch at all.
const NO_SWITCH_SHARE: f64 = 0.05;

/// All batches of one condition, launch by launch.
#[derive(Clone, Debug)]
pub(crate) struct Collected {
    /// What was measured.
    pub condition: Condition,
    /// The batches of each fresh process.
    pub launches: Vec<Vec<Batch>>,
    /// Why no more were taken.
    pub ended: Ended,
}

/// The batches that enter an estimate.
#[derive(Debug)]
pub(crate) struct AcceptedBatches<'a> {
    condition: &'a Condition,
    ended: Ended,
    batches: Vec<(usize, &'a Batch)>,
    all: Vec<&'a Batch>,
    rejected: Vec<Rejection>,
    noisy_host: bool,
    /// Whether the kernel counts switches here.
    counted: bool,
}

impl Collected {
    /// Number of batches.
    pub(crate) fn batches(&self) -> usize {
        self.launches.iter().map(Vec::len).sum()
    }

    /// What is usual for this condition, given the run's usual spin.
    pub(crate) fn usual(&self, spin_ns: f64) -> Usual {
        let condition = &self.condition;
        let counts: Vec<f64> = self.launches.iter().flatten().map(Batch::switches_per_round).collect();
        let counted = stats::median(&counts);
        let expected = condition.expected_switches_per_round();
        // Where the scheduler or the library adds switches of its own, their number varies by nature.
        let steady =
            condition.cpus.len() == 1 && (counted - expected).abs() <= UNEXPECTED_SWITCHES_SHARE * expected;
        Usual { spin_ns, switches_per_round: steady.then_some(counted), pinned: !condition.cpus.is_empty() }
    }

    /// Separates the batches to keep. `spin_ns` is the run's usual spin; `counted` whether the kernel counts switches.
    pub(crate) fn keep(&self, spin_ns: f64, counted: bool) -> AcceptedBatches<'_> {
        let usual = self.usual(spin_ns);
        let mut kept = AcceptedBatches {
            condition: &self.condition,
            ended: self.ended,
            batches: Vec::new(),
            all: self.launches.iter().flatten().collect(),
            rejected: Vec::new(),
            noisy_host: false,
            counted,
        };
        for (launch, batches) in self.launches.iter().enumerate() {
            for batch in batches {
                match rejection(batch, usual) {
                    None => kept.batches.push((launch, batch)),
                    Some(reason) => kept.rejected.push(reason),
                }
            }
        }
        let rejected_share = kept.rejected.len() as f64 / kept.all.len().max(1) as f64;
        if rejected_share > MOST_REJECTED_SHARE || kept.batches.len() < FEWEST_BATCHES {
            kept.noisy_host = rejected_share > MOST_REJECTED_SHARE;
            kept.rejected.clear();
            kept.batches = self
                .launches
                .iter()
                .enumerate()
                .flat_map(|(launch, batches)| batches.iter().map(move |batch| (launch, batch)))
                .collect();
        }
        kept
    }
}

impl AcceptedBatches<'_> {
    /// Reasons of the batches left out, one each.
    pub(crate) fn rejected(&self) -> &[Rejection] {
        &self.rejected
    }

    /// SwitchCounts per round as counted; `None` where the kernel does not count.
    pub(crate) fn switches_per_round(&self) -> Option<f64> {
        self.counted.then(|| self.median_of(Batch::switches_per_round))
    }

    /// Share of the switches that was involuntary; `None` where the kernel does not count.
    pub(crate) fn involuntary_share(&self) -> Option<f64> {
        let total = self.switches_per_round().filter(|total| *total > 0.0)?;
        Some((self.median_of(|batch| batch.involuntary_per_round) / total).min(1.0))
    }

    /// Whether the method made no switches worth the name: its figure would be a fast-looking nothing.
    pub(crate) fn made_no_switches(&self) -> bool {
        let expected = self.condition.expected_switches_per_round();
        expected > 0.0
            && self.switches_per_round().is_some_and(|counted| counted < NO_SWITCH_SHARE * expected)
    }

    fn divisor(&self, batch: &Batch) -> f64 {
        if self.counted { batch.switches_per_round() } else { self.condition.expected_switches_per_round() }
    }

    fn median_of(&self, value: impl Fn(&Batch) -> f64) -> f64 {
        stats::median(&self.batches.iter().map(|(_, batch)| value(batch)).collect::<Vec<_>>())
    }

    fn low_of(&self, value: impl Fn(&Batch) -> f64) -> f64 {
        let values: Vec<f64> = self.batches.iter().map(|(_, batch)| value(batch)).collect();
        stats::quantile_sorted(&stats::sorted(&values), LOW_QUANTILE)
    }

    /// Time per switch with the baseline subtracted.
    pub(crate) fn net(&self) -> Estimate {
        let switches =
            self.switches_per_round().unwrap_or_else(|| self.condition.expected_switches_per_round());
        let undisturbed =
            (self.low_of(|batch| batch.round_ns) - self.low_of(Batch::baseline_per_round_ns)) / switches;
        let mut estimate = self.estimate(undisturbed, |batch| batch.net_ns(self.divisor(batch)));
        let expected = self.condition.expected_switches_per_round();
        if is_unexpected(switches, expected, estimate.batch_length) {
            estimate.flags.push(Flag::UnexpectedSwitchCount);
        }
        estimate
    }

    /// Time of a round with nothing subtracted.
    pub(crate) fn gross(&self) -> Estimate {
        self.estimate(self.low_of(|batch| batch.round_ns), |batch| batch.round_ns)
    }

    /// Time of a message of a round, the hand-over between the CPUs with it.
    pub(crate) fn per_message(&self, messages_per_round: f64) -> Estimate {
        let ns = |batch: &Batch| batch.round_ns / messages_per_round;
        self.estimate(self.low_of(ns), ns)
    }

    /// Median part of a message that is its write, where one task does both.
    pub(crate) fn write_share(&self) -> Option<f64> {
        let shares: Vec<f64> = self.batches.iter().filter_map(|(_, batch)| batch.write_share).collect();
        (!shares.is_empty()).then(|| stats::median(&shares))
    }

    /// Median time of the baseline for each switch of a round.
    pub(crate) fn baseline_per_switch_ns(&self) -> f64 {
        self.median_of(|batch| batch.baseline_per_round_ns() / self.divisor(batch))
    }

    /// Median time of one baseline operation.
    pub(crate) fn baseline_operation_ns(&self) -> f64 {
        self.median_of(|batch| batch.baseline_ns)
    }

    fn estimate(&self, undisturbed: f64, value: impl Fn(&Batch) -> f64) -> Estimate {
        // A batch in which nothing switched has no time per switch.
        let finite = |value: &f64| value.is_finite();
        let values: Vec<f64> = self.batches.iter().map(|(_, batch)| value(batch)).filter(finite).collect();
        let everything: Vec<f64> = self.all.iter().map(|batch| value(batch)).filter(finite).collect();
        let sorted = stats::sorted(&values);
        let median = stats::quantile_sorted(&sorted, 0.5);
        let lag1 = stats::lag1_autocorrelation(&values);
        let (ci_low, ci_high) = interval_of_median(&sorted, lag1);
        let lengths: Vec<f64> = self.batches.iter().map(|(_, batch)| f64::from(batch.rounds)).collect();
        let mut flags = Vec::new();
        if median < 0.0 || undisturbed < 0.0 {
            flags.push(Flag::Negative);
        }
        if self.noisy_host {
            flags.push(Flag::NoisyHost);
        }
        if values.len() < FEWEST_BATCHES {
            flags.push(Flag::FewBatches);
        }
        let launch_medians = self.launch_medians(&value);
        Estimate {
            median,
            ci_low,
            ci_high,
            mean: stats::mean(&everything),
            min: sorted.first().copied().unwrap_or(f64::NAN),
            undisturbed,
            undisturbed_quantile: LOW_QUANTILE,
            cov: stats::coefficient_of_variation(&values),
            batches: values.len() as u32,
            rejected: self.rejected.len() as u32,
            launches: launch_medians.len() as u32,
            launch_medians,
            batch_length: stats::median(&lengths) as u32,
            normality_p: stats::shapiro_wilk_sorted(&sorted).map(|test| test.p),
            lag1_autocorrelation: lag1,
            ended: self.ended,
            flags,
        }
    }

    fn launch_medians(&self, value: &impl Fn(&Batch) -> f64) -> Vec<f64> {
        let launches = self.batches.iter().map(|(launch, _)| launch + 1).max().unwrap_or(0);
        let mut groups: Vec<Vec<f64>> = vec![Vec::new(); launches];
        for (launch, batch) in &self.batches {
            groups[*launch].extend(Some(value(batch)).filter(|value| value.is_finite()));
        }
        groups.iter().filter(|group| !group.is_empty()).map(|group| stats::median(group)).collect()
    }
}

/// The order-statistic interval of the median. Batches that resemble their neighbours (lag-1 autocorrelation r) say less than
/// as many independent ones: the interval is that of `n (1 - r) / (1 + r)` evenly spaced order statistics. With too few, it
/// is the whole range.
pub(crate) fn interval_of_median(sorted: &[f64], lag1: Option<f64>) -> (f64, f64) {
    let Some((first, last)) = sorted.first().zip(sorted.last()) else { return (f64::NAN, f64::NAN) };
    let r = lag1.unwrap_or(0.0).clamp(0.0, 0.9);
    let effective = ((sorted.len() as f64 * (1.0 - r) / (1.0 + r)).round() as usize).min(sorted.len());
    let interval = if effective == sorted.len() {
        stats::median_interval_sorted(sorted, CONFIDENCE)
    } else {
        let thinned: Vec<f64> = (0..effective)
            .map(|index| stats::quantile_sorted(sorted, (index as f64 + 0.5) / effective as f64))
            .collect();
        stats::median_interval_sorted(&thinned, CONFIDENCE)
    };
    interval.map_or((*first, *last), |found| (found.low, found.high))
}

/// Whether the interval of the median is narrow enough to stop.
pub(crate) fn precise_enough(estimate: &Estimate, precision: f64) -> bool {
    let half_width = (estimate.ci_high - estimate.median).max(estimate.median - estimate.ci_low);
    estimate.batches as usize >= FEWEST_BATCHES && half_width <= precision * estimate.median.abs()
}

#[cfg(test)]
mod tests;
