use super::*;
use crate::runs::PlannedCommand;
use swtch_record::CommandEnd;
use swtch_stats::Rng;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::{Header, Provenance, Scope};

/// A run with this time and number of switches.
fn run(command: usize, seconds: f64, switches: u64) -> CommandRun {
    let header = Header::new(Provenance::default(), swtch_topology::Host::default(), Scope::Machine);
    let tables = Tables::default();
    let bill = swtch_cost::bill(swtch_cost::Inputs { trace: tables.view(&header), model: None, price: None });
    let end = CommandEnd {
        status: 0,
        elapsed_ns: (seconds * 1e9) as u64,
        cpu_ns: (seconds * 0.9e9) as u64,
        voluntary: switches,
        involuntary: 0,
    };
    CommandRun { command, round: 0, end, header, tables, bill }
}

fn plan_of(commands: usize) -> RunPlan {
    let named =
        |index: usize| PlannedCommand { name: format!("command {index}"), ..PlannedCommand::default() };
    RunPlan { commands: (0..commands).map(named).collect(), ..RunPlan::default() }
}

fn compared(runs: Vec<CommandRun>) -> CommandComparison {
    let commands = runs.iter().map(|run| run.command).max().unwrap() + 1;
    compare(&plan_of(commands), &[], &Runs { runs, why: "no BPF".to_owned(), stopped: None }).unwrap()
}

/// Ten runs of each command whose time and switches vary by some 5 %, times a factor.
fn noisy(factors: &[f64], seed: u64) -> CommandComparison {
    let mut rng = Rng::new(seed);
    let mut noise = || (0..4).map(|_| rng.unit_f64() - 0.5).sum::<f64>() * 0.1;
    let mut runs = Vec::new();
    for _ in 0..10 {
        for (index, factor) in factors.iter().enumerate() {
            let (time, count) = (1.0 + noise(), 1.0 + noise());
            runs.push(run(index, time * factor, (10_000.0 * count * factor) as u64));
        }
    }
    compared(runs)
}

#[test]
fn commands_that_do_the_same_are_not_told_apart() {
    // Three commands, so that the correction for many has something to do.
    let wrong = (0..200).filter(|seed| {
        let found = noisy(&[1.0, 1.0, 1.0], *seed);
        !matches!(found.verdict, Some(Verdict::Same | Verdict::Unclear))
    });
    assert!(wrong.count() <= 10, "more than 5 %");
}

#[test]
fn a_known_difference_is_found() {
    let found = (0..50).filter(|seed| noisy(&[1.0, 1.1], *seed).verdict == Some(Verdict::Worse)).count();
    assert!(found >= 40, "{found} of 50");
    let both = noisy(&[1.0, 0.8, 1.25], 7);
    let verdicts: Vec<_> = both.runs.iter().map(|run| run.verdict).collect();
    assert_eq!(verdicts, [None, Some(Verdict::Better), Some(Verdict::Worse)]);
    assert!(both.runs[1].runs_needed.is_none());
    let switches = both.runs[1].changes.iter().find(|change| change.metric == "switches").unwrap();
    assert!(switches.ci_low.unwrap() < 0.8 && 0.8 < switches.ci_high.unwrap(), "{switches:?}");
}

#[test]
fn what_is_unclear_says_how_many_runs_would_decide() {
    let unclear =
        (0..1000).map(|seed| noisy(&[1.0, 1.0], seed)).find(|found| found.verdict == Some(Verdict::Unclear));
    let needed = unclear.unwrap().runs[1].runs_needed.unwrap();
    assert!((11..1000).contains(&needed), "{needed}");
    let few = compared(vec![run(0, 1.0, 10), run(1, 1.0, 10)]);
    assert_eq!((few.verdict, few.runs[1].runs_needed), (Some(Verdict::Unclear), None));
}

#[test]
fn one_command_has_figures_and_no_verdict() {
    let alone = compared((1..=7).map(|index| run(0, f64::from(index), 100)).collect());
    assert_eq!((alone.verdict, alone.runs[0].count), (None, 7));
    let seconds = &alone.runs[0].seconds;
    assert_eq!((seconds.median, seconds.ends()), (4.0, [1.0, 7.0]));
    assert_eq!(seconds.values.len(), 7);
    assert_eq!(alone.runs[0].wait_seconds, None, "samples of /proc miss tasks");
    assert!(
        alone.unavailable.iter().any(|row| row.field.as_str() == "waits" && row.reason.contains("no BPF"))
    );
}

#[test]
fn a_command_without_a_run_is_not_compared() {
    let found = Runs { runs: vec![run(0, 1.0, 1)], why: String::new(), stopped: Some(Stopped::Interrupted) };
    assert_eq!(compare(&plan_of(2), &[], &found), None);
}
