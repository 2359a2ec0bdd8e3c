//! Schedules under compiled schedulers.

use super::*;
use crate::costs::Costs;
use crate::machine::{CoreType, Machine, MachineCpu};
use crate::program::{Op, Program};
use crate::sink::{Sink, SwitchEvent};
use crate::workload::{TaskSpec, Workload};
use crate::{Engine, EngineOutcome, Options, SimError};
use std::path::{Path, PathBuf};
use swtch_units::CpuId;

const MS: u64 = 1_000_000;

/// Keeps the switches.
#[derive(Debug, Default)]
struct SwitchLog(Vec<SwitchEvent>);

impl Sink for SwitchLog {
    fn switch(&mut self, event: SwitchEvent) {
        self.0.push(event);
    }
}

fn workload(programs: &[&[Op]]) -> Workload {
    let task = |n: u32| TaskSpec { name: format!("t{n}"), process: n, program: n, ..TaskSpec::default() };
    Workload {
        programs: programs.iter().map(|ops| Program { ops: ops.to_vec() }).collect(),
        tasks: (0..programs.len() as u32).map(task).collect(),
        ..Workload::default()
    }
}

fn spinners(works_ms: &[u64]) -> Workload {
    let programs: Vec<_> = works_ms.iter().map(|ms| vec![Op::Compute { work_ns: ms * MS }]).collect();
    workload(&programs.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn try_run(
    cpus: u32,
    workload: Workload,
    policy: ScxPolicy,
    every_tick: bool,
) -> Result<EngineOutcome<ScxPolicy, SwitchLog>, SimError> {
    let options = Options { every_tick, ..Options::default() };
    Engine::new(Machine::uniform(cpus), Costs::free(), workload, policy, SwitchLog::default(), options)?.run()
}

fn run(
    cpus: u32,
    workload: &Workload,
    policy: impl Fn() -> ScxPolicy,
) -> EngineOutcome<ScxPolicy, SwitchLog> {
    let outcome = try_run(cpus, workload.clone(), policy(), false).unwrap();
    let with_ticks = try_run(cpus, workload.clone(), policy(), true).unwrap();
    assert_eq!(outcome.sink.0, with_ticks.sink.0, "leaving ticks out must make no difference");
    outcome
}

fn schedule(outcome: &EngineOutcome<ScxPolicy, SwitchLog>) -> Vec<(u64, usize, Option<usize>)> {
    outcome.sink.0.iter().map(|event| (event.at_ns / MS, event.cpu, event.next)).collect()
}

fn flsched(slice_ms: u64) -> ScxPolicy {
    ScxPolicy::new(&Object::flsched(), Settings::default().number("slice_ns", slice_ms * MS)).unwrap()
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scx/tests").join(name)
}

fn compiled(name: &str, defines: &[&str]) -> Result<Object, ScxError> {
    let defines = defines.iter().map(|&define| define.to_owned()).collect();
    Object::compile(&source(name), &CompileOptions { defines, ..CompileOptions::default() })
}

#[test]
fn flsched_takes_turns_at_ticks() {
    let outcome = run(1, &spinners(&[10, 20, 4]), || flsched(8));
    let expected = [(0, Some(0)), (8, Some(1)), (16, Some(2)), (20, Some(0)), (22, Some(1)), (34, None)];
    assert_eq!(schedule(&outcome), expected.map(|(ms, next)| (ms, 0, next)));
    assert_eq!(crate::policy::Policy::name(&outcome.policy), "flsched");
}

#[test]
fn a_slice_that_begins_behind_a_tick_ends_with_one_tick_more() {
    let costs = Costs { tick_ns: 2_000, ..Costs::free() };
    let log = SwitchLog::default();
    let engine =
        Engine::new(Machine::uniform(1), costs, spinners(&[20, 20]), flsched(8), log, Options::default());
    let outcome = engine.unwrap().run().unwrap();
    assert_eq!(schedule(&outcome)[..3], [(0, 0, Some(0)), (12, 0, Some(1)), (24, 0, Some(0))]);
}

#[test]
fn under_flsched_who_wakes_waits_for_the_end_of_a_slice() {
    let sleeper: &[Op] = &[Op::Sleep { ns: MS }, Op::Compute { work_ns: MS }];
    let outcome = run(1, &workload(&[&[Op::Compute { work_ns: 20 * MS }], sleeper]), || flsched(8));
    // The sleeper comes to its turn at 8 ms, sleeps, wakes at 9 ms, and waits until the other's slice ends at 16 ms.
    let expected = [(0, Some(0)), (8, Some(1)), (8, Some(0)), (16, Some(1)), (17, Some(0)), (21, None)];
    assert_eq!(schedule(&outcome), expected.map(|(ms, next)| (ms, 0, next)));
}

#[test]
fn under_flsched_a_new_task_finds_an_idle_cpu_or_the_shortest_queue() {
    let mut load = spinners(&[40, 60, 40, 60, 1]);
    (0..).zip(&mut load.tasks).for_each(|(n, task)| task.start_ns = n * 1000);
    let outcome = run(2, &load, || flsched(100));
    // Two find idle CPUs; then queues are 0 and 0, 1 and 0, 1 and 1.
    let expected = [
        (0, 0, Some(0)),
        (0, 1, Some(1)),
        (40, 0, Some(2)),
        (60, 1, Some(3)),
        (80, 0, Some(4)),
        (81, 0, None),
        (120, 1, None),
    ];
    assert_eq!(schedule(&outcome), expected);
}

#[test]
fn tasks_stay_on_the_cpus_they_may_use() {
    let mut pinned = spinners(&[30, 30, 30]);
    pinned.tasks.iter_mut().for_each(|task| task.allowed = vec![CpuId::new(2)]);
    let outcome = run(4, &pinned, || flsched(8));
    assert_eq!(outcome.makespan_ns, 90 * MS);
    assert!(outcome.sink.0.iter().all(|event| event.cpu == 2));
}

#[test]
fn every_load_has_variables_of_its_own() {
    let one = |slice_ms: u64| {
        schedule(&try_run(2, spinners(&[90, 80, 70, 60, 50]), flsched(slice_ms), false).unwrap())
    };
    let alone: Vec<_> = (1..=8).map(|n| one(n * 4)).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=8).map(|n| scope.spawn(move || one(n * 4))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
    assert_ne!(alone[0], alone[1]);
    // Two at a time on one thread, too.
    let (first, second) = (flsched(4), flsched(8));
    let outcomes = [first, second]
        .map(|policy| schedule(&try_run(2, spinners(&[90, 80, 70, 60, 50]), policy, false).unwrap()));
    assert_eq!(outcomes.as_slice(), &alone[..2]);
}

#[test]
fn a_machine_may_have_gaps_in_its_numbers_but_not_too_many_cpus() {
    let on = |ids: &[u32]| {
        let cpu =
            |id: &u32| MachineCpu { id: CpuId::new(*id), core_type: 0, core: *id, l2: *id, l3: 0, node: 0 };
        let types = vec![CoreType { name: "core".to_owned(), speed: 1024 }];
        let machine = Machine::new("gaps", types, ids.iter().map(cpu).collect(), Vec::new()).unwrap();
        let mut load = spinners(&[30, 30, 30]);
        load.tasks[0].allowed = vec![CpuId::new(ids[1])];
        Engine::new(machine, Costs::free(), load, flsched(8), SwitchLog::default(), Options::default())
            .unwrap()
            .run()
    };
    // Each finds the CPU that is free.
    assert_eq!(on(&[7, 70, 130]).unwrap().makespan_ns, 30 * MS);
    assert!(on(&[0, 8192, 8193]).unwrap_err().to_string().contains("more than 8192 CPUs"));
}

#[test]
fn functions_of_the_kernel_do_what_they_say() {
    // Two cores of two threads each; the kernel's numbers are not those of the places.
    let cpu =
        |id, core, node| MachineCpu { id: CpuId::new(id), core_type: node, core, l2: core, l3: node, node };
    let types = vec![
        CoreType { name: "fast".to_owned(), speed: 1024 },
        CoreType { name: "slow".to_owned(), speed: 512 },
    ];
    let cpus = vec![cpu(0, 0, 0), cpu(2, 0, 0), cpu(1, 1, 1), cpu(3, 1, 1)];
    let machine = Machine::new("2x2", types, cpus, Vec::new()).unwrap();
    let policy = ScxPolicy::new(&compiled("kfuncs.bpf.c", &[]).unwrap(), Settings::default()).unwrap();
    let mut load = spinners(&[3, 3, 3, 3, 3, 3, 3]);
    load.tasks[1].allowed = [1, 3].map(CpuId::new).to_vec();
    load.tasks[2].nice = -5;
    let engine =
        Engine::new(machine, Costs::free(), load, policy, SwitchLog::default(), Options::default()).unwrap();
    let outcome = engine.run().unwrap();
    assert!(outcome.complete);
}

#[test]
fn virtual_time_shares_by_weight() {
    let object = compiled("shared.bpf.c", &[]).unwrap();
    let mut load = spinners(&[10_000; 6]);
    load.tasks[0].nice = -5;
    load.duration_ns = Some(9_000 * MS);
    let outcome =
        run(1, &load, || ScxPolicy::new(&object, Settings::default().number("slice_ns", 4 * MS)).unwrap());
    let work = |task: usize| outcome.stats.tasks[task].work as f64;
    // 3121 / 1024, as 305 / 100 in the scheduler's own scale.
    assert!((work(0) / work(1) - 3.05).abs() < 0.05, "{}", work(0) / work(1));
}

#[test]
fn a_task_that_preempts_runs_at_once() {
    let object = compiled("shared.bpf.c", &["PREEMPT"]).unwrap();
    let sleeper: &[Op] = &[Op::Sleep { ns: MS }, Op::Compute { work_ns: MS }];
    let load = workload(&[&[Op::Compute { work_ns: 20 * MS }], sleeper]);
    let outcome =
        run(1, &load, || ScxPolicy::new(&object, Settings::default().number("slice_ns", 8 * MS)).unwrap());
    let expected = [(0, Some(0)), (8, Some(1)), (8, Some(0)), (9, Some(1)), (10, Some(0)), (21, None)];
    assert_eq!(schedule(&outcome), expected.map(|(ms, next)| (ms, 0, next)));
}

#[test]
fn a_scheduler_that_gives_up_ends_the_run_with_what_it_says() {
    let object = compiled("shared.bpf.c", &["GIVES_UP"]).unwrap();
    let policy = ScxPolicy::new(&object, Settings::default()).unwrap();
    let error = try_run(1, spinners(&[10, 10]), policy, false).unwrap_err();
    let SimError::Policy { policy, problem } = error else { panic!("{error}") };
    assert_eq!((policy.as_str(), problem.as_str()), ("shared", "no more of t1, task 2"));
    for (define, part) in [
        ("BAD_DSQ", "non-existent DSQ 0x63"),
        ("BAD_CPU", "invalid CPU 77"),
        ("BAD_INIT", "ops.init() failed (-22)"),
    ] {
        let policy =
            ScxPolicy::new(&compiled("shared.bpf.c", &[define]).unwrap(), Settings::default()).unwrap();
        let error = try_run(1, spinners(&[10, 10]), policy, false).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn what_cannot_be_compiled_or_loaded_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let options = CompileOptions::default();
    let broken = write("broken.bpf.c", "#include <scx/common.bpf.h>\nint f(void) { return nowhere; }\n");
    let error = Object::compile(&broken, &options).unwrap_err();
    assert!(
        matches!(&error, ScxError::Compile { first_line, .. } if first_line.contains("broken.bpf.c:2") && first_line.contains("nowhere")),
        "{error}"
    );
    let unknown =
        write("unknown.bpf.c", "#include <scx/common.bpf.h>\nint f(void) { return scx_bpf_no_such(); }\n");
    assert!(Object::compile(&unknown, &options).unwrap_err().to_string().contains("scx_bpf_no_such"));
    let header = write("header.bpf.c", "#include <scx/nothing.h>\n");
    assert!(Object::compile(&header, &options).unwrap_err().to_string().contains("scx/nothing.h"));
    let missing = Object::compile(&folder.path().join("none.bpf.c"), &options).unwrap_err();
    assert!(matches!(missing, ScxError::Io { .. }), "{missing}");
    let none = CompileOptions { compiler: Some("no-such-compiler".to_owned()), ..CompileOptions::default() };
    assert!(matches!(Object::compile(&broken, &none).unwrap_err(), ScxError::NoCompiler { .. }));

    let empty = Object::compile(&write("empty.bpf.c", "#include <scx/common.bpf.h>\n"), &options).unwrap();
    assert!(ScxPolicy::new(&empty, Settings::default()).unwrap_err().to_string().contains("SCX_OPS_DEFINE"));
    let plain = Object::compile(&write("plain.c", "int x;\n"), &options).unwrap();
    assert!(ScxPolicy::new(&plain, Settings::default()).unwrap_err().to_string().contains("not a scheduler"));
    assert!(matches!(
        ScxPolicy::new(&Object::from_bytes(*b"no object"), Settings::default()),
        Err(ScxError::Load { .. })
    ));
    for settings in [
        Settings::default().number("no_such", 1),
        Settings::default().bytes("slice_ns", vec![0; 9]),
        Settings::default().run_before("no_such", Vec::new(), 0),
    ] {
        let error = ScxPolicy::new(&Object::flsched(), settings).unwrap_err();
        assert!(matches!(error, ScxError::NoSymbol { .. }), "{error}");
    }
}

/// A scheduler of stuck.bpf.c, `defines` saying how it misbehaves, on 4 CPUs with 80 tasks.
fn stuck(defines: &[&str], duration_ns: Option<u64>) -> SimError {
    let policy = ScxPolicy::new(&compiled("stuck.bpf.c", defines).unwrap(), Settings::default()).unwrap();
    let mut load = spinners(&[10; 80]);
    load.duration_ns = duration_ns;
    try_run(4, load, policy, false).map(|outcome| outcome.makespan_ns).unwrap_err()
}

#[test]
fn a_scheduler_that_forgets_its_tasks_is_named_and_not_the_workload() {
    let error = stuck(&["FORGETS"], None);
    assert!(matches!(&error, SimError::Stalled { policy, .. } if policy == "stuck"), "{error}");
    assert!(error.to_string().contains("80 runnable tasks are in no dispatch queue"), "{error}");
    let error = stuck(&["QUEUES"], None).to_string();
    assert!(error.contains("80 runnable tasks are in dispatch queue 0x7, from which"), "{error}");
    // As long as something else goes on, the watchdog sees it.
    let sleeper: &[Op] =
        &[Op::Compute { work_ns: MS }, Op::Sleep { ns: MS }, Op::Loop { to: 0, times: 0, counter: 0 }];
    let mut load = workload(&[sleeper, &[Op::Compute { work_ns: MS }]]);
    load.duration_ns = Some(100_000 * MS);
    let policy = || {
        ScxPolicy::new(&compiled("stuck.bpf.c", &["FORGETS_SECOND"]).unwrap(), Settings::default()).unwrap()
    };
    let error =
        try_run(1, load.clone(), policy(), false).map(|outcome| outcome.makespan_ns).unwrap_err().to_string();
    assert!(error.contains("1 runnable task is in no dispatch queue"), "{error}");
    // Within the watchdog's time a kernel goes on, too.
    load.duration_ns = Some(20_000 * MS);
    assert!(try_run(1, load, policy(), false).is_ok());
}

#[test]
fn a_callback_that_does_not_return_is_ended_and_named() {
    for (define, callback) in [
        ("LOOPS", "ops.enqueue() did not return"),
        ("LOOPS_IN_MAP", "ops.enqueue() did not return"),
        ("LOOPS_IN_INIT", "ops.init() did not return"),
        ("LOOPS_IN_TIMER", "a bpf_timer starts itself again and again"),
    ] {
        let first = stuck(&[define], None);
        assert!(matches!(&first, SimError::Policy { policy, .. } if policy == "stuck"), "{define}: {first}");
        assert!(first.to_string().contains(callback), "{define}: {first}");
        assert_eq!(stuck(&[define], None), first, "{define}: the same again");
    }
}

#[test]
fn a_long_callback_that_returns_is_let_be() {
    let object = compiled("stuck.bpf.c", &["ITERATES"]).unwrap();
    let policy = ScxPolicy::new(&object, Settings::default().number("iterations", 2_000_000)).unwrap();
    assert!(try_run(2, spinners(&[10, 10, 10]), policy, false).is_ok());
}

/// Every compiler that is installed counts blocks: clang leaves some out unless an option forbids it.
#[test]
fn every_compiler_ends_an_endless_loop() {
    let mut tried = 0;
    for compiler in ["clang-19", "clang", "gcc", "cc"] {
        let options = CompileOptions {
            compiler: Some(compiler.to_owned()),
            defines: vec!["LOOPS".to_owned()],
            ..CompileOptions::default()
        };
        let object = match Object::compile(&source("stuck.bpf.c"), &options) {
            Err(ScxError::NoCompiler { .. }) => {
                println!("skipped {compiler}: it is not installed");
                continue;
            }
            other => other.unwrap(),
        };
        let policy = ScxPolicy::new(&object, Settings::default()).unwrap();
        let error = try_run(1, spinners(&[1]), policy, false).map(|outcome| outcome.makespan_ns).unwrap_err();
        assert!(error.to_string().contains("ops.enqueue() did not return"), "{compiler}: {error}");
        tried += 1;
    }
    assert!(tried > 0);
}

#[test]
fn what_callbacks_execute_takes_time_where_an_instruction_does() {
    let sleeper = [Op::Compute { work_ns: MS }, Op::Sleep { ns: MS }].repeat(100);
    let time = |turns: u32, costs: &Costs| {
        let object = compiled("looping.bpf.c", &[&format!("TURNS={turns}")]).unwrap();
        let policy = ScxPolicy::new(&object, Settings::default()).unwrap();
        let load = workload(&[sleeper.as_slice()]);
        let engine = Engine::new(
            Machine::uniform(1),
            costs.clone(),
            load,
            policy,
            SwitchLog::default(),
            Options::default(),
        );
        let stats = engine.unwrap().run().unwrap().stats;
        assert!(stats.wakeups >= 99);
        (stats.hooks[crate::hook::Hook::Enqueue as usize], stats.cpus[0].switch_ns)
    };
    // 1 ns an instruction.
    let costs = Costs { instruction_ps: 1_000, ..Costs::free() };
    let (short, short_switch_ns) = time(10, &costs);
    let (long, long_switch_ns) = time(1_010, &costs);
    assert_eq!(short.calls, long.calls);
    // A turn is a few instructions: five, as clang 19 compiles it.
    let turns_ns = (long.ns - short.ns) / long.calls;
    let of_each = |instructions: u64| 1_000 * instructions * super::instructions::OWN_EIGHTHS / 8;
    assert!((of_each(3)..=of_each(8)).contains(&turns_ns), "{turns_ns} ns for 1,000 turns");
    assert_eq!(long_switch_ns - short_switch_ns, long.ns - short.ns, "it is in the time of switches");
    // Into the callback and out of it, and a task put into the CPU's own queue.
    let least = super::instructions::CALLBACK + 197;
    assert!(short.ns / short.calls > least && short.ns / short.calls < least + 300, "{short:?}");
    assert_eq!(time(1_010, &Costs::free()).0.ns, 0);
}
