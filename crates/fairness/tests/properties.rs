//! What holds for any machine and any applications.

use proptest::prelude::*;
use swtch_fairness::{
    Allocator, Cores, Ddof, Guaranteed, Interval, Metrics, POLICIES, Policy, Solution, Variant, performance,
};

const ROUNDING: f64 = 1e-9;

fn machine() -> impl Strategy<Value = Cores> {
    (0_u32..9, 0_u32..9).prop_filter_map("no core", |(fast, slow)| Cores::new(fast, slow).ok())
}

/// Speedups, often the same, often 1, sometimes hardly above.
fn speedups() -> impl Strategy<Value = Vec<f64>> {
    let one = prop_oneof![3 => 1.0_f64..4.0, 1 => Just(1.0), 1 => Just(2.0), 1 => 1.0_f64..1.000_001, 1 => 0.2_f64..1.0];
    prop::collection::vec(one, 1..24)
}

fn policy() -> impl Strategy<Value = Policy> {
    let share = || 0.0_f64..=1.0;
    prop_oneof![
        Just(Policy::MaxFair),
        Just(Policy::MaxPerf),
        Just(Policy::ScaledLoad),
        Just(Policy::EqualSpeedup),
        Just(Policy::EqualSlowdown),
        share().prop_map(|min_fairness| Policy::MinFair { min_fairness }),
        (share(), 0.0_f64..2.0, any::<bool>()).prop_map(|(min_fairness, similarity, published)| {
            Policy::SimilarMinFair { min_fairness, similarity, published }
        }),
        (share(), share()).prop_map(|(uniformity, min_fairness)| Policy::UniFair {
            uniformity,
            min_fairness,
            ddof: Ddof::One
        }),
        (share(), any::<bool>()).prop_map(|(r, mix)| Policy::RFair {
            r,
            variant: if mix { Variant::Mix } else { Variant::Greedy }
        }),
        share().prop_map(|threshold| Policy::Guaranteed { threshold, ddof: Ddof::One }),
    ]
}

fn shares(cores: Cores, speedups: &[f64], policy: &Policy) -> (Vec<f64>, Vec<f64>) {
    let mut shares = vec![0.0; speedups.len()];
    Allocator::new().allocate(cores, speedups, policy, &mut shares).unwrap();
    let mut achieved = shares.clone();
    performance(cores, speedups, &shares, &mut achieved);
    (shares, achieved)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn shares_are_within_bounds_and_the_budget_is_spent(cores in machine(), speedups in speedups(), policy in policy()) {
        let (found, _) = shares(cores, &speedups, &policy);
        prop_assert!(found.iter().all(|share| (-ROUNDING..=1.0 + ROUNDING).contains(share)), "{found:?}");
        let (spent, budget) = (found.iter().sum::<f64>(), cores.budget(speedups.len()));
        prop_assert!((spent - budget).abs() < 1e-6, "{policy:?}: {spent} of {budget}: {found:?}");
    }

    #[test]
    fn the_safe_policies_keep_the_guarantee(
        cores in machine(), speedups in speedups(), guarantee in 0.0_f64..=1.0, similarity in 0.0_f64..2.0, uniformity in 0.0_f64..=1.0
    ) {
        let safe = [
            Policy::MinFair { min_fairness: guarantee },
            Policy::SimilarMinFair { min_fairness: guarantee, similarity, published: false },
            Policy::UniFair { uniformity, min_fairness: guarantee, ddof: Ddof::One },
        ];
        for policy in safe {
            let (_, achieved) = shares(cores, &speedups, &policy);
            prop_assert!(achieved.iter().all(|one| *one >= guarantee - ROUNDING), "{policy:?}: {achieved:?}");
        }
    }

    #[test]
    fn min_fair_has_the_most_throughput_of_all_that_keep_the_guarantee(
        cores in machine(), speedups in speedups(), guarantee in 0.0_f64..=1.0, other in policy()
    ) {
        let (_, best) = shares(cores, &speedups, &Policy::MinFair { min_fairness: guarantee });
        let (_, achieved) = shares(cores, &speedups, &other);
        let [best, rival] = [best, achieved].map(|achieved| Metrics::of(&achieved, Ddof::One));
        prop_assume!(rival.min_fairness >= guarantee);
        prop_assert!(rival.throughput <= best.throughput + ROUNDING, "{other:?}: {rival:?} beats {best:?}");
    }

    #[test]
    fn uniformity_is_kept(cores in machine(), speedups in speedups(), wish in 0.0_f64..=1.0, ones in any::<bool>()) {
        let ddof = if ones { Ddof::One } else { Ddof::Zero };
        let (_, achieved) = shares(cores, &speedups, &Policy::UniFair { uniformity: wish, min_fairness: 0.0, ddof });
        prop_assert!(Metrics::of(&achieved, ddof).uniformity >= wish - ROUNDING);
    }

    #[test]
    fn guaranteed_fairness_tends_to_its_mix(cores in machine(), speedups in speedups(), threshold in 0.3_f64..0.99) {
        let mut controller = Guaranteed::new(cores, &speedups, threshold, Ddof::One).unwrap();
        let perf = controller.by_ref().take(4000).filter(|interval| *interval == Interval::MaxPerf).count();
        let policy = Policy::Guaranteed { threshold, ddof: Ddof::One };
        let mix = Solution::of(cores, &speedups, &policy, Ddof::One, 0).unwrap().mix.unwrap();
        prop_assert!((perf as f64 / 4000.0 - mix).abs() < 0.002, "{perf} of 4000 for {mix}");
    }

    #[test]
    fn all_who_share_have_the_same_speedup_or_slowdown(cores in machine(), speedups in speedups()) {
        for (policy, against_fast) in [(Policy::EqualSpeedup, false), (Policy::EqualSlowdown, true)] {
            let (found, _) = shares(cores, &speedups, &policy);
            let level = |(speedup, share): (&f64, &f64)| {
                let speedup = speedup.max(1.0);
                (1.0 + (speedup - 1.0) * share) / if against_fast { speedup } else { 1.0 }
            };
            let inside = speedups.iter().zip(&found).filter(|(speedup, share)| **speedup > 1.001 && **share > 1e-9 && **share < 1.0 - 1e-9);
            let levels: Vec<f64> = inside.map(level).collect();
            for other in &levels {
                prop_assert!((other - levels[0]).abs() < 1e-6, "{policy:?}: {levels:?}");
            }
        }
    }
}

#[test]
fn every_policy_has_a_name_and_nonsense_is_refused() {
    let cores = Cores::new(1, 1).unwrap();
    for name in POLICIES.map(|row| row.name) {
        let policy = Policy::from_name(name).unwrap();
        let mut room = [0.0; 2];
        Allocator::new().allocate(cores, &[2.0, 1.5], &policy, &mut room).unwrap();
        for wrong in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            assert!(Allocator::new().allocate(cores, &[2.0, wrong], &policy, &mut room).is_err());
        }
        assert!(Allocator::new().allocate(cores, &[2.0], &policy, &mut room).is_err());
        assert!(Allocator::new().allocate(cores, &[], &policy, &mut []).is_err());
    }
    assert!(Policy::from_name("fair").unwrap_err().to_string().contains("max-fair, max-perf"));
    assert!(Cores::new(0, 0).is_err());
    let mut room = [0.0];
    for wrong in [-0.1, 1.1, f64::NAN] {
        let policy = Policy::MinFair { min_fairness: wrong };
        assert!(Allocator::new().allocate(cores, &[2.0], &policy, &mut room).is_err());
    }
}
