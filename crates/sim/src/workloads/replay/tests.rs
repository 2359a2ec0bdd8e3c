use super::*;
use crate::engine::{Engine, Options};
use crate::machine::Machine;
use crate::policies::RealTime;
use crate::program::Op;
use crate::sink::{Nothing, Sink, SwitchEvent, WakeEvent};
use crate::workload::TaskClass;
use crate::workloads::tests::{balance, check};
use crate::workloads::{PingPong, Schbench};
use proptest::prelude::*;
use std::collections::BTreeMap;
use swtch_trace::tables::{PrevState, SchedPolicy};

fn switch(at_ns: u64, prev_tid: u32, next_tid: u32, prev_state: PrevState) -> SwitchRow {
    SwitchRow {
        at_ns,
        cpu: 0,
        prev_tid,
        next_tid,
        prev_state,
        ran_ns: None,
        waited_ns: None,
        cost_ns: None,
        waker_tid: None,
        throttled: None,
    }
}

fn ops(replayed: &Replayed, name: &str) -> Vec<Op> {
    let task = replayed.workload.tasks.iter().find(|task| task.name == name).expect("the task");
    replayed.workload.programs[task.program as usize].ops.clone()
}

fn free(rows: Vec<SwitchRow>) -> Replayed {
    replay(&[], rows, &Costs::free()).expect("a task ran")
}

#[test]
fn who_woke_whom_becomes_a_semaphore_at_the_wakers_point_of_work() {
    // 7 runs 0-100, wakes 8 at 60. 8 runs 100-130 and blocks for good. 7 slept from 100 and is woken by a timer at 150.
    let rows = vec![
        SwitchRow {
            ran_ns: Some(100),
            waited_ns: Some(40),
            waker_tid: Some(7),
            ..switch(100, 7, 8, PrevState::Sleeping)
        },
        SwitchRow { ran_ns: Some(30), ..switch(130, 8, 0, PrevState::Sleeping) },
        SwitchRow { waited_ns: Some(0), ..switch(150, 0, 7, PrevState::Runnable) },
        SwitchRow { ran_ns: Some(20), ..switch(170, 7, 0, PrevState::Other) },
    ];
    let replayed = free(rows);
    let (compute, sleep) = (|work_ns| Op::Compute { work_ns }, Op::Sleep { ns: 50 });
    assert_eq!(
        ops(&replayed, "task/7"),
        [compute(60), Op::Post { semaphore: 0 }, compute(40), sleep, compute(20)]
    );
    assert_eq!(ops(&replayed, "task/8"), [Op::Acquire { semaphore: 0 }, compute(30)]);
    assert_eq!(replayed.workload.tasks.iter().map(|task| task.start_ns).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn preemptions_are_not_part_of_the_work_and_switches_are_taken_off() {
    let rows = vec![
        SwitchRow { ran_ns: Some(50), cost_ns: Some(10), ..switch(50, 7, 8, PrevState::Runnable) },
        SwitchRow {
            ran_ns: Some(30),
            cost_ns: Some(10),
            waited_ns: Some(30),
            ..switch(80, 8, 7, PrevState::Sleeping)
        },
        SwitchRow { ran_ns: Some(20), cost_ns: Some(5), ..switch(100, 7, 0, PrevState::Sleeping) },
    ];
    let replayed = free(rows);
    assert_eq!(ops(&replayed, "task/7"), [Op::Compute { work_ns: 55 }]);
    // The recording has it first when it got the CPU, at 50; the task that woke it is not known.
    assert_eq!(ops(&replayed, "task/8"), [Op::Compute { work_ns: 20 }]);
    assert_eq!(replayed.workload.tasks[1].start_ns, 50);
}

#[test]
fn what_the_simulator_charges_is_taken_off_the_work() {
    let costs = Costs { futex_ns: 10, wake_ns: 5, ..Costs::free() };
    let rows = vec![
        SwitchRow {
            ran_ns: Some(100),
            waited_ns: Some(40),
            waker_tid: Some(7),
            ..switch(100, 7, 8, PrevState::Sleeping)
        },
        SwitchRow { ran_ns: Some(30), ..switch(130, 8, 0, PrevState::Sleeping) },
    ];
    let replayed = replay(&[], rows, &costs).unwrap();
    assert_eq!(ops(&replayed, "task/7")[0], Op::Compute { work_ns: 45 });
    // Its taking the semaphore had no work before it: what follows is shortened.
    assert_eq!(ops(&replayed, "task/8")[1], Op::Compute { work_ns: 20 });
}

#[test]
fn names_processes_and_scope_come_from_the_tasks() {
    let task =
        |tid, in_scope| TaskRow { tid, pid: 5, comm: "app".to_owned(), in_scope, ..TaskRow::default() };
    let rows = vec![
        SwitchRow { ran_ns: Some(10), ..switch(10, 7, 9, PrevState::Sleeping) },
        SwitchRow {
            ran_ns: Some(10),
            waited_ns: Some(0),
            waker_tid: Some(9),
            ..switch(20, 9, 7, PrevState::Sleeping)
        },
        SwitchRow { ran_ns: Some(10), ..switch(30, 7, 0, PrevState::Sleeping) },
    ];
    let replayed = replay(&[task(7, true), task(9, false)], rows, &Costs::free()).unwrap();
    assert_eq!((replayed.recorded_tasks, replayed.workload.tasks.len()), (1, 2));
    assert_eq!((replayed.workload.tasks[0].name.as_str(), replayed.workload.tasks[0].process), ("app/7", 5));
    let compute = Op::Compute { work_ns: 10 };
    assert_eq!(ops(&replayed, "app/7"), [compute, Op::Sleep { ns: 10 }, compute]);
    assert!(replay(&[], Vec::new(), &Costs::free()).unwrap_err().to_string().contains("no task"));
}

/// A task outside the scope keeps its CPU while it was seen there; time unseen is not made up.
#[test]
fn tasks_beside_the_recorded_ones_keep_their_cpus() {
    let task = |tid, comm: &str, in_scope| TaskRow {
        tid,
        pid: tid,
        comm: comm.to_owned(),
        in_scope,
        ..TaskRow::default()
    };
    let tasks = [task(7, "app", true), task(9, "noise", false)];
    let rows = vec![
        // It preempts until 40, goes away unseen, and is there again when the task has waited for 5 at 100.
        SwitchRow { ran_ns: Some(10), ..switch(10, 7, 9, PrevState::Runnable) },
        SwitchRow { waited_ns: Some(30), ..switch(40, 9, 7, PrevState::Runnable) },
        SwitchRow { ran_ns: Some(10), ..switch(50, 7, 0, PrevState::Sleeping) },
        SwitchRow { waited_ns: Some(5), ..switch(100, 9, 7, PrevState::Runnable) },
        SwitchRow { ran_ns: Some(10), ..switch(110, 7, 0, PrevState::Sleeping) },
    ];
    let replayed = replay(&tasks, rows.clone(), &Costs::free()).unwrap();
    let beside = &replayed.workload.tasks[1];
    assert_eq!((beside.name.as_str(), beside.background, beside.start_ns), ("noise/cpu0", true, 10));
    let compute = |work_ns| Op::Compute { work_ns };
    assert_eq!(ops(&replayed, "noise/cpu0"), [compute(30), Op::Sleep { ns: 55 }, compute(5)]);
    assert!(replayed.assumed.iter().any(|one| one.what == "other tasks"), "{:?}", replayed.assumed);
    let without = Changes { without: vec!["noise".to_owned()], ..Changes::default() };
    let alone = replay_changed(&tasks, rows.clone(), &Costs::free(), &without).unwrap();
    assert_eq!(alone.workload.tasks.len(), 1);
    let nosuch = Changes { without: vec!["nosuch".to_owned()], ..Changes::default() };
    let error = replay_changed(&tasks, rows, &Costs::free(), &nosuch).unwrap_err().to_string();
    assert_eq!(error, "there is no task \"nosuch\"; there are app, noise/cpu0");
}

#[test]
fn tasks_keep_how_they_are_scheduled_and_what_is_missing_is_said() {
    let task = |tid, nice, policy, realtime_priority| TaskRow {
        tid,
        pid: tid,
        comm: "t".to_owned(),
        in_scope: true,
        nice,
        policy,
        realtime_priority,
        cpus_allowed: (tid == 1).then(|| "0,2-3".to_owned()),
        working_set_bytes: (tid == 1).then_some(4096),
        ..TaskRow::default()
    };
    let tasks = [
        task(1, Some(5), Some(SchedPolicy::Batch), None),
        task(2, None, Some(SchedPolicy::Fifo), Some(40)),
        task(3, Some(0), Some(SchedPolicy::Idle), None),
        task(4, None, None, None),
    ];
    let rows = (1..=4).map(|tid| SwitchRow {
        ran_ns: Some(10),
        ..switch(20 * u64::from(tid), tid, 0, PrevState::Sleeping)
    });
    let replayed = replay(&tasks, rows, &Costs::free()).unwrap();
    let specs = &replayed.workload.tasks;
    assert_eq!((specs[0].nice, specs[0].class, specs[0].working_set_bytes), (5, TaskClass::Batch, 4096));
    assert_eq!(specs[0].allowed, [0, 2, 3].map(swtch_units::CpuId::new));
    assert_eq!((specs[1].nice, specs[1].priority), (-20, 40));
    assert_eq!((specs[2].class, specs[3].nice), (TaskClass::Idle, 0));
    assert_eq!(replayed.lacks, ["nice values", "working sets"]);
    let value =
        |what: &str| replayed.assumed.iter().find(|one| one.what == what).map(|one| one.value.as_str());
    assert_eq!(value("nice values"), Some("0 for 1 of 4 tasks"));
    assert_eq!(value("working sets"), Some("0 bytes for 3 of 4 tasks"));
    assert_eq!(value("real-time tasks"), Some("nice -20 for 1 of 4 tasks"));
}

/// Two workers that a third wakes: their work is done by one thread, whose sleeps are shorter by what the other did meanwhile, and which does not wait
/// for itself.
#[test]
fn fewer_threads_do_the_same_work_and_never_deadlock() {
    let row = |at_ns, prev, next, ran_ns, waker| SwitchRow {
        ran_ns: Some(ran_ns),
        waited_ns: Some(0),
        waker_tid: waker,
        ..switch(at_ns, prev, next, PrevState::Sleeping)
    };
    let tasks = [1, 2].map(|tid| TaskRow {
        tid,
        pid: 1,
        comm: "worker".to_owned(),
        in_scope: true,
        ..TaskRow::default()
    });
    // 1 runs to 10 and wakes 2, which runs to 30; 1 sleeps by a timer from 10 to 50 and runs to 60.
    let rows = vec![
        row(10, 1, 2, 10, Some(1)),
        row(30, 2, 0, 20, None),
        row(50, 0, 1, 0, None),
        row(60, 1, 0, 10, None),
    ];
    let changes = Changes { threads: vec![("worker".to_owned(), 1)], ..Changes::default() };
    let replayed = replay_changed(&tasks, rows.clone(), &Costs::free(), &changes).unwrap();
    assert_eq!(replayed.workload.tasks.len(), 1);
    let compute = |work_ns| Op::Compute { work_ns };
    assert_eq!(ops(&replayed, "worker/1"), [compute(30), Op::Sleep { ns: 20 }, compute(10)]);
    let many = Changes { threads: vec![("worker".to_owned(), 3)], ..Changes::default() };
    let error = replay_changed(&tasks, rows, &Costs::free(), &many).unwrap_err().to_string();
    assert!(error.starts_with("--set worker: threads is 3; expected 1 to 2"), "{error}");
}

/// Records a simulated run as the recorder would.
#[derive(Debug, Default)]
struct Recorder {
    rows: Vec<SwitchRow>,
    since_ns: BTreeMap<usize, u64>,
    woken: BTreeMap<usize, (u64, Option<u32>)>,
}

impl Sink for Recorder {
    fn switch(&mut self, event: SwitchEvent) {
        let tid = |task: Option<usize>| task.map_or(0, |task| task as u32 + 1);
        let ran_ns = event.prev.and_then(|task| self.since_ns.remove(&task)).map(|since| event.at_ns - since);
        let (at_ns, waker_tid) =
            event.next.and_then(|task| self.woken.remove(&task)).unwrap_or((event.at_ns, None));
        event.next.map(|task| self.since_ns.insert(task, event.at_ns));
        let prev_state = if event.prev_runnable { PrevState::Runnable } else { PrevState::Sleeping };
        self.rows.push(SwitchRow {
            cpu: event.cpu as u32,
            ran_ns,
            waited_ns: Some(event.at_ns - at_ns),
            waker_tid,
            ..switch(event.at_ns, tid(event.prev), tid(event.next), prev_state)
        });
    }

    fn wake(&mut self, event: WakeEvent) {
        self.woken.insert(event.wakee, (event.at_ns, event.waker.map(|task| task as u32 + 1)));
    }
}

fn run<S: Sink>(cpus: u32, workload: Workload, sink: S) -> (u64, S) {
    let (machine, policy) = (Machine::uniform(cpus), RealTime::with_slice_ns(100_000_000));
    let engine = Engine::new(machine, Costs::free(), workload, policy, sink, Options::default()).unwrap();
    let outcome = engine.run().expect("it ends");
    (outcome.makespan_ns, outcome.sink)
}

#[test]
fn a_replayed_simulation_takes_as_long_as_the_first() {
    let ping_pong = PingPong { pairs: 3, loops: 20, work_ns: 7_000, ..PingPong::default() }.build().unwrap();
    let schbench = Schbench { workers: 5, requests: 20, ..Schbench::default() }.build().unwrap();
    for workload in [ping_pong, schbench] {
        for cpus in [1, 2, 4] {
            let work_ns = balance(&workload).work_ns;
            let (makespan_ns, recorder) = run(cpus, workload.clone(), Recorder::default());
            let replayed = free(recorder.rows);
            check(&replayed.workload);
            assert_eq!(balance(&replayed.workload).work_ns, work_ns, "{} on {cpus}", workload.name);
            let (again_ns, _) = run(cpus, replayed.workload, Nothing);
            let difference = again_ns.abs_diff(makespan_ns);
            assert!(
                difference * 100 <= makespan_ns,
                "{} on {cpus}: {makespan_ns} and {again_ns}",
                workload.name
            );
        }
    }
}

#[test]
fn a_recording_of_a_real_machine_runs_to_its_end() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/machine.swtch");
    let trace = swtch_trace::Trace::open(&folder).expect("a fixture");
    let rows: Vec<SwitchRow> = trace.switches().map(|row| row.expect("a row")).collect();
    let tasks = trace.tasks.clone();
    let recorded_ns: u64 = rows.iter().filter(|row| row.prev_tid != 0).filter_map(|row| row.ran_ns).sum();
    let replayed = replay(&tasks, rows, &Costs::free()).unwrap();
    check(&replayed.workload);
    let sums = balance(&replayed.workload);
    assert_eq!(sums.posted, sums.acquired);
    assert!(
        sums.work_ns <= recorded_ns + recorded_ns / 10 && sums.work_ns > recorded_ns / 2,
        "{} {recorded_ns}",
        sums.work_ns
    );
    let (makespan_ns, _) = run(2, replayed.workload, Nothing);
    assert!(makespan_ns >= sums.work_ns / 2);
}

/// Rows as no kernel would write them.
fn any_row() -> impl Strategy<Value = SwitchRow> {
    let state = prop_oneof![
        Just(PrevState::Runnable),
        Just(PrevState::Sleeping),
        Just(PrevState::Uninterruptible),
        Just(PrevState::Other)
    ];
    let waker = prop::option::of(0_u32..6);
    let waited = prop::option::of(0_u64..40);
    (
        0_u64..60,
        0_u32..6,
        0_u32..6,
        state,
        prop::option::of(0_u64..50),
        waited,
        prop::option::of(0_u32..20),
        waker,
    )
        .prop_map(|(at_ns, prev_tid, next_tid, prev_state, ran_ns, waited_ns, cost_ns, waker_tid)| {
            SwitchRow {
                ran_ns,
                waited_ns,
                cost_ns,
                waker_tid,
                ..switch(at_ns, prev_tid, next_tid, prev_state)
            }
        })
}

proptest! {
    #[test]
    fn no_recording_however_damaged_deadlocks(
        rows in prop::collection::vec(any_row(), 1..60),
        cpus in 1_u32..4,
        threads in 0_u32..3,
    ) {
        // Only tasks of the tables' scope can be missing; an error means that no task ran, or fewer than those threads.
        let changes = (threads > 0).then(|| ("task".to_owned(), threads)).into_iter().collect();
        let changes = Changes { threads: changes, ..Changes::default() };
        if let Ok(replayed) = replay_changed(&[], rows, &Costs::free(), &changes) {
            check(&replayed.workload);
            let sums = balance(&replayed.workload);
            prop_assert_eq!(sums.posted, sums.acquired);
            let engine = Engine::new(
                Machine::uniform(cpus),
                Costs::free(),
                replayed.workload,
                RealTime::with_slice_ns(100_000_000),
                Nothing,
                Options::default(),
            );
            let outcome = engine.unwrap().run();
            prop_assert!(outcome.is_ok(), "{}", outcome.err().map_or(String::new(), |error| error.to_string()));
        }
    }
}
