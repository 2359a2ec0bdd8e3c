//! The worked examples of the published policies, to 1e-9 where they can be given exactly and to the printed digits elsewhere.

use swtch_fairness::{Allocator, Cores, Ddof, Metrics, Policy, Variant, performance};

struct Found {
    shares: Vec<f64>,
    required: Vec<f64>,
    achieved: Vec<f64>,
    sample: Metrics,
    population: Metrics,
}

fn solve(fast: u32, slow: u32, speedups: &[f64], policy: Policy) -> Found {
    let cores = Cores::new(fast, slow).unwrap();
    let mut allocator = Allocator::new();
    let mut shares = vec![0.0; speedups.len()];
    allocator.allocate(cores, speedups, &policy, &mut shares).unwrap();
    let mut achieved = shares.clone();
    performance(cores, speedups, &shares, &mut achieved);
    let [sample, population] = [Ddof::One, Ddof::Zero].map(|ddof| Metrics::of(&achieved, ddof));
    Found { shares, required: allocator.required().to_vec(), achieved, sample, population }
}

#[track_caller]
fn near(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    for (found_one, expected_one) in found.iter().zip(expected) {
        assert!((found_one - expected_one).abs() <= within, "{found:?} for {expected:?}");
    }
}

const EXACT: f64 = 1e-9;
const PRINTED: f64 = 1e-6;

#[test]
fn two_applications_that_differ() {
    let found = solve(1, 1, &[3.0, 1.5], Policy::MaxPerf);
    near(&found.achieved, &[1.5, 0.8], EXACT);
    near(&[found.sample.throughput, found.sample.min_fairness], &[1.15, 0.8], EXACT);
    near(&[found.sample.uniformity, found.population.uniformity], &[0.569_587, 0.695_652], PRINTED);
}

#[test]
fn two_applications_that_are_alike() {
    let found = solve(1, 1, &[3.0, 2.9], Policy::MaxPerf);
    near(&found.achieved, &[1.5, 20.0 / 39.0], EXACT);
    near(
        &[found.sample.throughput, found.sample.uniformity, found.population.uniformity],
        &[1.006_410, 0.306_405, 0.509_554],
        PRINTED,
    );
}

const THREE: [f64; 3] = [3.0, 2.9, 1.5];

#[test]
fn three_applications_by_every_policy() {
    let found = solve(1, 2, &THREE, Policy::MaxPerf);
    near(&found.shares, &[1.0, 0.0, 0.0], EXACT);
    near(&found.achieved, &[1.8, 30.0 / 49.0, 6.0 / 7.0], EXACT);
    near(&[found.sample.uniformity, found.population.uniformity], &[0.424_548, 0.530_145], PRINTED);

    let found = solve(1, 2, &THREE, Policy::MinFair { min_fairness: 0.85 });
    near(&found.required, &[0.85 / 3.0 - 0.075, 0.85 / 3.0 - 0.15 / 1.9, 0.0], EXACT);
    near(&found.required, &[0.208_333, 0.204_386, 0.0], PRINTED);
    near(&found.shares, &[0.795_614, 0.204_386, 0.0], PRINTED);
    near(&found.achieved, &[1.554_737, 0.85, 0.857_143], PRINTED);
    near(
        &[found.sample.throughput, found.sample.uniformity, found.population.uniformity],
        &[1.087_293, 0.627_668, 0.695_992],
        PRINTED,
    );

    let similar = |published| Policy::SimilarMinFair { min_fairness: 0.85, similarity: 0.2, published };
    for published in [true, false] {
        let found = solve(1, 2, &THREE, similar(published));
        near(&found.shares, &[0.5, 0.5, 0.0], EXACT);
        near(&found.achieved, &[1.2, 1.193_878, 0.857_143], PRINTED);
        near(
            &[found.sample.throughput, found.sample.uniformity, found.population.uniformity],
            &[1.083_673, 0.818_944, 0.852_169],
            PRINTED,
        );
    }

    let found = solve(1, 2, &THREE, Policy::RFair { r: 0.5, variant: Variant::Greedy });
    near(&found.shares, &[2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0], EXACT);
    near(&found.achieved, &[1.4, 0.806_122, 0.928_571], PRINTED);
    near(&[found.sample.throughput], &[1.044_898], PRINTED);

    let found = solve(1, 2, &THREE, Policy::EqualSpeedup);
    let multiples: Vec<f64> =
        THREE.iter().zip(&found.shares).map(|(speedup, share)| 1.0 + (speedup - 1.0) * share).collect();
    near(&multiples, &[153.0 / 115.0; 3], EXACT);

    let found = solve(1, 2, &THREE, Policy::EqualSlowdown);
    near(&found.shares, &[0.502_183, 0.493_450, 0.004_367], PRINTED);
    let fractions: Vec<f64> = THREE
        .iter()
        .zip(&found.shares)
        .map(|(speedup, share)| (1.0 + (speedup - 1.0) * share) / speedup)
        .collect();
    near(&fractions, &[153.0 / 229.0; 3], EXACT);
}

#[test]
fn six_applications_that_are_the_same() {
    let speedups = [3.0; 6];
    let found = solve(2, 4, &speedups, Policy::MaxPerf);
    near(&found.achieved, &[1.8, 1.8, 0.6, 0.6, 0.6, 0.6], EXACT);
    near(&[found.sample.uniformity, found.population.uniformity], &[0.380_323, 0.434_315], PRINTED);
    let found = solve(2, 4, &speedups, Policy::MinFair { min_fairness: 0.85 });
    near(&found.shares, &[23.0 / 24.0, 5.0 / 24.0, 5.0 / 24.0, 5.0 / 24.0, 5.0 / 24.0, 5.0 / 24.0], EXACT);
    near(&found.achieved, &[1.75, 0.85, 0.85, 0.85, 0.85, 0.85], EXACT);
    let policy = Policy::SimilarMinFair { min_fairness: 0.85, similarity: 0.2, published: false };
    near(&solve(2, 4, &speedups, policy).achieved, &[1.0; 6], EXACT);
}

#[test]
fn who_gains_nothing_needs_nothing() {
    for policy in [Policy::MaxPerf, Policy::MinFair { min_fairness: 0.85 }] {
        let found = solve(1, 2, &[2.0, 1.0, 1.0], policy);
        near(&found.shares, &[1.0, 0.0, 0.0], EXACT);
        near(&found.achieved, &[1.5, 1.0, 1.0], EXACT);
    }
    near(&solve(1, 2, &[1.0; 3], Policy::EqualSpeedup).shares, &[1.0 / 3.0; 3], EXACT);
    near(&solve(1, 2, &[1.0; 3], Policy::EqualSlowdown).shares, &[1.0 / 3.0; 3], EXACT);
}

#[test]
fn the_published_rule_for_similar_ones_breaks_the_guarantee_and_the_safe_one_does_not() {
    let speedups = [2.73, 1.6, 1.19, 1.15];
    let similar = |published| Policy::SimilarMinFair { min_fairness: 0.95, similarity: 0.5, published };
    near(&[solve(2, 2, &speedups, similar(true)).sample.min_fairness], &[0.923_077], PRINTED);
    near(&[solve(2, 2, &speedups, similar(false)).sample.min_fairness], &[0.95], EXACT);
}

#[test]
fn uniformity_is_met_exactly_where_it_binds() {
    for ddof in [Ddof::Zero, Ddof::One] {
        let policy = Policy::UniFair { uniformity: 0.85, min_fairness: 0.0, ddof };
        let found = solve(1, 2, &THREE, policy);
        near(&[Metrics::of(&found.achieved, ddof).uniformity], &[0.85], EXACT);
    }
}

#[test]
fn three_kinds_of_cores() {
    use swtch_fairness::CoreTypes;
    let speeds = vec![vec![3.0, 2.0, 1.0], vec![2.8, 2.2, 1.0], vec![2.4, 1.8, 1.0], vec![1.6, 1.4, 1.0]];
    let machine = CoreTypes::new(vec![1, 1, 2], speeds).unwrap();
    near(&machine.equal_speeds(), &[1.75, 1.75, 1.55, 1.25], EXACT);
    let throughput = |min_fairness: f64| {
        let found = machine.min_fair(min_fairness).unwrap();
        (Metrics::of(&found.performance, Ddof::One).throughput, found.performance)
    };
    let (gain, achieved) = throughput(1.0);
    near(&[gain], &[1.018_707], PRINTED);
    near(&achieved, &[1.07483, 1.0, 1.0, 1.0], 1e-5);
    let (gain, achieved) = throughput(0.85);
    near(&[gain], &[1.076_276], PRINTED);
    near(&achieved, &[1.455_102, 1.15, 0.85, 0.85], PRINTED);
    near(&[throughput(0.0).0], &[1.104_147], PRINTED);
}
