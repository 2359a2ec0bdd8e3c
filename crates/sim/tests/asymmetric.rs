//! The policies for asymmetric cores hand out the shares that the mathematics asks for.

use crate::schedules::fast_and_slow;
use swtch_fairness::{Allocator, Cores, Policy as Rule};
use swtch_sim::costs::Costs;
use swtch_sim::machine::Machine;
use swtch_sim::policies::{Asymmetric, AsymmetricOptions};
use swtch_sim::program::{Op, Program};
use swtch_sim::sink::Nothing;
use swtch_sim::workload::{Application, TaskSpec, Workload};
use swtch_sim::{Engine, Options};

const SECOND: u64 = 1_000_000_000;

fn machine(fast: u32, slow: u32) -> Machine {
    fast_and_slow(fast, slow, 256)
}

fn mix(speedups: &[f64]) -> Workload {
    let speeds = |speedup: &f64| vec![(256.0 * speedup) as u32, 256];
    let count = speedups.len() as u32;
    Workload {
        programs: vec![Program { ops: vec![Op::Compute { work_ns: 1 << 50 }] }],
        applications: speedups
            .iter()
            .map(|speedup| Application { name: format!("{speedup}"), speeds: speeds(speedup) })
            .collect(),
        tasks: (0..count)
            .map(|n| TaskSpec {
                name: format!("a{n}"),
                process: n,
                application: Some(n),
                ..TaskSpec::default()
            })
            .collect(),
        duration_ns: Some(40 * SECOND),
        ..Workload::default()
    }
}

/// The part of its time that each task spent on fast cores, and the part of the span that it ran at all.
fn shares(
    rule: Rule,
    options: AsymmetricOptions,
    cores: (u32, u32),
    speedups: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let engine = Engine::new(
        machine(cores.0, cores.1),
        Costs::free(),
        mix(speedups),
        Asymmetric::new(rule, options),
        Nothing,
        Options::default(),
    );
    let outcome = engine.unwrap().run().unwrap();
    let by_type =
        outcome.stats.tasks.iter().map(|task| (task.run_by_type_ns[0] as f64, task.run_by_type_ns[1] as f64));
    by_type.map(|(fast, slow)| (fast / (fast + slow), (fast + slow) / outcome.makespan_ns as f64)).unzip()
}

fn known() -> AsymmetricOptions {
    AsymmetricOptions { sampled: false, ..AsymmetricOptions::default() }
}

#[test]
fn every_rule_hands_out_its_shares() {
    let speedups = [3.5, 3.0, 2.5, 2.25, 2.0, 1.5];
    for name in swtch_fairness::POLICIES.map(|row| row.name) {
        let rule = Rule::from_name(name).unwrap();
        let mut ideal = vec![0.0; speedups.len()];
        Allocator::new().allocate(Cores::new(2, 4).unwrap(), &speedups, &rule, &mut ideal).unwrap();
        let (fast, ran) = shares(rule, known(), (2, 4), &speedups);
        for ((fast, ideal), ran) in fast.iter().zip(&ideal).zip(&ran) {
            assert!((fast - ideal).abs() < 0.02, "{name}: {fast} for {ideal}");
            assert!(*ran > 0.99, "{name}: an application ran {ran} of the time");
        }
    }
}

#[test]
fn with_more_applications_than_cores_all_run_alike() {
    let speedups = [3.5, 3.0, 2.5, 2.0, 1.5];
    let (fast, ran) = shares(Rule::MaxFair, known(), (1, 2), &speedups);
    for (fast, ran) in fast.iter().zip(&ran) {
        assert!((fast - 1.0 / 3.0).abs() < 0.03, "{fast}");
        assert!((ran - 0.6).abs() < 0.02, "{ran}");
    }
}

#[test]
fn sampled_speeds_come_near_the_known_ones() {
    let speedups = [3.5, 3.0, 2.5, 2.25, 2.0, 1.5];
    let rule = Rule::from_name("min-fair").unwrap();
    let (known, _) = shares(rule, known(), (2, 4), &speedups);
    let (sampled, _) = shares(rule, AsymmetricOptions::default(), (2, 4), &speedups);
    for (sampled, known) in sampled.iter().zip(&known) {
        // At least 4 % on either kind of core, and estimates that are off.
        assert!((sampled - known).abs() < 0.08, "{sampled} for {known}");
        assert!(*sampled > 0.035, "{sampled}");
    }
}
