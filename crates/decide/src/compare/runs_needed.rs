//! How many runs would decide what is unclear.

use crate::verdict::{Change, Verdict};

/// Larger numbers are not named.
const MOST: f64 = 100_000.0;
/// An interval that just excludes 1 does so in half of the repetitions; with twice the runs, in 80 % of them.
const POWER: f64 = 2.0;

/// For the figures that decide and are unclear. An interval narrows with the square root of the runs: it has to exclude 1, or to fit into
/// the change that does not matter.
pub(crate) fn runs_needed(changes: &[Change], runs: usize) -> Option<u64> {
    let unclear = changes.iter().filter(|change| change.verdict == Verdict::Unclear);
    let needed = unclear.filter_map(|change| {
        let margin = change.figure().filter(|_| change.decides())?.metric.margin;
        Some(of_one(change, margin, runs as f64))
    });
    let most = needed.reduce(f64::max)?;
    (most <= MOST).then_some((most.ceil() as u64).max(runs as u64 + 1))
}

fn of_one(change: &Change, margin: f64, runs: f64) -> f64 {
    let (Some(ratio), Some(low), Some(high)) = (change.ratio, change.ci_low, change.ci_high) else {
        return f64::INFINITY;
    };
    let half_width = (high.ln() - low.ln()) / 2.0;
    let difference = ratio.ln().abs();
    let until =
        |room: f64| if room > 0.0 { POWER * runs * (half_width / room).powi(2) } else { f64::INFINITY };
    until(difference).min(until(margin.ln_1p() - difference))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{RunOrder, judge};

    fn needed(old: &[f64], new: &[f64]) -> Option<u64> {
        let mut changes =
            vec![Change::between("switches".parse().unwrap(), old, new, RunOrder::Mixed).unwrap()];
        judge(&mut changes);
        runs_needed(&changes, old.len())
    }

    #[test]
    fn noise_and_difference_decide_how_many() {
        let old = [90.0, 95.0, 100.0, 105.0, 110.0];
        let of = |factor: f64| needed(&old, &old.map(|value| value * factor));
        // Twice the noise takes four times the runs.
        let noisier = old.map(|value: f64| 100.0 * (value / 100.0).powi(2));
        let [one, two] = [of(1.07).unwrap(), needed(&noisier, &noisier.map(|value| value * 1.07)).unwrap()];
        assert!((3.5..4.5).contains(&(two as f64 / one as f64)), "{one} {two}");
        assert!(of(1.001).unwrap() > 5, "as many as show that it is the same");
        assert!(of(1.05).unwrap() > of(1.1).unwrap());
        assert_eq!(of(2.0), None, "that is clear");
        assert_eq!(needed(&[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0]), None, "no ratio says how many");
    }
}
