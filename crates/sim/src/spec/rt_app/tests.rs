use super::*;
use crate::costs::Costs;
use crate::engine::{Engine, Options};
use crate::machine::named;
use crate::policies::RealTime;
use crate::program::Op;
use crate::sink::Nothing;
use crate::workloads::tests::check;
use swtch_topology::Host;
use swtch_units::CpuId;

fn read_on(machine: &str, text: &str) -> Result<RtApp, SimError> {
    let read = read("f.json", text, &named(machine, &Host::default()).unwrap());
    if let Ok(rt_app) = &read {
        check(&rt_app.workload);
    }
    read
}

fn plain(tasks: &str) -> RtApp {
    read_on("4", &format!("{{ \"tasks\": {{ {tasks} }} }}")).unwrap()
}

fn whats(rt_app: &RtApp) -> Vec<&str> {
    rt_app.assumed.iter().map(|assumption| assumption.what.as_str()).collect()
}

#[test]
fn events_keep_their_order_and_their_repetitions() {
    let rt_app = plain(r#""t": { "loop": 3, "run0": 10, "sleep": 20, "run": 30, "yield": "", "run1": 5, }"#);
    let run = |us: u64| Op::Compute { work_ns: us * 1_000 };
    let expected = [
        run(10),
        Op::Sleep { ns: 20_000 },
        run(30),
        Op::Yield,
        run(5),
        Op::Loop { to: 0, times: 3, counter: 0 },
    ];
    assert_eq!(rt_app.workload.programs[0].ops, expected);
    assert!(rt_app.assumed.is_empty(), "{:?}", rt_app.assumed);
}

#[test]
fn phases_loop_inside_the_task() {
    let rt_app = plain(
        r#""t": { "instance": 2, "delay": 7, "cpus": [1, 3], "priority": -5, "phases": {
            "a": { "loop": 2, "run": 1 }, "b": { "sem_post": "s" }, "c": { "loop": 0, "run": 9 } } }"#,
    );
    assert_eq!(
        rt_app.workload.programs[0].ops,
        [
            Op::Compute { work_ns: 1_000 },
            Op::Loop { to: 0, times: 2, counter: 1 },
            Op::Post { semaphore: 0 },
            Op::Loop { to: 0, times: 0, counter: 0 },
        ]
    );
    let task = &rt_app.workload.tasks[1];
    assert_eq!((task.name.as_str(), task.start_ns, task.nice), ("t-1", 7_000, -5));
    assert_eq!(task.allowed, [1, 3].map(CpuId::new));
}

#[test]
fn a_run_is_worth_what_the_calibrated_cpu_does_in_the_time() {
    let text = r#"{ "global": { "duration": 2, "calibration": "CPU0", "gnuplot": true },
                    "tasks": { "t": { "run": 1024, "runtime": 10 } } }"#;
    let rt_app = read_on("odroid-xu3", text).unwrap();
    assert_eq!(
        rt_app.workload.programs[0].ops[..2],
        [Op::Compute { work_ns: 377_000 }, Op::Compute { work_ns: 10_000 }]
    );
    assert_eq!(rt_app.workload.duration_ns, Some(2_000_000_000));
    assert_eq!(whats(&rt_app), ["runtime"]);
}

#[test]
fn conditions_barriers_and_forks_refer_to_the_same_objects() {
    let rt_app = plain(
        r#""a": { "loop": 1, "lock": "m", "wait": { "ref": "c", "mutex": "m" }, "unlock": "m", "barrier": "b", "fork": "child" },
           "b": { "loop": 1, "instance": 2, "sync": { "ref": "c", "mutex": "m" }, "barrier": "b", "broad": "c", "signal": "c" },
           "child": { "instance": 0, "loop": 1, "run": 1 }"#,
    );
    let (condition, lock) = (0, 0);
    assert_eq!(
        rt_app.workload.programs[0].ops,
        [
            Op::Lock { lock },
            Op::Wait { condition, lock },
            Op::Unlock { lock },
            Op::Barrier { barrier: 0 },
            Op::Fork { template: 2 },
        ]
    );
    // Without the mutex, sync takes it itself.
    let sync =
        [Op::Lock { lock }, Op::Signal { condition }, Op::Wait { condition, lock }, Op::Unlock { lock }];
    assert_eq!(rt_app.workload.programs[1].ops[..4], sync);
    assert_eq!(rt_app.workload.barriers[0].members, 3);
    assert_eq!((rt_app.workload.tasks.len(), rt_app.workload.templates.len()), (3, 3));
}

#[test]
fn who_suspends_is_resumed_by_name_old_or_new() {
    let new = plain(r#""a": { "suspend": "x", "run": 1 }, "b": { "resume": "a", "sleep": 5 }"#);
    assert!(new.assumed.is_empty());
    let condition = |rt_app: &RtApp, task: usize| match rt_app.workload.programs[task].ops[0] {
        Op::Wait { condition, .. } | Op::Broadcast { condition } => condition,
        op => panic!("{op:?}"),
    };
    assert_eq!(condition(&new, 0), condition(&new, 1));
    let old = plain(r#""a1": { "suspend": "a", "run": 1 }, "b": { "resume": "a", "sleep": 5 }"#);
    assert_eq!(condition(&old, 0), condition(&old, 1));
    assert_eq!(whats(&old), ["suspend"]);
    let none = plain(r#""a": { "suspend", "run": 1 }, "b": { "resume": "a", "sleep": 5 }"#);
    assert_eq!(none.workload.programs[0], new.workload.programs[0]);
    assert!(plain(r#""a": { "suspend": "a" }"#).assumed[0].value.contains("for ever"));
}

#[test]
fn what_is_not_simulated_is_said() {
    let rt_app = read_on(
        "4",
        r#"{ "global": { "pi_enabled": true, "default_policy": "SCHED_FIFO", "calibration": "CPU9", "odd": 1 },
             "tasks": { "t": { "mem": 800, "iorun": 400, "util_min": 100, "lock_order": ["a"],
                               "memrun": { "type": "chase", "size": 4096, "count": 10 } },
                        "d": { "policy": "SCHED_DEADLINE", "run": 1, "timer": { "ref": "tick", "period": 5 } },
                        "e": { "priority": 3, "timer": { "ref": "tick", "period": 5, "mode": "absolute" } } } }"#,
    )
    .unwrap();
    let mut said = whats(&rt_app);
    said.sort_unstable();
    assert_eq!(
        said,
        [
            "SCHED_DEADLINE",
            "calibration",
            "iorun",
            "lock_order",
            "mem",
            "memrun",
            "odd",
            "pi_enabled",
            "policy",
            "timer",
            "util_min"
        ]
    );
    let work = |work_ns| Op::Compute { work_ns };
    assert_eq!(rt_app.workload.programs[0].ops[..3], [work(100), work(100), work(800)]);
    assert_eq!(rt_app.workload.tasks[0].working_set_bytes, 4_096);
    assert_eq!(rt_app.workload.tasks[2].priority, 3);
    assert_eq!(rt_app.workload.programs[2].ops[0], Op::Timer { timer: 0, ns: 5_000, relative: false });
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (text, message) in [
        (
            "{ \"tasks\": {\n \"t\": { \"run\": -5 } } }",
            "f.json:2:16: run is -5; expected a whole number of at least 0",
        ),
        (
            "{ \"tasks\": {\n \"t\": { \"run\": \"x\" } } }",
            "f.json:2:16: run is a text; expected a whole number",
        ),
        ("{ \"tasks\": { \"t\": { \"cpus\": [4], \"run\": 1 } } }", "f.json:1:30: there is no CPU 4"),
        (
            "{ \"tasks\": { \"t\": { \"fork\": \"x\" } } }",
            "f.json:1:29: there is no task \"x\" to fork; there are t",
        ),
        ("{ \"tasks\": { \"t\": { \"loop\": 1 } } }", "f.json:1:21: a phase of task \"t\" has no events"),
        (
            "{ \"tasks\": { \"t\": { \"timer\": 5 } } }",
            "f.json:1:30: a timer is a number; expected an object",
        ),
        ("{ \"tasks\": [] }", "f.json:1:12: tasks is a list; expected an object"),
        ("{ }", "f.json:1:1: there are no tasks"),
        ("{ \"tasks\": { } }", "f.json:1:1: no task has an instance"),
    ] {
        let problem = read_on("4", text).unwrap_err().to_string();
        assert!(problem.starts_with(message), "{problem}");
    }
}

#[test]
fn timers_keep_their_periods_as_rt_app_has_them() {
    // The third of five activations takes 25 ms of a period of 20: relative timers go on from there, absolute ones make up for it.
    let ends_ms = |mode: &str| {
        let timer = format!(r#""timer": {{ "ref": "unique", "period": 20000, "mode": "{mode}" }}"#);
        let text = format!(
            r#""t": {{ "loop": 1, "phases": {{
                "a": {{ "loop": 2, "run": 10000, {timer} }}, "b": {{ "run": 25000, {timer} }}, "c": {{ "loop": 2, "run": 10000, {timer} }} }} }}"#
        );
        let (machine, policy) = (named("1", &Host::default()).unwrap(), RealTime::with_slice_ns(100_000_000));
        let workload = plain(&text).workload;
        let engine =
            Engine::new(machine, Costs::free(), workload, policy, Nothing, Options::default()).unwrap();
        engine.run().unwrap().makespan_ns / 1_000_000
    };
    // 20, 40, 65, then 85 and 105 or, from the beginning of time, 80 and 100.
    assert_eq!((ends_ms("relative"), ends_ms("absolute")), (105, 100));
}
