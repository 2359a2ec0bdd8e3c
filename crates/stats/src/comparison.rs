//! Whether two machines, builds or settings differ by more than launches of the same one do.

use crate::intervals::{Interval, bootstrap_two_medians};
use crate::moments::coefficient_of_variation;
use crate::normal_distribution::upper_tail;
use crate::quantiles::median;

/// With fewer launches nothing can be said about the noise between them.
const LEAST_LAUNCHES: usize = 3;
const RESAMPLES: usize = 2_000;
/// The two-sided 95 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// How two sets of launches differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Median of the new launches over the median of the old.
    pub ratio: f64,
    /// 95 % interval of the ratio; with 3 launches a side, whose extremes are all it can use, it holds the truth in
    /// some 89 %.
    pub interval: Interval,
    /// Whether the interval excludes 1 and the change exceeds the noise between launches of either side.
    pub larger_than_noise: bool,
}

/// Compares two sides, **one value a launch of a fresh process** (its median, say): page placement and address layout
/// are drawn anew by each launch, so values within one launch say nothing about the next. Kalibera and Jones, "Rigorous
/// benchmarking in reasonable time", ISMM 2013; Georges, Buytaert and Eeckhout, OOPSLA 2007.
///
/// The interval is the percentile bootstrap over launches, widened for few launches as by Hesterberg, "What teachers
/// should know about the bootstrap", The American Statistician 69 (2015), §3.3: a percentile interval from `n` values is
/// narrow by `sqrt((n - 1) / n)` and lacks Student's allowance.
///
/// A difference is called larger than the noise only when the interval excludes 1 **and** `|ratio - 1|` exceeds the
/// larger coefficient of variation between launches, itself widened by Student's factor, as a deviation from three launches
/// is poorly known. Under no true change that happens in at most 7 % of comparisons of 3 launches a side, and ever less
/// with more: a real change smaller than the noise of one launch is deliberately not announced.
///
/// `None` with fewer than 3 launches on a side, or unless both medians are positive and finite (a ratio needs that).
///
/// ```
/// use swtch_stats::compare_launch_medians;
/// let old = [1000.0, 1010.0, 990.0, 1005.0, 995.0];
/// let slower = compare_launch_medians(&old, &old.map(|ns| ns * 1.2), 1).unwrap();
/// assert!(slower.larger_than_noise && (slower.ratio - 1.2).abs() < 1e-12);
/// assert!(!compare_launch_medians(&old, &old, 1).unwrap().larger_than_noise);
/// assert!(compare_launch_medians(&old[..2], &old, 1).is_none());
/// ```
pub fn compare_launch_medians(old: &[f64], new: &[f64], seed: u64) -> Option<Difference> {
    let launches = old.len().min(new.len());
    if launches < LEAST_LAUNCHES {
        return None;
    }
    let (before, after) = (median(old), median(new));
    if ![before, after].iter().all(|value| value.is_finite() && *value > 0.0) {
        return None;
    }
    let ratio = after / before;
    let student = student_point(launches - 1);
    let tail = upper_tail(student * (launches as f64 / (launches - 1) as f64).sqrt());
    let interval = bootstrap_two_medians(old, new, |old, new| new / old, RESAMPLES, 1.0 - 2.0 * tail, seed);
    let noise = coefficient_of_variation(old).max(coefficient_of_variation(new)) * student / Z;
    let excludes_one = interval.low > 1.0 || interval.high < 1.0;
    Some(Difference { ratio, interval, larger_than_noise: excludes_one && (ratio - 1.0).abs() > noise })
}

/// The two-sided 95 % point of Student's distribution: the expansion 26.7.5 of Abramowitz and Stegun, "Handbook of
/// Mathematical Functions" (1964); 3 % low at 2 degrees of freedom, under 1 % from 3 on.
fn student_point(degrees: usize) -> f64 {
    let inverse = 1.0 / degrees as f64;
    let [z3, z5, z7] = [3, 5, 7].map(|power| Z.powi(power));
    let first = (z3 + Z) / 4.0;
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / 96.0;
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / 384.0;
    Z + inverse * (first + inverse * (second + inverse * third))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use proptest::prelude::*;

    /// The noise between launches that measuring machines show, from tame to awkward.
    #[derive(Clone, Copy, Debug)]
    enum Noise {
        Normal,
        OneSided,
        /// A fifth of the launches fall into a slow phase of the host.
        SlowPhases,
        /// Page placement has two outcomes.
        TwoModes,
    }

    const NOISES: [Noise; 4] = [Noise::Normal, Noise::OneSided, Noise::SlowPhases, Noise::TwoModes];

    fn launches(noise: Noise, count: usize, rng: &mut Rng) -> Vec<f64> {
        let mut draw = || {
            let normal = rng.gauss();
            match noise {
                Noise::Normal => 1.0 + 0.03 * normal,
                Noise::OneSided => 1.0 - 0.05 * (1.0 - rng.unit_f64()).ln(),
                Noise::SlowPhases => (1.0 + 0.02 * normal) * if rng.below(5) == 0 { 1.3 } else { 1.0 },
                Noise::TwoModes => (1.0 + 0.02 * normal) * if rng.below(2) == 0 { 1.15 } else { 1.0 },
            }
        };
        (0..count).map(|_| 1_000.0 * draw()).collect()
    }

    /// Share of comparisons that announce a change when the new side is `factor` times the old.
    fn announced(noise: Noise, sizes: (usize, usize), factor: f64, seeds: u64) -> f64 {
        let found = (0..seeds).filter(|&seed| {
            let mut rng = Rng::new(seed);
            let old = launches(noise, sizes.0, &mut rng);
            let new: Vec<f64> = launches(noise, sizes.1, &mut rng).iter().map(|ns| ns * factor).collect();
            compare_launch_medians(&old, &new, seed).unwrap().larger_than_noise
        });
        found.count() as f64 / seeds as f64
    }

    #[test]
    fn false_alarms_are_rare_for_every_noise_and_size() {
        for noise in NOISES {
            for sizes in [(3, 3), (3, 6), (4, 4), (5, 5), (6, 12), (8, 8), (12, 12), (20, 20)] {
                let share = announced(noise, sizes, 1.0, 600);
                println!("{noise:?} {sizes:?}: {:.1} %", share * 100.0);
                assert!(share <= 0.07, "{noise:?} {sizes:?}: {:.1} % false alarms", share * 100.0);
            }
        }
    }

    #[test]
    fn a_change_of_a_quarter_is_announced() {
        for (noise, sizes, least) in [
            (Noise::Normal, (5, 5), 0.95),
            (Noise::OneSided, (5, 5), 0.9),
            (Noise::Normal, (12, 12), 0.999),
            (Noise::OneSided, (12, 12), 0.999),
        ] {
            let share = announced(noise, sizes, 1.25, 300);
            println!("{noise:?} {sizes:?}: {:.1} %", share * 100.0);
            assert!(share >= least, "{noise:?} {sizes:?}: {share}");
        }
    }

    #[test]
    fn the_interval_holds_the_true_ratio() {
        for count in [3, 5, 8, 12, 30] {
            let mut rng = Rng::new(count);
            let held = (0..400).filter(|&seed| {
                let old = launches(Noise::Normal, count as usize, &mut rng);
                let new: Vec<f64> =
                    launches(Noise::Normal, count as usize, &mut rng).iter().map(|ns| ns * 1.1).collect();
                let interval = compare_launch_medians(&old, &new, seed).unwrap().interval;
                interval.low <= 1.1 && 1.1 <= interval.high
            });
            let share = held.count() as f64 / 400.0;
            println!("{count}: {share}");
            assert!(share >= if count == 3 { 0.87 } else { 0.93 }, "{count} launches: {share}");
        }
    }

    #[test]
    fn equal_launches_and_impossible_ratios() {
        let same = compare_launch_medians(&[5.0; 4], &[5.0; 4], 1).unwrap();
        assert_eq!((same.ratio, same.larger_than_noise), (1.0, false));
        assert!(compare_launch_medians(&[5.0; 4], &[6.0; 4], 1).unwrap().larger_than_noise);
        assert_eq!(compare_launch_medians(&[0.0; 4], &[5.0; 4], 1), None);
        assert_eq!(compare_launch_medians(&[5.0; 4], &[-5.0; 4], 1), None);
        assert_eq!(compare_launch_medians(&[f64::NAN; 4], &[5.0; 4], 1), None);
    }

    #[test]
    fn student_points_match_tables() {
        for (degrees, expected) in [(3, 3.182), (5, 2.571), (11, 2.201), (30, 2.042), (100_000, 1.960)] {
            assert!((student_point(degrees) / expected - 1.0).abs() < 0.01, "{degrees}");
        }
    }

    proptest! {
        #[test]
        fn the_ratio_is_within_its_interval_and_repeats(
            old in prop::collection::vec(900.0..1100.0f64, 3..15),
            new in prop::collection::vec(900.0..1100.0f64, 3..15),
            seed: u64,
        ) {
            let found = compare_launch_medians(&old, &new, seed).unwrap();
            prop_assert!(found.interval.low <= found.ratio && found.ratio <= found.interval.high);
            prop_assert_eq!(found, compare_launch_medians(&old, &new, seed).unwrap());
        }
    }
}
