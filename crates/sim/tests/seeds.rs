//! What a seed changes, and what it does not.

use std::collections::BTreeSet;
use std::path::Path;
use swtch_sim::costs::Costs;
use swtch_sim::machine::Machine;
use swtch_sim::run::{PolicyRun, Setting, run};
use swtch_sim::sink::Nothing;
use swtch_sim::spec::{Spec, rt_app};
use swtch_sim::workload::Workload;
use swtch_sim::workloads::replay::replay;
use swtch_sim::{Jitter, Options, SimError};
use swtch_trace::Trace;

fn named(text: &str) -> Workload {
    Spec::of_name(text).unwrap().workload(&Machine::uniform(4)).unwrap()
}

/// A recording's work.
fn recorded() -> Workload {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/machine.swtch");
    let trace = Trace::open(&folder).unwrap();
    let switches: Vec<_> = trace.switches().collect::<Result<_, _>>().unwrap();
    replay(&trace.tasks, switches, &Costs::typical()).unwrap().workload
}

fn try_run(workload: &Workload, seed: u64, jitter: Jitter) -> Result<PolicyRun<Nothing>, SimError> {
    let setting = Setting {
        machine: Machine::uniform(4),
        costs: Costs::typical(),
        workload: workload.clone(),
        options: Options { seed, jitter, ..Options::default() },
    };
    run(&setting, "eevdf", Nothing)
}

fn makespans(workload: &Workload, jitter: Jitter) -> BTreeSet<u64> {
    (1..=6).map(|seed| try_run(workload, seed, jitter).unwrap().makespan_ns).collect()
}

#[test]
fn every_seed_is_another_run_of_every_workload() {
    let works = [
        ("hackbench", named("hackbench:groups=1,loops=5")),
        ("schbench", named("schbench:workers=4,requests=20")),
        ("ping-pong", named("ping-pong:loops=100")),
        ("npb", named("npb:program=cg,threads=4,scale=0.002")),
        ("spin", named("spin:tasks=6,work_ns=5000000")),
        ("replay", recorded()),
    ];
    for (name, workload) in works {
        let typical = makespans(&workload, Jitter::TYPICAL);
        assert_eq!(typical.len(), 6, "{name}: {typical:?}");
        let first = try_run(&workload, 3, Jitter::TYPICAL).unwrap();
        assert_eq!(
            first.stats,
            try_run(&workload, 3, Jitter::TYPICAL).unwrap().stats,
            "{name}: the same again"
        );
        // Nothing in these is random but jitter.
        assert_eq!(makespans(&workload, Jitter::NONE).len(), 1, "{name}");
    }
}

/// One task on its own takes its work, within 1 %, after its start, within 20 us.
#[test]
fn jitter_is_as_large_as_it_is_said_to_be() {
    let workload = named("spin:tasks=1,work_ns=10000000");
    let exact = try_run(&workload, 1, Jitter::NONE).unwrap();
    let all: Vec<u64> =
        (1..=200).map(|seed| try_run(&workload, seed, Jitter::TYPICAL).unwrap().makespan_ns).collect();
    let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
    assert!(
        *least >= exact.makespan_ns - 101_000 && *most <= exact.makespan_ns + 122_000,
        "{least} to {most}"
    );
    assert!(most - least > 150_000, "{least} to {most}");
}

/// doc/tutorial/example4 of rt-app in short: each computes, resumes the other one and suspends itself. At the same nanosecond both resume one
/// that runs, and then both are suspended for ever.
#[test]
fn threads_that_resume_each_other_do_not_miss_each_other() {
    let text = r#"{ "tasks": {
        "thread0": { "loop": -1, "run": 10000, "resume": "thread1", "suspend": "thread0" },
        "thread1": { "loop": -1, "run": 10000, "resume": "thread0", "suspend": "thread1" } },
        "global": { "duration": 1 } }"#;
    let mut workload = rt_app::read("example4.json", text, &Machine::uniform(4)).unwrap().workload;
    workload.duration_ns = Some(1_000_000_000);
    let error = try_run(&workload, 1, Jitter::NONE).map(|run| run.makespan_ns).unwrap_err();
    assert!(matches!(error, SimError::Deadlock { .. }), "{error}");
    let ran = (1..=20).filter(|seed| {
        let found = try_run(&workload, *seed, Jitter::TYPICAL);
        found.is_ok_and(|run| run.stats.cpus.iter().map(|cpu| cpu.run_ns).sum::<u64>() > 900_000_000)
    });
    let ran = ran.count();
    // As on a real machine, a close meeting can still happen; one in many.
    assert!(ran >= 18, "{ran} of 20");
}
