//! Synthetic cache curves: x in octaves of the array's size, y the logarithm of the cost.

use super::*;
use crate::Rng;
use proptest::prelude::*;

const OCTAVES: u32 = 12;
/// The reported noise over the real noise: repetitions give an upper bound.
const MARGIN: f64 = 1.5;

struct Curve {
    name: &'static str,
    course: fn(f64) -> f64,
    knees: &'static [f64],
}

const CURVES: [Curve; 8] = [
    Curve { name: "flat", course: |_| 1.0, knees: &[] },
    Curve { name: "one line", course: |x| 0.1 * x, knees: &[] },
    Curve {
        name: "8-fold over one octave",
        course: |x| 2.08 * (x - 6.0).clamp(0.0, 1.0),
        knees: &[6.0, 7.0],
    },
    Curve {
        name: "8-fold over two octaves",
        course: |x| 1.04 * (x - 6.0).clamp(0.0, 2.0),
        knees: &[6.0, 8.0],
    },
    Curve {
        name: "3-fold over two octaves",
        course: |x| 0.55 * (x - 6.0).clamp(0.0, 2.0),
        knees: &[6.0, 8.0],
    },
    Curve { name: "a step", course: |x| if x < 6.1 { 0.0 } else { 1.1 }, knees: &[6.1] },
    Curve { name: "a rise without end", course: |x| 0.9 * (x - 6.0).max(0.0), knees: &[6.0] },
    Curve {
        name: "two rises, of L2 and L3",
        course: |x| (x - 3.0).clamp(0.0, 1.5) + (x - 8.0).clamp(0.0, 1.5),
        knees: &[3.0, 4.5, 8.0, 9.5],
    },
];

fn points(course: fn(f64) -> f64, per_octave: u32, noise: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = Rng::new(seed);
    let x: Vec<f64> = (0..=OCTAVES * per_octave).map(|i| f64::from(i) / f64::from(per_octave)).collect();
    let y = x.iter().map(|x| course(*x) + noise * rng.gauss()).collect();
    (x, y)
}

/// Whether there are as many boundaries as knees. Each knee must be within one grid step of the last point before its
/// boundary or the first after it.
fn found(segments: &[Segment], x: &[f64], knees: &[f64]) -> bool {
    let step = (x[1] - x[0]) * 1.001;
    segments.len() == knees.len() + 1
        && segments.windows(2).zip(knees).all(|(pair, knee)| {
            let (before, after) = (x[pair[0].last], x[pair[1].first]);
            (before - knee).abs() <= step || (after - knee).abs() <= step
        })
}

/// Of 100 seeds, how many find exactly the true knees; `spoil` may disturb the curve.
fn score(curve: &Curve, per_octave: u32, noise: f64, spoil: impl Fn(&mut [f64], &mut Rng)) -> usize {
    (0..100)
        .filter(|&seed| {
            let (x, mut y) = points(curve.course, per_octave, noise, seed);
            spoil(&mut y, &mut Rng::new(!seed));
            found(&piecewise_linear(&x, &y, MARGIN * noise, 6, 3), &x, curve.knees)
        })
        .count()
}

#[test]
fn knees_are_found_within_one_step_and_none_invented() {
    for curve in &CURVES {
        for per_octave in [2, 3, 5] {
            for (noise, least) in [(0.02, 95), (0.05, 90)] {
                let least = if curve.knees.is_empty() { 95 } else { least };
                let score = score(curve, per_octave, noise, |_, _| ());
                println!("{}, {per_octave} an octave, noise {noise}: {score}", curve.name);
                assert!(score >= least, "{}, {per_octave} an octave, noise {noise}: {score}", curve.name);
            }
        }
    }
}

#[test]
fn a_single_outlier_changes_nothing() {
    for curve in &CURVES {
        let score = score(curve, 3, 0.02, |y, rng| {
            let place = rng.below(y.len() as u64) as usize;
            y[place] += if rng.below(2) == 0 { 0.7 } else { -0.7 };
        });
        println!("{}: {score}", curve.name);
        assert!(score >= 90, "{}: {score}", curve.name);
    }
}

#[test]
fn heavy_tailed_noise_alone_has_no_knees() {
    let invented = (0..100)
        .filter(|&seed| {
            let mut rng = Rng::new(seed);
            let x: Vec<f64> = (0..40).map(f64::from).collect();
            let y: Vec<f64> = x.iter().map(|_| -0.03 * (1.0 - rng.unit_f64()).ln()).collect();
            piecewise_linear(&x, &y, MARGIN * 0.03, 6, 3).len() > 1
        })
        .count();
    assert!(invented <= 5, "{invented}");
}

#[test]
fn a_curve_without_noise_has_its_exact_lines() {
    let x: Vec<f64> = (0..30).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 100.0 + 3.0 * (x - 10.0).clamp(0.0, 8.0)).collect();
    let segments = piecewise_linear(&x, &y, 1e-3, 6, 3);
    assert_eq!(segments.len(), 3);
    assert!((segments[1].slope - 3.0).abs() < 1e-9 && (segments[1].intercept - 70.0).abs() < 1e-9);
    assert_eq!(piecewise_linear(&x, &[5.0; 30], 1e-3, 6, 3).len(), 1);
    assert_eq!(piecewise_linear(&x, &[0.0; 30], 1e-3, 6, 3).len(), 1);
}

#[test]
fn few_or_no_points_are_answered() {
    assert!(piecewise_linear(&[], &[], 1.0, 3, 3).is_empty());
    let one = piecewise_linear(&[2.0], &[7.0], 1.0, 3, 3);
    assert_eq!(one, [Segment { first: 0, last: 0, slope: 0.0, intercept: 7.0 }]);
    assert_eq!(piecewise_linear(&[1.0, 2.0, 3.0], &[1.0, 5.0, 1.0], 3.0, 3, 1).len(), 1);
    assert_eq!(piecewise_linear(&[1.0, 2.0, 3.0], &[1.0, 5.0, 1.0], 3.0, 0, 0).len(), 1);
}

#[test]
fn nan_does_not_panic() {
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let mut y = vec![1.0; 20];
    y[4] = f64::NAN;
    assert_eq!(piecewise_linear(&x, &y, 0.1, 4, 3).len(), 1);
    let _ = piecewise_linear(&x, &[f64::NAN; 20], 0.1, 4, 3);
    let _ = piecewise_linear(&[f64::NAN; 20], &y, 0.1, 4, 3);
}

proptest! {
    #[test]
    fn segments_cover_every_point_in_order(
        y in prop::collection::vec(-10.0..10.0f64, 1..40), max_segments in 1_usize..7, min_points in 1_usize..6,
    ) {
        let x: Vec<f64> = (0..y.len()).map(|i| i as f64).collect();
        let segments = piecewise_linear(&x, &y, 1.0, max_segments, min_points);
        prop_assert!(!segments.is_empty() && segments.len() <= max_segments);
        prop_assert_eq!(segments[0].first, 0);
        prop_assert_eq!(segments[segments.len() - 1].last, y.len() - 1);
        for pair in segments.windows(2) {
            prop_assert_eq!(pair[0].last + 1, pair[1].first);
        }
    }
}
