//! The policies for asymmetric cores hand out the shares that the mathematics asks for.

use crate::schedules::fast_and_slow;
use swtch_fairness::{Allocator, CoreTypes, Cores, Ddof, Demand, Policy as Rule, Solution};
use swtch_sim::costs::Costs;
use swtch_sim::machine::{CoreType, Machine, MachineCpu};
use swtch_sim::policies::{Asymmetric, AsymmetricOptions, weight_of};
use swtch_sim::program::{Op, Program};
use swtch_sim::sink::Nothing;
use swtch_sim::workload::{Application, TaskSpec, Workload};
use swtch_sim::{Engine, Options};
use swtch_units::CpuId;

const SECOND: u64 = 1_000_000_000;
/// How long runs last.
const SPAN_NS: u64 = 40 * SECOND;

/// A machine with this many cores of every kind, from the fastest to the slowest.
fn machine(counts: &[u32]) -> Machine {
    if let [fast, slow] = *counts {
        return fast_and_slow(fast, slow, 256);
    }
    let kind = |index: usize| CoreType { name: format!("kind {index}"), speed: 1024 >> index };
    let kinds =
        counts.iter().enumerate().flat_map(|(kind, count)| std::iter::repeat_n(kind, *count as usize));
    let cpu = |(id, kind): (u32, usize)| MachineCpu {
        id: CpuId::new(id),
        core_type: kind as u32,
        core: id,
        l2: id,
        l3: 0,
        node: 0,
    };
    let cpus = (0..).zip(kinds).map(cpu).collect();
    Machine::new("test", (0..counts.len()).map(kind).collect(), cpus, Vec::new()).unwrap()
}

/// An application: its speeds on every kind over the slowest, its tasks, their nice value, when they start, and what they do before they end.
#[derive(Clone, Debug)]
struct App {
    speedups: Vec<f64>,
    tasks: u32,
    nice: i8,
    start_ns: u64,
    work_ns: u64,
}

impl App {
    fn of(speedups: &[f64]) -> Self {
        Self { speedups: speedups.to_vec(), tasks: 1, nice: 0, start_ns: 0, work_ns: 1 << 50 }
    }

    /// What it is to the rules.
    fn demand(&self) -> Demand {
        let weight = f64::from(weight_of(self.nice)) / 1024.0 * f64::from(self.tasks);
        Demand { weight, threads: self.tasks }
    }
}

fn mix(apps: &[App]) -> Workload {
    let speeds = |app: &App| app.speedups.iter().map(|speedup| (256.0 * speedup) as u32).collect();
    let task = |(place, app): (usize, &App)| {
        let spec = TaskSpec {
            name: format!("a{place}"),
            program: place as u32,
            process: place as u32,
            application: Some(place as u32),
            nice: app.nice,
            start_ns: app.start_ns,
            background: true,
            ..TaskSpec::default()
        };
        std::iter::repeat_n(spec, app.tasks as usize)
    };
    Workload {
        programs: apps
            .iter()
            .map(|app| Program { ops: vec![Op::Compute { work_ns: app.work_ns }] })
            .collect(),
        applications: apps
            .iter()
            .map(|app| Application { name: format!("{:?}", app.speedups), speeds: speeds(app) })
            .collect(),
        tasks: apps.iter().enumerate().flat_map(task).collect(),
        duration_ns: Some(SPAN_NS),
        ..Workload::default()
    }
}

/// Time of each application's tasks on every kind of core, s.
fn times(policy: Asymmetric, counts: &[u32], apps: &[App]) -> Vec<Vec<f64>> {
    let mut workload = mix(apps);
    // Something has to be waited for.
    workload.tasks[0].background = false;
    let engine = Engine::new(machine(counts), Costs::free(), workload, policy, Nothing, Options::default());
    let outcome = engine.unwrap().run().unwrap();
    let mut stats = outcome.stats.tasks.iter();
    let own = |app: &App| {
        let mut sum = vec![0.0; counts.len()];
        for task in stats.by_ref().take(app.tasks as usize) {
            for (sum, ns) in sum.iter_mut().zip(&task.run_by_type_ns) {
                *sum += *ns as f64 / SECOND as f64;
            }
        }
        sum
    };
    apps.iter().map(own).collect()
}

/// The part of its time that each application spent on fast cores, and the part of the span that each ran at all.
fn shares(
    rule: Rule,
    options: AsymmetricOptions,
    cores: (u32, u32),
    speedups: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let apps: Vec<App> = speedups.iter().map(|speedup| App::of(&[*speedup, 1.0])).collect();
    let by_kind = times(Asymmetric::new(rule, options), &[cores.0, cores.1], &apps);
    let span = SPAN_NS as f64 / SECOND as f64;
    by_kind.iter().map(|row| (row[0] / (row[0] + row[1]), (row[0] + row[1]) / span)).unzip()
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

/// On four cores of three kinds, as the linear program says (worked example 6).
#[test]
fn three_kinds_are_shared_as_the_linear_program_says() {
    let (counts, speeds) = (
        vec![1, 1, 2],
        vec![vec![3.0, 2.0, 1.0], vec![2.8, 2.2, 1.0], vec![2.4, 1.8, 1.0], vec![1.6, 1.4, 1.0]],
    );
    let apps: Vec<App> = speeds.iter().map(|speeds| App::of(speeds)).collect();
    for name in ["max-fair", "max-perf", "min-fair", "uni-fair", "r-fair"] {
        let rule = Rule::from_name(name).unwrap();
        let ideal = CoreTypes::new(counts.clone(), speeds.clone()).unwrap().allocate(&rule).unwrap();
        for (row, ideal) in times(Asymmetric::new(rule, known()), &counts, &apps).iter().zip(&ideal.shares) {
            for (time, ideal) in row.iter().zip(ideal) {
                let share = time * SECOND as f64 / SPAN_NS as f64;
                assert!((share - ideal).abs() < 0.03, "{name}: {row:?} for {ideal}");
            }
        }
    }
    // A rule for two kinds takes all but the fastest for slow.
    let rule = Rule::from_name("equal-slowdown").unwrap();
    let (fast, _): (Vec<f64>, Vec<f64>) =
        times(Asymmetric::new(rule, known()), &counts, &apps).iter().map(|row| (row[0], row[1])).unzip();
    let speedups: Vec<f64> = speeds.iter().map(|speeds| speeds[0]).collect();
    let ideal = Solution::of(Cores::new(1, 3).unwrap(), &speedups, &rule, Ddof::One, 0).unwrap();
    for (fast, ideal) in fast.iter().zip(&ideal.shares) {
        assert!((fast * SECOND as f64 / SPAN_NS as f64 - ideal).abs() < 0.03, "{fast} for {ideal}");
    }
}

#[test]
fn sampled_speeds_on_three_kinds_keep_the_guarantee() {
    let speeds = [[3.0, 2.0, 1.0], [2.8, 2.2, 1.0], [2.4, 1.8, 1.0], [1.6, 1.4, 1.0]];
    let apps: Vec<App> = speeds.iter().map(|speeds| App::of(speeds)).collect();
    let policy = Asymmetric::new(Rule::from_name("min-fair").unwrap(), AsymmetricOptions::default());
    let found = times(policy, &[1, 1, 2], &apps);
    for (row, speeds) in found.iter().zip(speeds) {
        let span = row.iter().sum::<f64>();
        let work: f64 = row.iter().zip(speeds).map(|(time, speed)| time * speed).sum();
        let fair: f64 = speeds.iter().zip([0.25, 0.25, 0.5]).map(|(speed, share)| speed * share * span).sum();
        // Estimates are off by a few percent.
        assert!(work / fair > 0.82, "{row:?}");
        assert!(row.iter().all(|time| *time > 0.03 * span), "{row:?}");
    }
}

/// The part of the span that an application's tasks spent on fast cores and on all.
fn achieved(rule: Rule, counts: (u32, u32), apps: &[App]) -> Vec<(f64, f64)> {
    let found = times(Asymmetric::new(rule, known()), &[counts.0, counts.1], apps);
    let part = |row: &Vec<f64>| [row[0], row[0] + row[1]].map(|time| time * SECOND as f64 / SPAN_NS as f64);
    found.iter().map(part).map(|[fast, all]| (fast, all)).collect()
}

#[test]
fn weights_and_threads_get_what_they_are_entitled_to() {
    let app = |speedup: f64, tasks: u32, nice: i8| App { tasks, nice, ..App::of(&[speedup, 1.0]) };
    // As many tasks as cores: weights count for fast time. More: for all time too.
    let few = vec![app(3.5, 3, 0), app(2.5, 1, -5), app(2.0, 1, 0), app(1.5, 1, 5)];
    let many = vec![app(3.5, 3, 0), app(2.5, 2, -2), app(2.0, 4, 0), app(1.5, 3, 2)];
    for apps in [few, many] {
        let demands: Vec<Demand> = apps.iter().map(App::demand).collect();
        let speedups: Vec<f64> = apps.iter().map(|app| app.speedups[0]).collect();
        for name in ["max-fair", "min-fair", "max-perf", "similar-min-fair"] {
            let (rule, cores) = (Rule::from_name(name).unwrap(), Cores::new(2, 4).unwrap());
            let ideal = Solution::by_weight(cores, &speedups, &demands, &rule, Ddof::One, 0).unwrap();
            let found = achieved(rule, (2, 4), &apps);
            for (((fast, all), own), share) in found.iter().zip(&ideal.entitled).zip(&ideal.shares) {
                assert!((all - own.cpus).abs() < 0.04 * own.cpus, "{name}: {found:?} for {ideal:?}");
                assert!((fast - share * own.cpus).abs() < 0.06 * own.cpus, "{name}: {found:?} for {ideal:?}");
            }
        }
    }
}

/// One application comes after half of the time, another ends after a quarter: before and after, all have the shares of those that are there.
#[test]
fn shares_are_those_of_the_applications_that_are_there() {
    let rule = Rule::from_name("min-fair").unwrap();
    let cores = Cores::new(2, 4).unwrap();
    let stay = [3.0, 2.5, 2.0, 1.5];
    let mut apps: Vec<App> = stay.iter().map(|speedup| App::of(&[*speedup, 1.0])).collect();
    apps.push(App { start_ns: SPAN_NS / 2, ..App::of(&[3.5, 1.0]) });
    // A quarter of the span at the speed that its share gives, of a core whose speed is 1024.
    let at = |speedups: &[f64]| Solution::of(cores, speedups, &rule, Ddof::One, 0).unwrap().shares;
    let first = at(&[3.0, 2.5, 2.0, 1.5, 1.2]);
    let speed = 0.25 * (1.0 + 0.2 * first[4]);
    apps.push(App { work_ns: (0.25 * SPAN_NS as f64 * speed) as u64, ..App::of(&[1.2, 1.0]) });
    let (second, third) = (at(&stay), at(&[3.0, 2.5, 2.0, 1.5, 3.5]));
    let found = achieved(rule, (2, 4), &apps);
    for place in 0..stay.len() {
        let ideal = 0.25 * first[place] + 0.25 * second[place] + 0.5 * third[place];
        assert!((found[place].0 - ideal).abs() < 0.03, "{found:?}: {ideal} of {place}");
    }
    assert!((found[4].0 - 0.5 * third[4]).abs() < 0.03 && (found[4].1 - 0.5).abs() < 0.01, "{found:?}");
    assert!((found[5].1 - 0.25).abs() < 0.01, "{found:?}");
}

/// Applications that come and are gone before their speeds are known do not hold up the policy of the others.
#[test]
fn brief_applications_leave_the_others_to_the_policy() {
    let mut apps: Vec<App> =
        [3.5, 3.0, 2.5, 2.0, 1.5].iter().map(|speedup| App::of(&[*speedup, 1.0])).collect();
    // One every second, for 0.8 s: its speed is a quarter of what work is measured by.
    for second in 0..SPAN_NS / SECOND {
        apps.push(App { start_ns: second * SECOND, work_ns: SECOND / 5, ..App::of(&[1.0, 1.0]) });
    }
    let work = |waits: bool| -> f64 {
        let options = AsymmetricOptions { waits, ..AsymmetricOptions::default() };
        let policy = Asymmetric::new(Rule::from_name("max-perf").unwrap(), options);
        let found = times(policy, &[2, 4], &apps);
        found.iter().zip(&apps).take(5).map(|(row, app)| row[0] * app.speedups[0] + row[1]).sum()
    };
    let (waiting, going_on) = (work(true), work(false));
    assert!(going_on > 1.03 * waiting, "{going_on} and {waiting}");
}
