use super::*;
use swtch_units::Silent;

fn plan_of(lines: &[&str]) -> RunPlan {
    let planned = |line: &&str| PlannedCommand {
        name: (*line).to_owned(),
        words: shell(line),
        ..PlannedCommand::default()
    };
    RunPlan { commands: lines.iter().map(planned).collect(), runs: 1, ..RunPlan::default() }
}

/// Keeps the names in the order in which they ran, and stops the run after the given number of them.
#[derive(Default)]
struct Watching {
    ran: Vec<String>,
    stop_in: Option<usize>,
    stop_at: Option<Instant>,
}

impl Observer<RunProgress> for Watching {
    fn event(&mut self, event: &RunProgress) {
        self.ran.push(event.command.clone());
        if self.stop_in == Some(event.done) {
            self.stop_at = Some(Instant::now() + Duration::from_millis(100));
        }
    }

    fn stop(&mut self) -> bool {
        self.stop_at.is_some_and(|at| Instant::now() >= at)
    }
}

#[test]
fn each_round_has_every_command_in_a_random_order() {
    let plan = RunPlan { runs: 6, warmup: 1, seed: 5, ..plan_of(&["true", "exit 0", ":"]) };
    let mut watching = Watching::default();
    let found = run_all(&plan, &mut watching).unwrap();
    assert_eq!((found.runs.len(), found.stopped), (18, None));
    let rounds: Vec<&[String]> = watching.ran[..21].chunks(3).collect();
    for round in &rounds {
        let mut sorted = round.to_vec();
        sorted.sort();
        assert_eq!(sorted, [":", "exit 0", "true"]);
    }
    for pair in rounds[1..].chunks(2) {
        let reversed: Vec<&String> = pair[1].iter().rev().collect();
        assert_eq!(pair[0].iter().collect::<Vec<_>>(), reversed);
    }
    assert!(rounds.iter().step_by(2).any(|round| round != &rounds[0]), "always the same order");
    assert_eq!(found.runs.iter().map(|run| run.round).max(), Some(5));
}

#[test]
fn what_a_run_did_is_counted() {
    let plan = plan_of(&["sleep 0.01; sleep 0.01; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"]);
    let run = run_all(&plan, &mut Silent).unwrap().runs.remove(0);
    assert!(run.seconds() >= 0.02 && run.seconds() < run.header.duration_ns as f64 / 1e9);
    // The kernel's sums of all tasks, against what it counted for the process that was waited for.
    let cpu_seconds = run.end.cpu_ns as f64 / 1e9;
    assert!((run.cpu_seconds() - cpu_seconds).abs() <= 0.2 * cpu_seconds + 0.002, "{run:?}");
    assert!(run.voluntary() >= 4 && run.voluntary().abs_diff(run.end.voluntary) <= 3, "{run:?}");
    assert!(run.involuntary().abs_diff(run.end.involuntary) <= 3, "{run:?}");
}

#[test]
fn a_failure_has_its_status_and_last_lines() {
    let plan = plan_of(&["echo no such table >&2; exit 3"]);
    let error = run_all(&plan, &mut Silent).unwrap_err().to_string();
    assert!(error.contains("ended with status 3 (no such table); --ignore-failure"), "{error}");
    let found = run_all(&RunPlan { ignore_failure: true, ..plan }, &mut Silent).unwrap();
    assert_eq!(found.runs[0].end.status, 3);
    let mut missing = plan_of(&["true"]);
    missing.commands[0].words = vec!["/no/such/program".into()];
    let error = run_all(&missing, &mut Silent).unwrap_err().to_string();
    assert!(error.contains("cannot start '/no/such/program'"), "{error}");
}

#[test]
fn something_may_precede_each_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines").display().to_string();
    let mut plan = RunPlan { runs: 2, warmup: 1, ..plan_of(&["true"]) };
    plan.commands[0].prepare = Some(format!("echo x >> {file}"));
    run_all(&plan, &mut Silent).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\nx\nx\n");
    plan.commands[0].prepare = Some("echo full >&2; exit 4".to_owned());
    let error = run_all(&plan, &mut Silent).unwrap_err().to_string();
    assert!(error.contains("--prepare") && error.contains("status 4 (full)"), "{error}");
}

#[test]
fn a_command_that_never_ends_is_ended() {
    let endless = RunPlan { timeout: Some(Duration::from_millis(50)), ..plan_of(&["sleep 1000"]) };
    let error = run_all(&endless, &mut Silent).unwrap_err();
    assert!(matches!(error, RunsError::TimedOut { .. }), "{error}");
    // Of two rounds, the second is cut short: what is complete is kept.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ran").display().to_string();
    let twice = format!("[ ! -e {file} ] || sleep 1000; echo > {file}");
    let plan = RunPlan { runs: 2, ..plan_of(&[twice.as_str()]) };
    let mut watching = Watching { stop_in: Some(1), ..Watching::default() };
    let found = run_all(&plan, &mut watching).unwrap();
    assert_eq!((found.runs.len(), found.stopped), (1, Some(Stopped::Interrupted)));
    let plan = RunPlan { time_limit: Some(Duration::ZERO), ..plan };
    let found = run_all(&plan, &mut Silent).unwrap();
    assert_eq!((found.runs.len(), found.stopped), (0, Some(Stopped::TimeLimit)));
}
