use super::*;
use crate::condition::{Condition, Work};
use crate::traversal::Pattern;
use swtch_profile::vocabulary::{Class, Method, Tasks};
use swtch_stats::Rng;
use swtch_topology::Placement;

fn condition(method: Method) -> Condition {
    Condition {
        work: Work::Switch { method, tasks: Tasks::Process, count: 2, pattern: Pattern::NONE },
        placement: Placement::SameCpu,
        cpus: vec![0],
        class: Class::Normal,
    }
}

/// A batch of a machine whose switch costs 1000 ns next to 200 ns of system calls, twice a round trip.
fn batch() -> Batch {
    Batch {
        rounds: 100,
        round_ns: 2400.0,
        baseline_ns: 200.0,
        baseline_per_round: 2.0,
        voluntary_per_round: 2.0,
        off_cpu_share: Some(0.0),
        spin_ns: 1000.0,
        ..Batch::default()
    }
}

fn collected(launches: Vec<Vec<Batch>>) -> Collected {
    Collected { condition: condition(Method::Pipe), launches, ended: Ended::Precision }
}

#[test]
fn the_baseline_is_subtracted_and_the_rest_divided_by_the_counted_switches() {
    let collected = collected(vec![vec![batch(); 10]; 3]);
    let kept = collected.keep(1000.0, true);
    let net = kept.net();
    assert_eq!((net.median, net.undisturbed, net.mean), (1000.0, 1000.0, 1000.0));
    assert_eq!((net.batches, net.rejected, net.launches), (30, 0, 3));
    assert_eq!(kept.gross().median, 2400.0);
    assert_eq!(kept.baseline_per_switch_ns(), 200.0);
    assert_eq!(kept.switches_per_round(), Some(2.0));
}

/// A method that makes twice the switches it claims costs half as much for each.
#[test]
fn more_switches_than_expected_are_divided_out_and_flagged() {
    let busy = Batch { voluntary_per_round: 3.0, involuntary_per_round: 1.0, ..batch() };
    let collected = collected(vec![vec![busy; 10]; 3]);
    let kept = collected.keep(1000.0, true);
    assert_eq!(kept.net().median, 500.0);
    assert!(kept.net().flags.contains(&Flag::UnexpectedSwitchCount));
    assert_eq!(kept.involuntary_share(), Some(0.25));
}

/// The trap of a semaphore hand-off: both tasks proceed between ticks, no switch happens, and the figure looks fast.
#[test]
fn a_method_that_does_not_switch_is_recognised() {
    let idle = Batch { voluntary_per_round: 0.0005, ..batch() };
    assert!(collected(vec![vec![idle; 10]; 3]).keep(1000.0, true).made_no_switches());
    assert!(!collected(vec![vec![batch(); 10]; 3]).keep(1000.0, true).made_no_switches());
}

#[test]
fn where_the_kernel_does_not_count_the_figure_says_so_instead_of_zero() {
    let silent = Batch { voluntary_per_round: 0.0, ..batch() };
    let collected = collected(vec![vec![silent; 10]; 3]);
    let kept = collected.keep(1000.0, false);
    assert_eq!((kept.switches_per_round(), kept.involuntary_share()), (None, None));
    assert_eq!(kept.net().median, 1000.0);
    assert!(!kept.made_no_switches());
}

#[test]
fn a_negative_cost_is_flagged_and_not_clamped() {
    let odd = Batch { baseline_ns: 1300.0, ..batch() };
    let net = collected(vec![vec![odd; 10]; 3]).keep(1000.0, true).net();
    assert_eq!(net.median, -100.0);
    assert!(net.flags.contains(&Flag::Negative));
}

/// Under a quota the median of short batches hides throttling: the mean of all batches must not.
#[test]
fn the_mean_keeps_what_the_median_leaves_out() {
    let throttled = Batch { round_ns: 200_000.0, off_cpu_share: Some(0.99), ..batch() };
    let mut launch = vec![batch(); 18];
    launch.extend([throttled.clone(), throttled]);
    let net = collected(vec![launch; 2]).keep(1000.0, true).net();
    assert_eq!((net.median, net.rejected), (1000.0, 4));
    assert!(net.mean > 9.0 * net.median, "{}", net.mean);
}

#[test]
fn a_host_that_spoils_most_batches_is_called_noisy_and_nothing_is_left_out() {
    let spoiled = Batch { off_cpu_share: Some(0.5), round_ns: 4800.0, ..batch() };
    let mut launch = vec![batch(); 3];
    launch.extend(vec![spoiled; 17]);
    let net = collected(vec![launch]).keep(1000.0, true).net();
    assert_eq!((net.batches, net.rejected), (20, 0));
    assert!(net.flags.contains(&Flag::NoisyHost));
}

/// One-sided noise that hits both arms: a low quantile of differences is biased low, a difference of low quantiles is not.
#[test]
fn the_low_figure_is_a_difference_of_quantiles() {
    let mut rng = Rng::new(7);
    let noisy = |rng: &mut Rng| Batch {
        round_ns: 2400.0 * (1.0 + rng.unit_f64().powi(4)),
        baseline_ns: 200.0 * (1.0 + 4.0 * rng.unit_f64().powi(4)),
        ..batch()
    };
    let launches = (0..10).map(|_| (0..60).map(|_| noisy(&mut rng)).collect()).collect();
    let collected = collected(launches);
    let net = collected.keep(1000.0, true).net();
    assert!((net.undisturbed - 1000.0).abs() < 5.0, "{}", net.undisturbed);
    let differences: Vec<f64> = collected.launches.iter().flatten().map(|batch| batch.net_ns(2.0)).collect();
    let biased = swtch_stats::quantile_sorted(&swtch_stats::sorted(&differences), LOW_QUANTILE);
    assert!(biased < net.undisturbed - 20.0, "{biased} against {}", net.undisturbed);
}

#[test]
fn neighbours_that_resemble_each_other_widen_the_interval() {
    let sorted: Vec<f64> = (0..200).map(f64::from).collect();
    assert_eq!(interval_of_median(&sorted, Some(0.0)), (85.0, 114.0), "ranks 86 and 115 of 200");
    let (low, high) = interval_of_median(&sorted, Some(0.6));
    assert!(high - low > 1.8 * (114.0 - 85.0), "{low} to {high}");
    assert_eq!(interval_of_median(&sorted[..4], None), (0.0, 3.0));
}

#[test]
fn the_stopping_rule_waits_for_a_narrow_interval() {
    let spread = |width: f64| {
        let batches = (0..60)
            .map(|index| Batch { round_ns: 2400.0 + width * f64::from((index * 37) % 60), ..batch() })
            .collect();
        collected(vec![batches]).keep(1000.0, true).net()
    };
    assert!(precise_enough(&spread(0.1), 0.01));
    assert!(!precise_enough(&spread(50.0), 0.01));
}

/// One batch that counted no switch made the mean infinite, and an infinite number is none in JSON.
#[test]
fn a_batch_in_which_nothing_switched_does_not_enter_the_mean() {
    let still = Batch { voluntary_per_round: 0.0, ..batch() };
    let collected = collected(vec![vec![batch(); 10], vec![batch(), batch(), still]]);
    let net = collected.keep(1000.0, true).net();
    assert_eq!((net.mean, net.batches, net.launches), (1000.0, 12, 2));
}
