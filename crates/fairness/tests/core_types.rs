//! Machines with several kinds of cores: what holds for any, and another solver as the oracle.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use proptest::prelude::*;
use swtch_fairness::{CoreTypes, Cores, Ddof, Demand, FairnessError, Policy, Solution, Variant};

const SAME: f64 = 1e-6;

/// Machine, speeds, tasks, weights, guarantee and least share.
#[derive(Clone, Debug, Default)]
struct Case {
    counts: Vec<u32>,
    speeds: Vec<Vec<f64>>,
    tasks: Vec<u32>,
    weights: Vec<f64>,
    min_fairness: f64,
    least_share: f64,
}

impl Case {
    fn machine(&self) -> CoreTypes {
        let machine = CoreTypes::new(self.counts.clone(), self.speeds.clone()).unwrap();
        let demands = self.tasks.iter().zip(&self.weights);
        let demands =
            demands.map(|(threads, weight)| Demand { weight: *weight, threads: *threads }).collect();
        machine.with_demands(demands).unwrap().keeping(self.least_share)
    }

    /// `min(limit, level * weight)` by halving the interval in which the level is.
    fn filled(&self, whole: f64, limits: &[f64]) -> Vec<f64> {
        let at = |level: f64| -> Vec<f64> {
            limits.iter().zip(&self.weights).map(|(limit, weight)| limit.min(level * weight)).collect()
        };
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..200 {
            let level = f64::midpoint(low, high);
            if at(level).iter().sum::<f64>() < whole { low = level } else { high = level }
        }
        at(high)
    }

    /// CPU time of each application, in cores, and what it is entitled to of every kind.
    fn entitled(&self) -> (Vec<f64>, Vec<Vec<f64>>) {
        let tasks: Vec<f64> = self.tasks.iter().copied().map(f64::from).collect();
        let cpus = self.filled(self.counts.iter().copied().map(f64::from).sum(), &tasks);
        let (mut left, mut parts) = (cpus.clone(), vec![Vec::new(); cpus.len()]);
        for count in &self.counts {
            let of_kind = self.filled(f64::from(*count), &left);
            left.iter_mut().zip(&of_kind).for_each(|(left, part)| *left = (*left - part).max(0.0));
            parts.iter_mut().zip(of_kind).for_each(|(parts, part)| parts.push(part));
        }
        (cpus, parts)
    }

    /// What each must spend on a kind, in cores.
    fn least(&self, cpus: f64, part: f64) -> f64 {
        part.min(self.least_share * cpus)
    }

    /// The most throughput by the other solver. Variables are times in cores.
    fn oracle(&self) -> f64 {
        let (cpus, parts) = self.entitled();
        let all: f64 = cpus.iter().sum();
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let mut users = vec![Vec::<(Variable, f64)>::new(); self.counts.len()];
        for ((speeds, cpus), parts) in self.speeds.iter().zip(&cpus).zip(&parts) {
            // Its speed with what it is entitled to, per core.
            let base: f64 = speeds.iter().zip(parts).map(|(speed, part)| speed * part).sum::<f64>() / cpus;
            let of = |(speed, part): (&f64, &f64)| {
                problem.add_var(speed / base / all, (self.least(*cpus, *part), f64::INFINITY))
            };
            let variables: Vec<Variable> = speeds.iter().zip(parts).map(of).collect();
            let times: Vec<(Variable, f64)> =
                variables.iter().map(|variable| (*variable, 1.0 / cpus)).collect();
            problem.add_constraint(&times[..], ComparisonOp::Eq, 1.0);
            let gains =
                variables.iter().zip(speeds).map(|(variable, speed)| (*variable, speed / base / cpus));
            problem.add_constraint(&gains.collect::<Vec<_>>()[..], ComparisonOp::Ge, self.min_fairness);
            users.iter_mut().zip(&variables).for_each(|(users, variable)| users.push((*variable, 1.0)));
        }
        for (users, count) in users.iter().zip(&self.counts) {
            problem.add_constraint(&users[..], ComparisonOp::Le, f64::from(*count));
        }
        problem.solve().unwrap().into_solution().unwrap().objective()
    }
}

/// Speeds that hardly differ have a least difference: where a guarantee hangs on one, what either solver takes for 0 is worth more throughput.
fn cases() -> impl Strategy<Value = Case> {
    let speed = prop_oneof![4 => 0.3_f64..4.0, 2 => Just(1.0), 1 => Just(2.0), 1 => 1.01_f64..1.05];
    let weight = prop_oneof![1 => Just(1.0), 1 => 0.2_f64..5.0];
    let machine =
        prop::collection::vec(0_u32..5, 1..5).prop_filter("a core", |counts| counts.iter().sum::<u32>() > 0);
    machine.prop_flat_map(move |counts| {
        let rows = prop::collection::vec(
            (prop::collection::vec(speed.clone(), counts.len()), 1_u32..4, weight.clone()),
            1..12,
        );
        let guarantee = prop_oneof![3 => 0.0_f64..=1.0, 1 => Just(0.0), 1 => Just(1.0)];
        let least = prop_oneof![Just(0.0), Just(0.04), 0.0_f64..0.5];
        (Just(counts), rows, guarantee, least).prop_map(|(counts, rows, min_fairness, least_share)| {
            let mut case = Case { counts, min_fairness, least_share, ..Case::default() };
            for (speeds, tasks, weight) in rows {
                case.speeds.push(speeds);
                case.tasks.push(tasks);
                case.weights.push(weight);
            }
            case
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn shares_are_permitted_and_as_good_as_another_solvers(case in cases()) {
        let found = case.machine().min_fair(case.min_fairness).unwrap();
        let (cpus, parts) = case.entitled();
        for (((row, cpus), parts), tasks) in found.shares.iter().zip(&cpus).zip(&parts).zip(&case.tasks) {
            let tasks = f64::from(*tasks);
            prop_assert!((row.iter().sum::<f64>() * tasks - cpus).abs() < SAME, "{row:?}");
            for (share, part) in row.iter().zip(parts) {
                prop_assert!(share * tasks >= case.least(*cpus, *part) - SAME, "{row:?}");
            }
        }
        for (kind, count) in case.counts.iter().enumerate() {
            let used: f64 = found.shares.iter().zip(&case.tasks).map(|(row, tasks)| row[kind] * f64::from(*tasks)).sum();
            prop_assert!(used <= f64::from(*count) + SAME, "{used} of {count}");
        }
        prop_assert!(found.performance.iter().all(|one| *one >= case.min_fairness - SAME), "{found:?}");
        let (ours, theirs) = (found.metrics(Ddof::One).throughput, case.oracle());
        prop_assert!((ours - theirs).abs() < SAME, "{ours} and {theirs}: {found:?}");
    }

    #[test]
    fn two_kinds_are_what_the_rule_in_closed_form_says(
        fast in 1_u32..5, slow in 1_u32..5, speedups in prop::collection::vec(1.0_f64..4.0, 1..15), min_fairness in 0.0_f64..=1.0
    ) {
        let speedups = &speedups[..];
        let policy = Policy::MinFair { min_fairness };
        let closed = Solution::of(Cores::new(fast, slow).unwrap(), speedups, &policy, Ddof::One, 0).unwrap();
        let speeds = speedups.iter().map(|speedup| vec![*speedup, 1.0]).collect();
        let found = CoreTypes::new(vec![fast, slow], speeds).unwrap().min_fair(min_fairness).unwrap();
        let throughput = found.performance.iter().sum::<f64>() / speedups.len() as f64;
        prop_assert!((throughput - closed.metrics.throughput).abs() < SAME, "{throughput} {closed:?}");
    }
}

#[test]
fn a_hundred_applications_are_shared_too() {
    let speeds = (0..100)
        .map(|index| vec![1.0 + f64::from(index % 31) / 10.0, 1.0 + f64::from(index % 17) / 20.0, 1.0]);
    let machine = CoreTypes::new(vec![20, 30, 50], speeds.collect()).unwrap();
    let found = machine.min_fair(0.85).unwrap();
    assert!(found.performance.iter().all(|one| *one >= 0.85 - 1e-9));
    assert!(found.performance.iter().sum::<f64>() > 100.0);
}

#[test]
fn everybody_is_seen_on_every_kind_as_far_as_there_is_room() {
    let speeds = vec![vec![3.0, 2.0, 1.0], vec![1.2, 1.1, 1.0], vec![1.1, 1.05, 1.0]];
    let of =
        |counts| CoreTypes::new(counts, speeds.clone()).unwrap().keeping(0.04).min_fair(0.0).unwrap().shares;
    for row in of(vec![1, 1, 1]) {
        assert!(row.iter().all(|share| *share >= 0.04 - 1e-9), "{row:?}");
    }
    // One of 30 cores is less than 4 %.
    let speeds = vec![vec![3.0, 1.0]; 30];
    let shares = CoreTypes::new(vec![1, 29], speeds).unwrap().keeping(0.04).min_fair(0.0).unwrap().shares;
    assert!(shares.iter().all(|row| (row[0] - 1.0 / 30.0).abs() < 1e-9), "{shares:?}");
    // Where there are as many of the fastest as tasks, none is on a slower one.
    let shares = CoreTypes::new(vec![2, 2], vec![vec![3.0, 1.0]; 2])
        .unwrap()
        .keeping(0.04)
        .min_fair(0.5)
        .unwrap()
        .shares;
    assert_eq!(shares, [[1.0, 0.0], [1.0, 0.0]]);
}

#[test]
fn every_application_needs_a_task() {
    let machine = || CoreTypes::new(vec![1, 1], vec![vec![2.0, 1.0]]).unwrap();
    for tasks in [vec![], vec![0], vec![1, 1]] {
        assert!(matches!(
            machine().with_tasks(&tasks),
            Err(FairnessError::Length { .. } | FairnessError::NoThreads { .. })
        ));
    }
}

#[test]
fn other_policies_extend_to_three_kinds() {
    let speeds = vec![vec![3.0, 2.0, 1.0], vec![2.8, 2.2, 1.0], vec![2.4, 1.8, 1.0], vec![1.6, 1.4, 1.0]];
    let machine = CoreTypes::new(vec![1, 1, 2], speeds).unwrap();
    let of = |policy| machine.allocate(&policy).unwrap();
    let throughput = |policy| of(policy).metrics(Ddof::One).throughput;
    let fair = of(Policy::MaxFair);
    assert!(fair.performance.iter().all(|one| (one - 1.0).abs() < 1e-12), "{fair:?}");
    assert!((throughput(Policy::MaxPerf) - 1.104_147).abs() < 1e-6);
    // The same is kept on every kind but the slowest; a mix of the two has half of the gain.
    let half = of(Policy::RFair { r: 0.5, variant: Variant::Greedy });
    for row in &half.shares {
        assert!(row.iter().zip([0.125, 0.125]).all(|(share, least)| *share >= least - 1e-9), "{half:?}");
    }
    let mix = throughput(Policy::RFair { r: 0.5, variant: Variant::Mix });
    assert!((mix - (1.0 + 0.104_147 / 2.0)).abs() < 1e-6, "{mix}");
    assert!(throughput(Policy::RFair { r: 0.5, variant: Variant::Greedy }) >= mix - 1e-9);
    for (uniformity, min_fairness) in [(0.85, 0.0), (0.9, 0.85), (0.95, 0.85)] {
        let uniform = of(Policy::UniFair { uniformity, min_fairness, ddof: Ddof::One });
        let metrics = uniform.metrics(Ddof::One);
        assert!(
            metrics.uniformity >= uniformity - 1e-9 && metrics.min_fairness >= min_fairness - 1e-9,
            "{uniform:?}"
        );
        assert!(uniform.mix.unwrap() > 0.0);
    }
    let error = machine.allocate(&Policy::from_name("equal-speedup").unwrap()).unwrap_err().to_string();
    assert!(
        error.starts_with("equal-speedup is defined for two kinds of cores, and there are 3; use"),
        "{error}"
    );
}

/// Two pairs of similar applications, and one that is like none: each pair has the same on every kind, the guarantee holds, and what a pair has
/// together is what min-fair gives it.
#[test]
fn similar_applications_have_the_same_on_every_kind() {
    let speeds = vec![
        vec![3.0, 2.0, 1.0],
        vec![6.1, 4.1, 2.0],
        vec![2.0, 1.5, 1.0],
        vec![1.3, 1.2, 1.0],
        vec![1.25, 1.15, 1.0],
    ];
    let machine = CoreTypes::new(vec![1, 2, 2], speeds).unwrap();
    let of = |published| Policy::SimilarMinFair { min_fairness: 0.85, similarity: 0.2, published };
    let [found, published] = [false, true].map(|published| machine.allocate(&of(published)).unwrap());
    let plain = machine.min_fair(0.85).unwrap();
    assert_eq!(found.shares[0], found.shares[1], "{found:?}");
    for kind in 0..3 {
        let both = |shares: &[Vec<f64>]| shares[0][kind] + shares[1][kind];
        assert!((both(&found.shares) - both(&plain.shares)).abs() < 1e-9);
    }
    // Those that have less than they are entitled to begin no group.
    assert_eq!(found.shares[2..], plain.shares[2..]);
    assert!(
        found.metrics(Ddof::One).min_fairness >= 0.85 - 1e-9
            && found.metrics(Ddof::One).uniformity > plain.metrics(Ddof::One).uniformity
    );
    assert_eq!(found.shares, published.shares, "nothing is in its way");
}

/// As published it may break the guarantee; the safe rule goes only as far as that.
#[test]
fn sharing_alike_goes_as_far_as_the_guarantee() {
    let machine =
        CoreTypes::new(vec![1, 1, 1], vec![vec![4.0, 2.0, 1.0], vec![3.0, 2.0, 1.0], vec![1.1, 1.05, 1.0]])
            .unwrap();
    let least = |min_fairness, published| {
        let policy = Policy::SimilarMinFair { min_fairness, similarity: 10.0, published };
        machine.allocate(&policy).unwrap().metrics(Ddof::One)
    };
    for min_fairness in [0.5, 0.85, 0.95, 1.0] {
        let (safe, published) = (least(min_fairness, false), least(min_fairness, true));
        assert!(safe.min_fairness >= min_fairness - 1e-9, "{safe:?}");
        // All have the same on every kind: that is max-fair here.
        assert!((published.throughput - 1.0).abs() < 1e-9 && safe.throughput >= published.throughput - 1e-9);
    }
}
