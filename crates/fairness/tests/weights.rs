//! Weights and threads: what holds for any, and other solvers as oracles.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use proptest::prelude::*;
use swtch_fairness::{
    Allocator, CoreTypes, Cores, Ddof, Demand, Entitled, FairnessError, Guaranteed, Interval, Metrics,
    Policy, Solution, Variant, keep_least_of,
};

const SAME: f64 = 1e-6;

fn cores() -> impl Strategy<Value = Cores> {
    (0_u32..6, 0_u32..6).prop_filter_map("no core", |(fast, slow)| Cores::new(fast, slow).ok())
}

/// Speedups and demands. Speedups are often 1 or the same, or differ clearly: where a guarantee hangs on a tiny gain, solvers differ in what they
/// take for 0.
fn applications() -> impl Strategy<Value = (Vec<f64>, Vec<Demand>)> {
    let speedup = prop_oneof![4 => 1.05_f64..4.0, 1 => Just(1.0), 1 => Just(2.0), 1 => 0.3_f64..1.0];
    let weight = prop_oneof![3 => 0.1_f64..10.0, 1 => Just(1.0), 1 => Just(1024.0)];
    let demand = (weight, 1_u32..5).prop_map(|(weight, threads)| Demand { weight, threads });
    prop::collection::vec((speedup, demand), 1..10).prop_map(|pairs| pairs.into_iter().unzip())
}

fn policy() -> impl Strategy<Value = Policy> {
    let share = || 0.0_f64..=1.0;
    prop_oneof![
        Just(Policy::MaxFair),
        Just(Policy::MaxPerf),
        Just(Policy::EqualSpeedup),
        Just(Policy::EqualSlowdown),
        share().prop_map(|min_fairness| Policy::MinFair { min_fairness }),
        (share(), 0.0_f64..2.0, any::<bool>()).prop_map(|(min_fairness, similarity, published)| {
            Policy::SimilarMinFair { min_fairness, similarity, published }
        }),
        (share(), share()).prop_map(|(uniformity, min_fairness)| {
            Policy::UniFair { uniformity, min_fairness, ddof: Ddof::One }
        }),
        (share(), any::<bool>()).prop_map(|(r, mix)| {
            Policy::RFair { r, variant: if mix { Variant::Mix } else { Variant::Greedy } }
        }),
        share().prop_map(|threshold| Policy::Guaranteed { threshold, ddof: Ddof::One }),
    ]
}

fn solve(cores: Cores, speedups: &[f64], demands: &[Demand], policy: &Policy) -> Solution {
    Solution::by_weight(cores, speedups, demands, policy, Ddof::One, 0).unwrap()
}

/// `min(limit, level * weight)` by halving the interval in which the level is.
fn filled(whole: f64, limits: &[f64], demands: &[Demand]) -> Vec<f64> {
    let at = |level: f64| -> Vec<f64> {
        limits.iter().zip(demands).map(|(limit, demand)| limit.min(level * demand.weight)).collect()
    };
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..200 {
        let level = f64::midpoint(low, high);
        if at(level).iter().sum::<f64>() < whole { low = level } else { high = level }
    }
    at(high)
}

/// The most throughput that keeps a guarantee, by a general solver. Variables are times on fast cores.
fn oracle(cores: Cores, speedups: &[f64], entitled: &[Entitled], min_fairness: f64) -> f64 {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let all: f64 = entitled.iter().map(|own| own.cpus).sum();
    let mut constant = 0.0;
    let mut times: Vec<(Variable, f64)> = Vec::new();
    for (speedup, own) in speedups.iter().zip(entitled) {
        let gain = (speedup - 1.0).max(0.0);
        let base = 1.0 + gain * own.share;
        constant += own.cpus / base / all;
        let time = problem.add_var(gain / base / all, (0.0, own.cpus));
        problem.add_constraint([(time, gain / base / own.cpus)], ComparisonOp::Ge, min_fairness - 1.0 / base);
        times.push((time, 1.0));
    }
    problem.add_constraint(&times[..], ComparisonOp::Le, f64::from(cores.fast()));
    constant + problem.solve().unwrap().into_solution().unwrap().objective()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn time_goes_by_weight_within_what_threads_can_use(cores in cores(), (_, demands) in applications()) {
        let mut entitled = Vec::new();
        cores.entitle(&demands, &mut entitled).unwrap();
        let threads: Vec<f64> = demands.iter().map(|demand| f64::from(demand.threads)).collect();
        let cpus = filled(cores.all(), &threads, &demands);
        let fast = filled(f64::from(cores.fast()), &cpus, &demands);
        for ((own, cpus), fast) in entitled.iter().zip(&cpus).zip(&fast) {
            prop_assert!((own.cpus - cpus).abs() < SAME && (own.share * own.cpus - fast).abs() < SAME, "{own:?} {cpus} {fast}");
        }
    }

    #[test]
    fn shares_are_within_bounds_and_all_fast_time_is_used(
        cores in cores(), (speedups, demands) in applications(), policy in policy()
    ) {
        let found = solve(cores, &speedups, &demands, &policy);
        prop_assert!(found.shares.iter().all(|share| (-1e-9..=1.0 + 1e-9).contains(share)), "{found:?}");
        let used: f64 = found.shares.iter().zip(&found.entitled).map(|(share, own)| share * own.cpus).sum();
        let cpus: f64 = found.entitled.iter().map(|own| own.cpus).sum();
        prop_assert!((used - cpus.min(f64::from(cores.fast()))).abs() < SAME, "{policy:?}: {used} of {cpus}: {found:?}");
    }

    #[test]
    fn min_fair_is_as_good_as_another_solvers(
        cores in cores(), (speedups, demands) in applications(), min_fairness in 0.0_f64..=1.0
    ) {
        for (policy, guarantee) in [(Policy::MinFair { min_fairness }, min_fairness), (Policy::MaxPerf, 0.0)] {
            let found = solve(cores, &speedups, &demands, &policy);
            let theirs = oracle(cores, &speedups, &found.entitled, guarantee);
            prop_assert!((found.metrics.throughput - theirs).abs() < SAME, "{theirs} {found:?}");
            prop_assert!(found.metrics.min_fairness >= guarantee - SAME);
        }
    }

    #[test]
    fn the_safe_policies_keep_what_they_guarantee(
        cores in cores(), (speedups, demands) in applications(), wish in 0.0_f64..=1.0, similarity in 0.0_f64..2.0
    ) {
        let similar = Policy::SimilarMinFair { min_fairness: wish, similarity, published: false };
        let found = solve(cores, &speedups, &demands, &similar);
        prop_assert!(found.metrics.min_fairness >= wish - 1e-9, "{found:?}");
        let uniform = Policy::UniFair { uniformity: wish, min_fairness: 0.0, ddof: Ddof::One };
        let found = solve(cores, &speedups, &demands, &uniform);
        prop_assert!(found.metrics.uniformity >= wish - 1e-9, "{found:?}");
    }

    #[test]
    fn similar_ones_have_the_same_multiple_of_what_they_are_entitled_to(
        cores in cores(), (speedups, demands) in applications(), published in any::<bool>()
    ) {
        // All that follow the first that has more than it is entitled to are in its group.
        let min_fair = solve(cores, &speedups, &demands, &Policy::MinFair { min_fairness: 0.7 });
        let policy = Policy::SimilarMinFair { min_fairness: 0.7, similarity: 100.0, published };
        let found = solve(cores, &speedups, &demands, &policy);
        let has_more = |index: &usize| min_fair.shares[*index] > found.entitled[*index].share + 1e-9;
        let Some(first) = (0..speedups.len()).filter(has_more).map(|index| speedups[index].max(1.0)).reduce(f64::max) else {
            return Ok(());
        };
        let multiples: Vec<f64> = (0..speedups.len())
            .filter(|index| speedups[*index].max(1.0) < first)
            .filter(|index| {
                let least = if published { 0.0 } else { found.required[*index] };
                found.shares[*index] > least + 1e-9 && found.shares[*index] < 1.0 - 1e-9
            })
            .map(|index| found.shares[index] / found.entitled[index].share)
            .collect();
        prop_assert!(multiples.windows(2).all(|pair| (pair[0] - pair[1]).abs() < SAME * pair[0].max(1.0)), "{multiples:?} {found:?}");
    }

    #[test]
    fn equal_speedups_and_slowdowns_are_equal_with_weights_too(cores in cores(), (speedups, demands) in applications()) {
        for (policy, against_fast) in [(Policy::EqualSpeedup, false), (Policy::EqualSlowdown, true)] {
            let found = solve(cores, &speedups, &demands, &policy);
            let levels: Vec<f64> = speedups
                .iter()
                .map(|speedup| speedup.max(1.0))
                .zip(&found.shares)
                .filter(|(speedup, share)| *speedup > 1.0 && **share > 1e-9 && **share < 1.0 - 1e-9)
                .map(|(speedup, share)| (1.0 + (speedup - 1.0) * share) / if against_fast { speedup } else { 1.0 })
                .collect();
            prop_assert!(levels.windows(2).all(|pair| (pair[0] - pair[1]).abs() < SAME), "{policy:?}: {levels:?}");
        }
    }

    #[test]
    fn an_application_is_its_threads_and_the_unit_of_weights_does_not_matter(
        cores in cores(), (speedups, demands) in applications(), policy in policy(), unit in -7_i32..8
    ) {
        let whole = solve(cores, &speedups, &demands, &policy);
        let scaled: Vec<Demand> = demands.iter().map(|demand| Demand { weight: demand.weight * 2.0_f64.powi(unit), ..*demand }).collect();
        let other = solve(cores, &speedups, &scaled, &policy);
        // Exactly: of those with the same gain, rounding would decide which is first.
        prop_assert_eq!(&whole.shares, &other.shares);

        if let Policy::MaxFair | Policy::MaxPerf | Policy::MinFair { .. } = policy {
            let (split, single): (Vec<f64>, Vec<Demand>) = speedups
                .iter()
                .zip(&demands)
                .flat_map(|(speedup, demand)| {
                    let one = Demand { weight: demand.weight / f64::from(demand.threads), threads: 1 };
                    std::iter::repeat_n((*speedup, one), demand.threads as usize)
                })
                .unzip();
            let parts = solve(cores, &split, &single, &policy);
            prop_assert!((whole.metrics.throughput - parts.metrics.throughput).abs() < SAME, "{whole:?} {parts:?}");
        }
    }

    #[test]
    fn with_one_weight_and_one_thread_each_nothing_changes(
        cores in cores(), (speedups, _) in applications(), policy in policy(), weight in 0.1_f64..10.0
    ) {
        let demands = vec![Demand { weight, threads: 1 }; speedups.len()];
        let weighted = solve(cores, &speedups, &demands, &policy);
        let plain = Solution::of(cores, &speedups, &policy, Ddof::One, 0).unwrap();
        for (weighted, plain) in weighted.shares.iter().zip(&plain.shares) {
            prop_assert!((weighted - plain).abs() < SAME, "{policy:?}: {weighted} for {plain}");
        }
        for [weighted, plain] in [[weighted.metrics.throughput, plain.metrics.throughput], [weighted.metrics.uniformity, plain.metrics.uniformity]] {
            prop_assert!((weighted - plain).abs() < SAME, "{policy:?}: {weighted} for {plain}");
        }
    }

    #[test]
    fn guaranteed_fairness_tends_to_its_mix_with_weights_too(
        cores in cores(), (speedups, demands) in applications(), threshold in 0.3_f64..0.99
    ) {
        let mut controller = Guaranteed::by_weight(cores, &speedups, &demands, threshold, Ddof::One).unwrap();
        let perf = controller.by_ref().take(4000).filter(|interval| *interval == Interval::MaxPerf).count();
        let mix = solve(cores, &speedups, &demands, &Policy::Guaranteed { threshold, ddof: Ddof::One }).mix.unwrap();
        prop_assert!((perf as f64 / 4000.0 - mix).abs() < 0.002, "{perf} of 4000 for {mix}");
    }

    #[test]
    fn two_kinds_by_the_linear_program_are_the_rule_in_closed_form(
        cores in cores(), (speedups, demands) in applications(), policy in policy()
    ) {
        let speeds: Vec<Vec<f64>> = speedups.iter().map(|speedup| vec![speedup.max(1.0), 1.0]).collect();
        let machine = CoreTypes::new(vec![cores.fast(), cores.slow()], speeds).unwrap().with_demands(demands.clone()).unwrap();
        if let Policy::SimilarMinFair { min_fairness, .. } = policy {
            // Groups are made in another way. It has no more throughput than min-fair, and keeps the guarantee, unless as published.
            let [found, most] = [policy, Policy::MinFair { min_fairness }]
                .map(|policy| machine.allocate(&policy).unwrap().metrics(Ddof::One));
            if let Policy::SimilarMinFair { published: false, .. } = policy {
                let kept = most.min_fairness.min(min_fairness);
                prop_assert!(found.throughput <= most.throughput + 1e-6, "{found:?} {most:?}");
                prop_assert!(found.min_fairness >= kept - 1e-6, "{found:?} {most:?}");
            }
            return Ok(());
        }
        if let Policy::EqualSpeedup | Policy::EqualSlowdown = policy {
            let refused = matches!(machine.allocate(&policy), Err(FairnessError::TwoKindsOnly { kinds: 2, .. }));
            prop_assert!(refused, "{policy:?}");
            return Ok(());
        }
        let (typed, closed) = (machine.allocate(&policy).unwrap(), solve(cores, &speedups, &demands, &policy));
        let metrics = typed.metrics(Ddof::One);
        for (cpus, own) in typed.cpus.iter().zip(&closed.entitled) {
            prop_assert!((cpus - own.cpus).abs() < SAME);
        }
        if let Policy::UniFair { uniformity, .. } | Policy::Guaranteed { threshold: uniformity, .. } = policy {
            prop_assert!(metrics.uniformity >= uniformity - 1e-9, "{policy:?}: {typed:?}");
            // Of applications with the same speedup either may have the most, and how uneven that is differs.
            if speedups.iter().enumerate().any(|(place, speedup)| speedups[..place].contains(speedup)) {
                return Ok(());
            }
        }
        prop_assert!((metrics.throughput - closed.metrics.throughput).abs() < SAME, "{policy:?}: {typed:?} {closed:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn who_is_not_known_yet_has_what_it_is_entitled_to_and_the_others_keep_the_policy(
        cores in cores(), (speedups, demands) in applications(), mask in prop::collection::vec(any::<bool>(), 10), min_fairness in 0.0_f64..=1.0
    ) {
        let known: Vec<Option<f64>> = speedups.iter().zip(&mask).map(|(speedup, known)| known.then_some(*speedup)).collect();
        let (mut allocator, mut shares) = (Allocator::new(), vec![0.0; speedups.len()]);
        let policy = Policy::MinFair { min_fairness };
        allocator.allocate_known(cores, &known, &demands, &policy, &mut shares).unwrap();
        let entitled = allocator.entitled().to_vec();
        let (mut used, mut throughput) = (0.0, 0.0);
        for (((share, own), speedup), known) in shares.iter().zip(&entitled).zip(&speedups).zip(&known) {
            let gain = (speedup - 1.0).max(0.0);
            used += share * own.cpus;
            throughput += own.cpus * (1.0 + gain * share) / (1.0 + gain * own.share);
            if known.is_none() {
                prop_assert!((share - own.share).abs() < 1e-12);
            } else {
                prop_assert!((1.0 + gain * share) / (1.0 + gain * own.share) >= min_fairness - 1e-9);
            }
        }
        let cpus: f64 = entitled.iter().map(|own| own.cpus).sum();
        prop_assert!((used - cpus.min(f64::from(cores.fast()))).abs() < SAME, "{used}");

        let speeds = speedups.iter().map(|speedup| vec![speedup.max(1.0), 1.0]).collect();
        let machine = CoreTypes::new(vec![cores.fast(), cores.slow()], speeds).unwrap().with_demands(demands).unwrap();
        let unknown = known.iter().map(Option::is_none).collect();
        let typed = machine.with_unknown(unknown).unwrap().allocate(&policy).unwrap();
        for ((row, share), known) in typed.own_shares().iter().zip(&shares).zip(&known) {
            prop_assert!(known.is_some() || (row[0] - share).abs() < SAME, "{row:?} {share}");
        }
        let typed = typed.metrics(Ddof::One).throughput;
        prop_assert!((typed - throughput / cpus).abs() < SAME, "{typed} {}", throughput / cpus);
    }

    #[test]
    fn a_least_share_keeps_the_sum_as_far_as_there_is_room(
        cores in cores(), (speedups, demands) in applications(), least in 0.0_f64..0.2
    ) {
        let found = solve(cores, &speedups, &demands, &Policy::MaxPerf);
        let cpus: Vec<f64> = found.entitled.iter().map(|own| own.cpus).collect();
        let used = |shares: &[f64]| -> f64 { shares.iter().zip(&cpus).map(|(share, cpus)| share * cpus).sum() };
        let (budget, all) = (used(&found.shares), cpus.iter().sum::<f64>());
        let mut shares = found.shares.clone();
        keep_least_of(&mut shares, |place| cpus[place], least, budget);
        prop_assert!(shares.iter().all(|share| (least - 1e-9..=1.0 - least + 1e-9).contains(share)), "{shares:?}");
        let possible = budget.clamp(least * all, (1.0 - least) * all);
        prop_assert!((used(&shares) - possible).abs() < SAME, "{} of {possible}: {shares:?}", used(&shares));
    }
}

/// Two applications on a fast and a slow core, every share tried.
#[test]
fn two_applications_by_trying_all_shares() {
    let cores = Cores::new(1, 1).unwrap();
    for (speedups, weights) in [([3.0, 1.5], [1.0, 2.0]), ([2.0, 1.8], [5.0, 1.0]), ([1.2, 3.5], [1.0, 1.0])]
    {
        let demands = weights.map(|weight| Demand { weight, threads: 1 });
        let found = solve(cores, &speedups, &demands, &Policy::MinFair { min_fairness: 0.85 });
        let shares: Vec<f64> = found.entitled.iter().map(|own| own.share).collect();
        let weight = weights[0] / (weights[0] + weights[1]);
        assert!((shares[0] - weight).abs() < 1e-9, "{shares:?}");
        let tried = (0..=1_000_000).map(|step| f64::from(step) / 1e6).map(|first| {
            let one = |index: usize, share: f64| {
                (1.0 + (speedups[index] - 1.0) * share) / (1.0 + (speedups[index] - 1.0) * shares[index])
            };
            [one(0, first), one(1, 1.0 - first)]
        });
        let kept = tried.filter(|achieved| achieved.iter().all(|one| *one >= 0.85));
        let best = kept.map(|achieved| achieved.iter().sum::<f64>() / 2.0).fold(0.0, f64::max);
        assert!((found.metrics.throughput - best).abs() < 1e-5, "{best} {found:?}");
    }
}

#[test]
fn what_a_heavy_thread_cannot_use_of_time_it_gets_of_fast_cores() {
    // Ten of 15 weights would be four of six cores; one thread uses one. Of the two fast cores it has all that it can use.
    let demands: Vec<Demand> =
        [10.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(|weight| Demand { weight, threads: 1 }).to_vec();
    let mut entitled = Vec::new();
    Cores::new(2, 4).unwrap().entitle(&demands, &mut entitled).unwrap();
    assert_eq!(entitled[0], Entitled { cpus: 1.0, share: 1.0 });
    assert!(
        entitled[1..].iter().all(|own| (own.cpus - 1.0).abs() < 1e-12 && (own.share - 0.2).abs() < 1e-12)
    );
    // With more threads than cores weight is time, and the fast cores' part of it is the same for all.
    let demands: Vec<Demand> = [2.0, 1.0, 1.0, 1.0, 1.0].map(|weight| Demand { weight, threads: 2 }).to_vec();
    Cores::new(2, 4).unwrap().entitle(&demands, &mut entitled).unwrap();
    assert!((entitled[0].cpus - 2.0).abs() < 1e-12 && (entitled[1].cpus - 1.0).abs() < 1e-12, "{entitled:?}");
    assert!(entitled.iter().all(|own| (own.share - 1.0 / 3.0).abs() < 1e-12), "{entitled:?}");
}

#[test]
fn nonsense_is_refused() {
    let (cores, one) = (Cores::new(1, 1).unwrap(), Demand::default());
    let mut shares = [0.0; 2];
    let mut tried = |demands: &[Demand]| {
        Allocator::new().allocate_by_weight(cores, &[2.0, 1.5], demands, &Policy::MaxFair, &mut shares)
    };
    assert!(tried(&[one, one]).is_ok());
    assert!(matches!(tried(&[one]), Err(FairnessError::Length { found: 1, expected: 2, .. })));
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = tried(&[one, Demand { weight, ..one }]);
        assert!(matches!(error, Err(FairnessError::Weight { index: 1, .. })), "{error:?}");
    }
    assert_eq!(tried(&[Demand { threads: 0, ..one }, one]), Err(FairnessError::NoThreads { index: 0 }));
    let metrics = Metrics::weighted(&[1.5, 0.5], &[3.0, 1.0], Ddof::Zero);
    assert!((metrics.throughput - 1.25).abs() < 1e-12 && (metrics.min_fairness - 0.5).abs() < 1e-12);
}
