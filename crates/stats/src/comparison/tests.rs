use super::*;
use crate::Rng;
use crate::quantiles::median;
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
    /// As many launches agree to the last digit, as where instructions are counted; a fifth has taken another way.
    Counted,
    /// One launch in twenty is ten times as slow.
    Outliers,
}

const NOISES: [Noise; 6] =
    [Noise::Normal, Noise::OneSided, Noise::SlowPhases, Noise::TwoModes, Noise::Counted, Noise::Outliers];
const SIZES: [(usize, usize); 7] = [(3, 3), (4, 4), (5, 5), (6, 12), (8, 8), (12, 12), (20, 20)];

impl Noise {
    fn draw(self, rng: &mut Rng) -> f64 {
        let normal = rng.gauss();
        let one_in = |rng: &mut Rng, n: u64| rng.below(n) == 0;
        match self {
            Self::Normal => 1.0 + 0.03 * normal,
            Self::OneSided => 1.0 - 0.05 * (1.0 - rng.unit_f64()).ln(),
            Self::SlowPhases => (1.0 + 0.02 * normal) * if one_in(rng, 5) { 1.3 } else { 1.0 },
            Self::TwoModes => (1.0 + 0.02 * normal) * if one_in(rng, 2) { 1.15 } else { 1.0 },
            Self::Counted => {
                if one_in(rng, 5) {
                    1.02
                } else {
                    1.0
                }
            }
            Self::Outliers => (1.0 + 0.02 * normal) * if one_in(rng, 20) { 10.0 } else { 1.0 },
        }
    }

    /// Standard deviation of the logarithms between launches, without what is cut off.
    fn deviation(self) -> f64 {
        match self {
            Self::OneSided => 0.04,
            Self::Normal | Self::SlowPhases => 0.03,
            Self::TwoModes => 0.07,
            Self::Counted => 0.0,
            Self::Outliers => 0.02,
        }
    }
}

/// The launches of one run. Runs differ among themselves too, as they do on a real machine, by less than launches do.
fn launches(noise: Noise, count: usize, runs_differ: bool, rng: &mut Rng) -> Vec<f64> {
    let run =
        if runs_differ { (RUN_VARIANCE_SHARE.sqrt() * noise.deviation() * rng.gauss()).exp() } else { 1.0 };
    (0..count).map(|_| 1_000.0 * run * noise.draw(rng)).collect()
}

fn compared(old: &[f64], new: &[f64]) -> Difference {
    let side = |launches| Side { figure: median(launches), launches };
    compare_launches(side(old), side(new)).unwrap()
}

/// Shares of comparisons, in which the new side is `factor` times the old, whose interval holds the factor and whose interval leaves out 1.
fn shares(noise: Noise, sizes: (usize, usize), factor: f64, runs_differ: bool) -> (f64, f64) {
    const COMPARISONS: u64 = 800;
    let (mut held, mut announced) = (0, 0);
    for seed in 0..COMPARISONS {
        let mut rng = Rng::new(seed);
        let old = launches(noise, sizes.0, runs_differ, &mut rng);
        let new: Vec<f64> =
            launches(noise, sizes.1, runs_differ, &mut rng).iter().map(|ns| ns * factor).collect();
        let found = compared(&old, &new);
        held += u64::from(
            found.interval.low <= factor * (1.0 + 1e-9) && factor <= found.interval.high * (1.0 + 1e-9),
        );
        let apart = found.interval.low > 1.0 || found.interval.high < 1.0;
        assert_eq!(apart, found.p < 0.05, "the probability follows the interval: {found:?}");
        announced += u64::from(apart);
    }
    (held as f64 / COMPARISONS as f64, announced as f64 / COMPARISONS as f64)
}

#[test]
fn the_same_twice_differs_no_more_often_than_it_may() {
    for noise in NOISES {
        for sizes in SIZES {
            for runs_differ in [false, true] {
                let (_, announced) = shares(noise, sizes, 1.0, runs_differ);
                println!("{noise:?} {sizes:?} runs differ {runs_differ}: {:.1} %", announced * 100.0);
                assert!(announced <= 0.07, "{noise:?} {sizes:?}: {:.1} % false alarms", announced * 100.0);
            }
        }
    }
}

/// 95 %, less three standard deviations of a share of 800 and what a skewed sample of three costs; where launches agree, 100 %.
#[test]
fn the_interval_holds_the_true_ratio_as_often_as_it_says() {
    for noise in NOISES {
        for sizes in SIZES {
            let (held, _) = shares(noise, sizes, 1.6, true);
            println!("{noise:?} {sizes:?}: {:.1} %", held * 100.0);
            assert!(held >= 0.925, "{noise:?} {sizes:?}: {held}");
        }
    }
}

#[test]
fn a_change_of_sixty_per_cent_is_found() {
    for noise in NOISES {
        for sizes in [(5, 5), (8, 8), (20, 20)] {
            let (_, announced) = shares(noise, sizes, 1.6, true);
            println!("{noise:?} {sizes:?}: {:.1} %", announced * 100.0);
            let few = sizes.0 < LEAST_TO_TRIM;
            // One launch of five that takes ten times as long hides anything; from six on it is cut off.
            let least = match noise {
                Noise::Outliers if few => 0.5,
                Noise::Outliers | Noise::SlowPhases => 0.8,
                _ => 0.97,
            };
            assert!(announced >= least, "{noise:?} {sizes:?}: {announced}");
        }
    }
}

#[test]
fn the_printed_figures_decide_what_the_ratio_is() {
    // The medians of the batches say 0.94, the launches 1.33: neither is announced, and both are within the interval.
    let (old, new) = ([4.9, 5.0, 5.1, 5.0, 5.0], [6.6, 6.7, 6.65, 6.6, 6.7]);
    let found =
        compare_launches(Side { figure: 6.58, launches: &old }, Side { figure: 6.19, launches: &new })
            .unwrap();
    assert_eq!(found.ratio, 6.19 / 6.58);
    assert!(found.interval.low <= found.ratio && found.interval.high > 1.33, "{found:?}");
    assert!(found.p >= 0.05, "{found:?}");
}

#[test]
fn what_may_be_zero_has_no_ratio() {
    let good = [5.0, 5.1, 4.9, 5.0];
    let side = |figure, launches| Side { figure, launches };
    let fine = side(5.0, &good);
    for bad in [
        side(0.0, &good),
        side(-5.0, &good),
        side(f64::NAN, &good),
        side(5.0, &[5.0, 5.0, -5.0]),
        side(5.0, &[5.0, f64::NAN, 5.0]),
    ] {
        assert_eq!(compare_launches(bad, fine), Err(Undecided::OldNotPositive), "{bad:?}");
        assert_eq!(compare_launches(fine, bad), Err(Undecided::NewNotPositive), "{bad:?}");
    }
    assert_eq!(compare_launches(side(5.0, &good[..2]), fine), Err(Undecided::FewLaunches));
    // One stray of many is cut off like any other.
    let stray = [5.0, 5.1, 4.9, 5.0, 5.0, 5.1, -0.1];
    assert!(compare_launches(side(5.0, &stray), fine).is_ok());
}

#[test]
fn launches_that_agree_make_any_difference_one() {
    let five = Side { figure: 5.0, launches: &[5.0; 4] };
    let six = Side { figure: 6.0, launches: &[6.0; 4] };
    let same = compare_launches(five, five).unwrap();
    assert_eq!((same.ratio, same.p), (1.0, 1.0));
    assert_eq!(compare_launches(five, six).unwrap().p, 0.0);
    // Two ways through the code, each taken by most launches of one side: that can happen by chance.
    let (old, new) = ([3.5, 3.5, 3.5, 3.5, 3.5, 5.7], [3.5, 5.7, 5.7, 5.7, 5.7, 5.7]);
    let found =
        compare_launches(Side { figure: 3.5, launches: &old }, Side { figure: 5.7, launches: &new }).unwrap();
    assert!(found.p >= 0.01, "{found:?}");
}

proptest! {
    #[test]
    fn the_ratio_is_that_of_the_figures_and_within_a_positive_interval(
        old in prop::collection::vec(-10.0..1100.0f64, 3..15),
        new in prop::collection::vec(-10.0..1100.0f64, 3..15),
        figures in (0.1..1e6f64, 0.1..1e6f64),
    ) {
        let sides = (Side { figure: figures.0, launches: &old }, Side { figure: figures.1, launches: &new });
        if let Ok(found) = compare_launches(sides.0, sides.1) {
            prop_assert_eq!(found.ratio, figures.1 / figures.0);
            prop_assert!(found.interval.low > 0.0);
            prop_assert!(found.interval.low <= found.ratio && found.ratio <= found.interval.high);
            prop_assert!((0.0..=1.0).contains(&found.p));
        }
    }
}

/// A machine whose speed drifts, and that is faster or slower for some runs in a row; the sides take turns at random.
fn turns(factor: f64, pairs: usize, rng: &mut Rng) -> (Vec<f64>, Vec<f64>) {
    let mut drift = 0.0;
    let mut run = |factor: f64, rng: &mut Rng| {
        drift = 0.9 * drift + 0.06 * rng.gauss();
        (drift + 0.01 * rng.gauss()).exp() * factor
    };
    let mut sides = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        let new_first = rng.below(2) == 1;
        let first = run(if new_first { factor } else { 1.0 }, rng);
        let second = run(if new_first { 1.0 } else { factor }, rng);
        sides.0.push(if new_first { second } else { first });
        sides.1.push(if new_first { first } else { second });
    }
    sides
}

fn found_in_turns(factor: f64, pairs: usize, compare: fn(&[f64], &[f64]) -> Difference) -> f64 {
    let found = (0..1000).filter(|seed| {
        let (old, new) = turns(factor, pairs, &mut Rng::new(*seed));
        compare(&old, &new).p < 0.05
    });
    found.count() as f64 / 1000.0
}

#[test]
fn pairs_find_what_a_drifting_machine_hides_and_nothing_that_is_not_there() {
    let pairs = |old: &[f64], new: &[f64]| compare_pairs(old, new).unwrap();
    let runs = |old: &[f64], new: &[f64]| compare_runs(old, new).unwrap();
    for count in [10, 20, 40] {
        let same = found_in_turns(1.0, count, pairs);
        assert!(same <= 0.065, "{count} pairs: {same} of like sides differ");
    }
    let (by_pairs, by_runs) = (found_in_turns(1.05, 20, pairs), found_in_turns(1.05, 20, runs));
    assert!(by_pairs > 0.7 && by_pairs > 2.0 * by_runs, "{by_pairs} by pairs, {by_runs} without");
}

#[test]
fn pairs_of_independent_runs_differ_no_more_often_than_they_may() {
    for noise in NOISES {
        let found = (0..1000).filter(|seed| {
            let mut rng = Rng::new(*seed);
            let (old, new) = (launches(noise, 12, false, &mut rng), launches(noise, 12, false, &mut rng));
            compare_pairs(&old, &new).unwrap().p < 0.05
        });
        let share = found.count() as f64 / 1000.0;
        assert!(share <= 0.075, "{noise:?}: {share}");
    }
}
