use super::*;
use crate::runs::{PlannedCommand, shell};
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
    }
}

#[test]
fn the_setting_that_is_better_is_kept() {
    let found = try_settings(&trial(&["sleep 0.2", "sleep 0.01"], 2), &mut Silent).unwrap().unwrap();
    assert_eq!((found.command.as_str(), found.keep.as_str()), ("sleep 0.2", "sleep 0.01"));
    let [named, other] = found.candidates.as_slice() else { panic!("{found:?}") };
    assert_eq!((named.verdict, named.predicted_ratio), (Verdict::Better, None));
    assert!(named.ci_high.unwrap() < 0.9 && named.measured_ratio.unwrap() < 0.6, "{named:?}");
    // No setting of the scheduler shortens a sleep.
    assert_ne!(other.verdict, Verdict::Better, "{other:?}");
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

#[test]
fn the_recorded_work_is_simulated_with_the_setting() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/stacks.swtch");
    let trace = Trace::open(&folder).unwrap();
    let bill = bill(Inputs { trace: trace.view(), model: None, price: None });
    let predictor = Predictor::new(&folder, trace.view(), &bill, None);
    let of = |setting| predictor.predict(&setting, Goal::Time);
    let one = of(candidates::Setting::Cpus { cpus: vec![0], elsewhere: false });
    let slice = of(candidates::Setting::Slice(20_000_000));
    for predicted in [&one, &slice] {
        assert!(predicted.ratio.is_some_and(|ratio| (0.05..20.0).contains(&ratio)), "{predicted:?}");
        assert!(predicted.by.contains("simulator"), "{predicted:?}");
    }
    assert_eq!(of(candidates::Setting::Batch).ratio, None);
    let missing = Predictor::new(std::path::Path::new("/no/trace"), trace.view(), &bill, None);
    assert_eq!(missing.predict(&candidates::Setting::Fifo, Goal::Time).ratio, None);
}
