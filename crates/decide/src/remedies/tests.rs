use super::*;
use crate::runs::{PlannedCommand, shell};
use std::ffi::OsStr;
use std::path::Path;
use swtch_cost::Bill;
use swtch_sched::SearchPath;
use swtch_trace::Trace;
use swtch_units::Silent;

fn command(line: &str) -> PlannedCommand {
    PlannedCommand { name: line.to_owned(), words: shell(line), ..PlannedCommand::default() }
}

fn trial(lines: &[&str], most: usize) -> TrialPlan {
    let commands = lines.iter().map(|line| command(line)).collect();
    let wanted = Wanted { threads_variable: "OMP_NUM_THREADS".to_owned(), fifo: false, most };
    TrialPlan {
        plan: RunPlan { commands, runs: 4, seed: 3, ..RunPlan::default() },
        goal: Goal::Time,
        wanted,
        profile: None,
        schedulers: Some(Schedulers {
            names: vec!["flsched".to_owned()],
            program: "/no/swtch".into(),
            search_path: SearchPath::new(Path::new("/no/swtch"), OsStr::new("")),
        }),
    }
}

#[test]
fn the_setting_that_is_better_is_kept() {
    // No setting of the scheduler shortens a sleep. Chance says so in one trial of twenty.
    let tried = || try_settings(&trial(&["sleep 0.2", "sleep 0.01"], 2), &mut Silent).unwrap().unwrap();
    let honest =
        |found: &TriedSettings| found.candidates.last().is_some_and(|last| last.verdict != Verdict::Better);
    let found =
        (0..3).map(|_| tried()).find(honest).expect("another setting is better than a sleep, three times");
    assert_eq!((found.command.as_str(), found.keep.as_str()), ("sleep 0.2", "sleep 0.01"));
    let [named, other] = found.candidates.as_slice() else { panic!("{found:?}") };
    assert_eq!((named.verdict, named.predicted_ratio), (Verdict::Better, None));
    assert!(named.ci_high.unwrap() < 0.9 && named.measured_ratio.unwrap() < 0.6, "{named:?}");
    assert!(other.command.ends_with("sh -c 'sleep 0.2'"), "{other:?}");
    let why = |what: &str| found.not_tried.iter().any(|one| one.what.contains(what));
    assert!(why("real-time") && why("sched_ext"), "{:?}", found.not_tried);
    assert_eq!(found.comparison.runs.len(), 3);
}

#[test]
fn a_wrong_prediction_is_known() {
    let with = |ratio: f64| {
        let change = Change::between(
            "elapsed".parse().unwrap(),
            &[1.0, 1.01, 0.99],
            &[0.5, 0.505, 0.495],
            crate::verdict::RunOrder::Mixed,
        );
        let candidate = Candidate {
            what: String::new(),
            command: String::new(),
            because: None,
            setting: candidates::Setting::Batch,
            group: None,
            run: command("true"),
        };
        tried(candidate, Predicted { ratio: Some(ratio), by: String::new() }, change.as_ref())
            .prediction_holds
    };
    assert_eq!(
        [with(0.5), with(0.53), with(0.9), with(0.2)],
        [Some(true), Some(true), Some(false), Some(false)]
    );
}

/// Of the recorded work with one setting.
fn predicted(name: &str, setting: &candidates::Setting, goal: Goal) -> Predicted {
    predicted_of(name, setting, goal, |_| ())
}

/// The same of another bill.
fn predicted_of(
    name: &str,
    setting: &candidates::Setting,
    goal: Goal,
    change: impl FnOnce(&mut Bill),
) -> Predicted {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces").join(name);
    let trace = Trace::open(&folder).unwrap();
    let mut bill = bill(Inputs { trace: trace.view(), model: None, price: None });
    change(&mut bill);
    Predictor::new(&folder, trace.view(), &bill, None).predict(setting, goal)
}

#[test]
fn what_cannot_be_predicted_has_its_reason_and_no_ratio() {
    let reason = |setting, goal| {
        let found = predicted("stacks.swtch", &setting, goal);
        assert_eq!(found.ratio, None, "{found:?}");
        found.by.strip_prefix("cannot predict: ").unwrap_or_else(|| panic!("{}", found.by)).to_owned()
    };
    assert!(reason(candidates::Setting::Batch, Goal::Time).contains("no class for batches"));
    assert!(reason(candidates::Setting::Named, Goal::Time).contains("what the value does"));
    let threads = candidates::Setting::Threads(1);
    let unpriced = predicted_of("stacks.swtch", &threads, Goal::CpuTime, |bill| bill.share = None);
    assert!(unpriced.ratio.is_none() && unpriced.by.contains("swtch measure"), "{unpriced:?}");
    let elsewhere = candidates::Setting::Cpus { cpus: vec![9], elsewhere: true };
    assert!(reason(elsewhere, Goal::Switches).contains("waits do not say"));
    // Its tasks wake each other 793 times, and work for 5 us in between.
    let one_cpu = candidates::Setting::Cpus { cpus: vec![0], elsewhere: false };
    assert!(reason(one_cpu, Goal::Time).contains("mostly hand over to each other (793 of 816 wake-ups"));
}

/// A ratio is that of two simulations. It is given only where the first is nearer to the recording than the two are to each other.
#[test]
fn a_simulation_that_misses_the_recording_predicts_nothing() {
    let (mut given, mut refused) = (0, 0);
    for name in ["stacks.swtch", "waits.swtch"] {
        for goal in [Goal::Time, Goal::CpuTime, Goal::Switches] {
            for setting in [
                candidates::Setting::Cpus { cpus: vec![0], elsewhere: false },
                candidates::Setting::Slice(20_000_000),
            ] {
                let found = predicted(name, &setting, goal);
                eprintln!("{name} {goal:?} {setting:?}: {found:?}");
                if let Some(ratio) = found.ratio {
                    assert!(ratio > 0.0 && found.by.contains("misses it by"), "{found:?}");
                    given += 1;
                } else {
                    assert!(found.by.starts_with("cannot predict: "), "{found:?}");
                    refused += 1;
                }
            }
        }
    }
    assert!(given > 0 && refused > 0, "{given} given, {refused} refused");
}

#[test]
fn without_a_trace_nothing_is_simulated() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/stacks.swtch");
    let trace = Trace::open(&folder).unwrap();
    let bill = bill(Inputs { trace: trace.view(), model: None, price: None });
    let missing = Predictor::new(std::path::Path::new("/no/trace"), trace.view(), &bill, None);
    let found = missing.predict(&candidates::Setting::Fifo, Goal::Time);
    assert!(found.ratio.is_none() && found.by.contains("/no/trace"), "{found:?}");
}

/// Two threads of one process that run all the time, and sleep `sleeps` times.
fn of_two_threads(sleeps: u64, setting: &candidates::Setting) -> Predicted {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/stacks.swtch");
    let mut trace = Trace::open(&folder).unwrap();
    for (place, task) in trace.tables.tasks.iter_mut().enumerate() {
        task.in_scope = place < 2;
        (task.pid, task.run_ns, task.voluntary, task.involuntary) = (7, 100_000_000, sleeps, 20);
    }
    let bill = bill(Inputs { trace: trace.view(), model: None, price: None });
    Predictor::new(&folder, trace.view(), &bill, None).predict(setting, Goal::Switches)
}

#[test]
fn nothing_is_predicted_of_threads_that_may_spin() {
    for setting in [
        candidates::Setting::Threads(1),
        candidates::Setting::Slice(20_000_000),
        candidates::Setting::Cpus { cpus: vec![0], elsewhere: false },
        candidates::Setting::Scheduler("flsched".to_owned()),
    ] {
        let found = of_two_threads(3, &setting);
        assert!(found.ratio.is_none() && found.by.contains("hardly ever sleep"), "{setting:?}: {found:?}");
        let found = of_two_threads(100, &setting);
        assert!(!found.by.contains("hardly ever sleep"), "{setting:?}: {found:?}");
    }
    let found = of_two_threads(100, &candidates::Setting::Threads(1));
    assert_eq!(found.ratio, Some(1.0 - 20.0 / 120.0), "the involuntary switches are saved");
}

/// The quota binds the command in a share of the periods, and there it has a part of the CPUs that it can use.
#[test]
fn a_quota_is_predicted_by_the_periods_in_which_it_stopped_the_command() {
    let of = |times, cpus, stopped| {
        let setting = candidates::Setting::Quota { times, cpus, stopped };
        let found = predicted("stacks.swtch", &setting, Goal::Time);
        (found.ratio.unwrap() * 1000.0).round() / 1000.0
    };
    // Far more than it can use, so nothing changes; then a quota that nearly stands still.
    assert_eq!(
        [of(None, 1000.0, 1.0), of(Some(2), 0.000_001, 1.0), of(None, 0.000_001, 1.0)],
        [1.0, 0.5, 0.0]
    );
    assert_eq!(
        [of(None, 0.000_001, 0.5), of(Some(2), 0.000_001, 0.5), of(Some(2), 0.1, 0.0)],
        [0.5, 0.75, 1.0]
    );
    let setting = candidates::Setting::Quota { times: None, cpus: 0.5, stopped: 1.0 };
    let found = predicted("stacks.swtch", &setting, Goal::CpuTime);
    assert!(found.ratio.is_none() && found.by.starts_with("cannot predict: "), "{found:?}");
}
