//! What cannot run says why.

use swtch_sim::costs::Costs;
use swtch_sim::machine::Machine;
use swtch_sim::policies::Eevdf;
use swtch_sim::program::{Op, Program};
use swtch_sim::sink::{Nothing, Sink};
use swtch_sim::workload::{Barrier, Pipe, TaskSpec, Waiting, Workload};
use swtch_sim::{Engine, Options, SimError};
use swtch_units::CpuId;

fn workload(programs: &[&[Op]]) -> Workload {
    Workload {
        programs: programs.iter().map(|ops| Program { ops: ops.to_vec() }).collect(),
        tasks: (0..programs.len() as u32)
            .map(|n| TaskSpec { name: format!("t{n}"), program: n, ..TaskSpec::default() })
            .collect(),
        pipes: vec![Pipe { capacity_bytes: 100, overhead_bytes: 0, socket: false }],
        locks: 2,
        conditions: 1,
        barriers: vec![Barrier { members: 2, waiting: Waiting::SpinYield }],
        semaphores: vec![0],
        ..Workload::default()
    }
}

fn error_of(workload: Workload, options: Options) -> SimError {
    let engine = Engine::new(Machine::uniform(2), Costs::free(), workload, Eevdf::new(), Nothing, options);
    match engine.and_then(Engine::run) {
        Ok(outcome) => panic!("it ran for {} ns", outcome.makespan_ns),
        Err(error) => error,
    }
}

#[test]
fn a_deadlock_names_who_waits_for_whom() {
    let work = Op::Compute { work_ns: 1000 };
    let (a, b) = (Op::Lock { lock: 0 }, Op::Lock { lock: 1 });
    let cases: [(&[&[Op]], &str); 6] = [
        (
            &[&[a, work, b], &[b, work, a]],
            "t0 (0) wants lock 1, which t1 (1) holds; t1 (1) wants lock 0, which t0 (0) holds",
        ),
        (&[&[work, Op::Receive { pipe: 0, bytes: 1 }]], "t0 (0) reads pipe 0, which no task writes"),
        (
            &[&[work, Op::Send { pipe: 0, bytes: 80 }, Op::Send { pipe: 0, bytes: 80 }]],
            "t0 (0) writes pipe 0, which is full and no task reads",
        ),
        (&[&[work, Op::Acquire { semaphore: 0 }]], "t0 (0) waits for semaphore 0, which no task posts"),
        (&[&[a, Op::Wait { condition: 0, lock: 0 }]], "t0 (0) waits for condition 0, which no task signals"),
        (&[&[work, Op::Barrier { barrier: 0 }]], "t0 (0) waits at barrier 0, where 1 of 2 have come"),
    ];
    for (programs, expected) in cases {
        let error = error_of(workload(programs), Options::default()).to_string();
        assert!(error.starts_with("deadlock after "), "{error}");
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn a_run_without_end_is_given_up() {
    let forever: &[Op] = &[Op::Compute { work_ns: 1_000_000 }, Op::Loop { to: 0, times: 0, counter: 0 }];
    let options = Options { limit_ns: 50_000_000, ..Options::default() };
    let error = error_of(workload(&[forever]), options);
    assert_eq!(error, SimError::Endless { limit_ns: 50_000_000, tasks: 1 });
    assert!(error.to_string().contains("--limit"), "{error}");
}

#[test]
fn a_loop_in_which_no_time_passes_is_found() {
    let idle: &[Op] = &[Op::RequestBegins, Op::Loop { to: 0, times: 0, counter: 0 }];
    let error = error_of(workload(&[idle]), Options::default());
    assert!(matches!(error, SimError::NoTimePasses { .. }), "{error}");
    let yields: &[Op] = &[Op::Yield, Op::Loop { to: 0, times: 0, counter: 0 }];
    let error = error_of(workload(&[yields]), Options::default());
    assert!(matches!(error, SimError::NoTimePasses { .. }), "{error}");
}

#[test]
fn what_is_not_there_is_named() {
    let pipe: &[Op] = &[Op::Send { pipe: 7, bytes: 1 }];
    let error = error_of(workload(&[pipe]), Options::default()).to_string();
    assert!(error.contains("step 0 of program 0 needs pipe 7"), "{error}");
    let mut pinned = workload(&[&[Op::Exit]]);
    pinned.tasks[0].allowed = [0, 9].map(CpuId::new).to_vec();
    let error = error_of(pinned, Options::default()).to_string();
    assert!(
        error.contains("task t0 is allowed on CPU 9, which uniform with its 2 CPUs does not have"),
        "{error}"
    );
}

#[test]
fn who_watches_can_stop_it() {
    struct Impatient;
    impl Sink for Impatient {
        fn goes_on(&mut self, _now_ns: u64, _events: u64) -> bool {
            false
        }
    }
    let forever: &[Op] = &[Op::Compute { work_ns: 1000 }, Op::Loop { to: 0, times: 0, counter: 0 }];
    let engine = Engine::new(
        Machine::uniform(1),
        Costs::free(),
        workload(&[forever]),
        Eevdf::new(),
        Impatient,
        Options::default(),
    );
    let error = engine.unwrap().run().map(|outcome| outcome.makespan_ns).unwrap_err();
    assert!(matches!(error, SimError::Stopped { .. }), "{error}");
}
