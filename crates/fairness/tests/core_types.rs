//! Machines with several kinds of cores: what holds for any, and another solver as the oracle.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use proptest::prelude::*;
use swtch_fairness::{CoreTypes, Cores, Ddof, FairnessError, Policy, Solution};

const SAME: f64 = 1e-6;

/// Machine, speeds, tasks, guarantee and least share.
#[derive(Clone, Debug)]
struct Case {
    counts: Vec<u32>,
    speeds: Vec<Vec<f64>>,
    tasks: Vec<u32>,
    min_fairness: f64,
    least_share: f64,
}

impl Case {
    fn machine(&self) -> CoreTypes {
        let machine = CoreTypes::new(self.counts.clone(), self.speeds.clone()).unwrap();
        machine.with_tasks(self.tasks.clone()).unwrap().keeping(self.least_share)
    }

    fn all_tasks(&self) -> f64 {
        self.tasks.iter().copied().map(f64::from).sum()
    }

    /// Mean performance of the tasks.
    fn throughput(&self, performance: &[f64]) -> f64 {
        let sum: f64 = performance.iter().zip(&self.tasks).map(|(one, tasks)| one * f64::from(*tasks)).sum();
        sum / self.all_tasks()
    }

    /// What each must spend on a kind, of its own time.
    fn least(&self, kind: usize) -> f64 {
        self.machine().equal_shares().nth(kind).unwrap().min(self.least_share)
    }

    /// The most throughput by the other solver. Shares are of a task's own time, so that what it takes for 0 is little next to them.
    fn oracle(&self) -> f64 {
        let (machine, base) = (self.machine(), self.machine().equal_speeds());
        let occupancy = machine.occupancy();
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let mut users = vec![Vec::<(Variable, f64)>::new(); self.counts.len()];
        for ((speeds, base), tasks) in self.speeds.iter().zip(&base).zip(&self.tasks) {
            let tasks = f64::from(*tasks);
            let of = |(kind, speed): (usize, &f64)| {
                let worth = tasks * speed / base / self.all_tasks();
                problem.add_var(worth * occupancy, (self.least(kind), f64::INFINITY))
            };
            let variables: Vec<Variable> = speeds.iter().enumerate().map(of).collect();
            let times: Vec<(Variable, f64)> = variables.iter().map(|variable| (*variable, 1.0)).collect();
            problem.add_constraint(&times[..], ComparisonOp::Eq, 1.0);
            let gains: Vec<(Variable, f64)> = variables
                .iter()
                .zip(speeds)
                .map(|(variable, speed)| (*variable, speed * occupancy / base))
                .collect();
            problem.add_constraint(&gains[..], ComparisonOp::Ge, self.min_fairness);
            users.iter_mut().zip(&variables).for_each(|(users, variable)| users.push((*variable, tasks)));
        }
        for (users, count) in users.iter().zip(&self.counts) {
            problem.add_constraint(&users[..], ComparisonOp::Le, f64::from(*count) / occupancy);
        }
        problem.solve().unwrap().into_solution().unwrap().objective()
    }
}

/// Speeds that hardly differ have a least difference: where a guarantee hangs on one, what either solver takes for 0 is worth more throughput.
fn cases() -> impl Strategy<Value = Case> {
    let speed = prop_oneof![4 => 0.3_f64..4.0, 2 => Just(1.0), 1 => Just(2.0), 1 => 1.01_f64..1.05];
    let machine =
        prop::collection::vec(0_u32..5, 1..5).prop_filter("a core", |counts| counts.iter().sum::<u32>() > 0);
    machine.prop_flat_map(move |counts| {
        let rows =
            prop::collection::vec((prop::collection::vec(speed.clone(), counts.len()), 1_u32..4), 1..12);
        let guarantee = prop_oneof![3 => 0.0_f64..=1.0, 1 => Just(0.0), 1 => Just(1.0)];
        let least = prop_oneof![Just(0.0), Just(0.04), 0.0_f64..0.5];
        (Just(counts), rows, guarantee, least).prop_map(|(counts, rows, min_fairness, least_share)| {
            let (speeds, tasks) = rows.into_iter().unzip();
            Case { counts, speeds, tasks, min_fairness, least_share }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn shares_are_permitted_and_as_good_as_another_solvers(case in cases()) {
        let (machine, found) = (case.machine(), case.machine().min_fair(case.min_fairness).unwrap());
        let occupancy = machine.occupancy();
        for row in &found.shares {
            prop_assert!((row.iter().sum::<f64>() - occupancy).abs() < SAME, "{row:?}");
            for (kind, share) in row.iter().enumerate() {
                prop_assert!(*share >= case.least(kind) * occupancy - SAME, "{row:?}");
            }
        }
        for (kind, count) in case.counts.iter().enumerate() {
            let used: f64 = found.shares.iter().zip(&case.tasks).map(|(row, tasks)| row[kind] * f64::from(*tasks)).sum();
            prop_assert!(used <= f64::from(*count) + SAME, "{used} of {count}");
        }
        prop_assert!(found.performance.iter().all(|one| *one >= case.min_fairness - SAME), "{found:?}");
        let (ours, theirs) = (case.throughput(&found.performance), case.oracle());
        prop_assert!((ours - theirs).abs() < SAME, "{ours} and {theirs}: {found:?}");
    }

    #[test]
    fn two_kinds_are_what_the_rule_in_closed_form_says(
        fast in 1_u32..5, slow in 1_u32..5, more in 0_usize..6, speedups in prop::collection::vec(1.0_f64..4.0, 20), min_fairness in 0.0_f64..=1.0
    ) {
        // With fewer applications than cores, sharing alike means something else there: no application uses a slow core while a fast one is idle.
        let speedups = &speedups[..(fast + slow) as usize + more];
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
}

#[test]
fn every_application_needs_a_task() {
    let machine = || CoreTypes::new(vec![1, 1], vec![vec![2.0, 1.0]]).unwrap();
    for tasks in [vec![], vec![0], vec![1, 1]] {
        assert!(matches!(machine().with_tasks(tasks), Err(FairnessError::Length { .. })));
    }
}
