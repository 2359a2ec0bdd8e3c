//! Rules on tables made by hand; `tests/cli/advised.rs` has them on programs with and without the remedy.

use super::*;
use crate::bill::bill;
use crate::model::CostModel;
use swtch_topology::Host;
use swtch_trace::Tables;
use swtch_trace::model::{Header, Provenance, Scope, Throttled};
use swtch_trace::tables::{CpuRow, PreemptionRow};

fn header() -> Header {
    let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
    header.totals.switch_cost_ns = Some(100_000);
    header.totals.wakeups = Some(1000);
    header.duration_ns = 1_000_000;
    header
}

fn task(tid: u32, voluntary: u64, involuntary: u64, wait_ns: u64) -> TaskRow {
    TaskRow {
        tid,
        pid: 1,
        comm: "worker".into(),
        in_scope: true,
        voluntary,
        involuntary,
        run_ns: 1_000_000,
        wait_ns,
        switch_cost_ns: Some(10_000),
        ..TaskRow::default()
    }
}

fn advice(header: &Header, tasks: &[TaskRow], wakes: &[WakeRow]) -> Vec<Advice> {
    let tables = Tables { tasks: tasks.to_vec(), wakes: wakes.to_vec(), ..Tables::default() };
    let inputs = Inputs { trace: tables.view(header), model: None, price: None };
    advise(inputs, &bill(inputs))
}

fn wake(waker_tid: u32, wakee_tid: u32, count: u64, same_cpu: u64) -> WakeRow {
    WakeRow { waker_tid, wakee_tid, count, same_cpu: Some(same_cpu) }
}

#[test]
fn nothing_stands_out_where_nothing_does() {
    assert!(advice(&header(), &[task(1, 1000, 10, 0)], &[]).is_empty());
    assert!(advice(&header(), &[], &[]).is_empty());
}

#[test]
fn too_many_threads_wait_and_are_preempted() {
    let found = advice(&header(), &[task(1, 10, 500, 3_000_000), task(2, 10, 500, 3_000_000)], &[]);
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("more runnable threads"));
    assert!(found[0].evidence.contains("8.0 threads"), "{}", found[0].evidence);
    assert!(
        found[0].cost.unwrap().high > 0.0 && found[0].saving.contains("cannot be bounded"),
        "{:?}",
        found[0]
    );
    // The same for much longer: they take turns, and the CPU has time for both.
    let mut long = header();
    long.duration_ns = 100_000_000;
    assert!(advice(&long, &[task(1, 10, 500, 3_000_000), task(2, 10, 500, 3_000_000)], &[]).is_empty());
}

/// Threads that wait on CPUs are the cause: it comes first, and in the place of their number.
#[test]
fn threads_that_wait_on_cpus_come_first_and_once() {
    let spinning = |tid| TaskRow {
        last_ns: 1_000_000,
        cpus_allowed: Some("0-1".into()),
        spinning: Some(450),
        spinning_ns: Some(900_000),
        yields: Some(0),
        ..task(tid, 10, 500, 3_000_000)
    };
    let tasks: Vec<TaskRow> = (1..5).map(spinning).collect();
    let mut header = header();
    header.totals.throttled = Some(Throttled { periods: 10, throttled_periods: 1, throttled_ns: 3_000_000 });
    let found = advice(&header, &tasks, &[]);
    let what: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(what, [stands_out::WAITING_ON_CPUS, stands_out::THROTTLED]);
    assert!(found[0].cost.unwrap().high > 0.0 && found[0].saving.contains("cannot be bounded"), "{found:?}");
}

#[test]
fn two_that_wake_each_other_are_advised_by_where_they_do() {
    let tasks = [task(1, 500, 0, 0), task(2, 500, 0, 0)];
    let found = advice(&header(), &tasks, &[wake(1, 2, 500, 10), wake(2, 1, 500, 10)]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "two tasks wake each other across CPUs");
    assert!(found[0].evidence.contains("980 of them on two CPUs"), "{}", found[0].evidence);
    let found = advice(&header(), &tasks, &[wake(1, 2, 500, 490), wake(2, 1, 500, 490)]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "two tasks take turns on one CPU");
    assert!(found[0].evidence.contains("1000 times, 980 of them on one CPU"), "{}", found[0].evidence);
    assert!(!found[0].try_this.contains("taskset"), "they are on one CPU: {}", found[0].try_this);
    assert!(found[0].cost.unwrap().high > 0.0, "{found:?}");
    // Seldom, or a few among many switches, or where nothing says on which CPU.
    let seldom = advice(&header(), &tasks, &[wake(1, 2, 99, 99), wake(2, 1, 500, 500)]);
    let many = [task(1, 50_000, 0, 0), task(2, 50_000, 0, 0)];
    let among_many = advice(&header(), &many, &[wake(1, 2, 500, 490), wake(2, 1, 500, 490)]);
    let unknown = |waker, wakee| WakeRow { same_cpu: None, ..wake(waker, wakee, 500, 0) };
    let unplaced = advice(&header(), &tasks, &[unknown(1, 2), unknown(2, 1)]);
    assert!(seldom.is_empty() && among_many.is_empty() && unplaced.is_empty());
}

#[test]
fn a_lock_that_goes_round_needs_three() {
    let tasks = [task(1, 500, 0, 0), task(2, 500, 0, 0), task(3, 500, 0, 0)];
    let found =
        advice(&header(), &tasks, &[wake(1, 2, 500, 500), wake(2, 3, 500, 500), wake(3, 1, 500, 500)]);
    assert_eq!(found.len(), 1);
    assert!(found[0].evidence.starts_with("3 threads of worker (1)"), "{}", found[0].evidence);
    // The third only waits for the end of the two that take turns.
    let wakes = [wake(1, 2, 500, 500), wake(2, 1, 500, 500), wake(1, 3, 1, 1), wake(2, 3, 1, 1)];
    let found = advice(&header(), &tasks, &wakes);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].what, "two tasks take turns on one CPU");
}

#[test]
fn throttling_is_named() {
    let mut header = header();
    header.totals.throttled =
        Some(Throttled { periods: 100, throttled_periods: 60, throttled_ns: 3_000_000_000 });
    let found = advice(&header, &[task(1, 10, 0, 0)], &[]);
    assert!(found[0].evidence.contains("60 of 100"), "{found:?}");
}

/// A command of tasks that ran 2 ms in all, in 8 ms on two CPUs; `others_ns` is what other programs ran.
fn beside(others_ns: u64, own_in_front_ns: u64, others_in_front_ns: u64) -> Vec<Advice> {
    let mut header = header();
    header.scope = Scope::Command { command: vec!["work".into()], pid: 1 };
    header.duration_ns = 8_000_000;
    header.totals.switch_cost_ns = Some(0);
    let cpu = |cpu| CpuRow {
        cpu,
        run_ns: 1_000_000,
        user_ns: Some(1_000_000 + others_ns / 2),
        system_ns: Some(0),
        ..CpuRow::default()
    };
    let hog = TaskRow { tid: 9, comm: "hog".into(), in_scope: false, ..TaskRow::default() };
    let tasks = [task(1, 10, 500, 9_000_000), task(2, 10, 500, 9_000_000), hog];
    let row = |by_tid, ns| PreemptionRow { by_tid, of_tid: 1, count: 7, ns: Some(ns) };
    let preemptions = [row(2, own_in_front_ns), row(9, others_in_front_ns)];
    let tables = Tables {
        tasks: tasks.to_vec(),
        preemptions: preemptions.to_vec(),
        cpus: vec![cpu(0), cpu(1)],
        ..Tables::default()
    };
    let inputs = Inputs { trace: tables.view(&header), model: None, price: None };
    advise(inputs, &bill(inputs))
}

/// Fewer threads would wait behind the same programs.
#[test]
fn behind_other_programs_nobody_is_advised_to_start_fewer_threads() {
    let found = beside(13_000_000, 500_000, 9_500_000);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].what, "other programs were in front");
    for words in ["ran for 81 % of the CPUs' time", "87 % of it behind other programs", "hog (7 preemptions"]
    {
        assert!(found[0].evidence.contains(words), "{words}: {}", found[0].evidence);
    }
    assert!(!found[0].try_this.contains("thread"), "{}", found[0].try_this);
    // One of their own was the first of the queue each time; the others had the CPUs.
    assert_eq!(beside(13_000_000, 9_500_000, 500_000)[0].what, "other programs were in front");
    // The same waits, but for each other.
    let found = beside(1_000_000, 9_500_000, 500_000);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].what, "more runnable threads than CPUs");
}

/// Where tasks wait longer than they run, and where no waits are charged to a task, time on the tasks' CPUs decides.
#[test]
fn without_preemptions_the_cpus_time_says_who_was_in_front() {
    assert_eq!(beside(13_000_000, 0, 0)[0].what, "other programs were in front");
    assert_eq!(beside(1_000_000, 0, 0)[0].what, "more runnable threads than CPUs");
}

/// A hand-over takes at least its part of the bill, and at most a whole one of the Profile, by whether it crossed CPUs.
#[test]
fn a_hand_over_costs_its_system_calls_and_wake_ups_too() {
    let tasks = [task(1, 500, 0, 0), task(2, 500, 0, 0), task(3, 500, 0, 0)];
    let hand_over = HandOver { same_cpu_ns: 1000.0, other_cpu_ns: Some(4000.0) };
    let model = CostModel { hand_over: Some(hand_over), ..CostModel::default() };
    let cost = |same_cpu| {
        let header = header();
        let wakes = [wake(1, 2, 250, same_cpu), wake(2, 3, 250, same_cpu), wake(3, 1, 250, same_cpu)];
        let tables = Tables { tasks: tasks.to_vec(), wakes: wakes.to_vec(), ..Tables::default() };
        let inputs = Inputs { trace: tables.view(&header), model: Some(&model), price: None };
        let found = advise(inputs, &bill(inputs));
        let handed = found.into_iter().find(|one| one.what.contains("handed round")).unwrap();
        assert!(handed.saving.contains("cannot be bounded"));
        handed.cost.unwrap()
    };
    // 100 µs of switches in 3.1 ms, half of them hand-overs.
    assert!((cost(250).low - 0.05 / 3.1).abs() < 1e-9, "{:?}", cost(250));
    assert!((cost(250).high - 750.0 * 1000.0 / 3.1e6).abs() < 1e-9, "{:?}", cost(250));
    assert!((cost(0).high - 750.0 * 4000.0 / 3.1e6).abs() < 1e-9, "{:?}", cost(0));
}

/// No rule promises a bound: the Trace cannot hold what a changed program does.
#[test]
fn no_advice_bounds_what_it_saves() {
    let mut header = header();
    header.totals.throttled = Some(Throttled { periods: 10, throttled_periods: 6, throttled_ns: 3_000_000 });
    let tasks = [task(1, 500, 900, 3_000_000), task(2, 500, 900, 3_000_000), task(3, 500, 900, 3_000_000)];
    let wakes = [wake(1, 2, 500, 0), wake(2, 1, 500, 0), wake(2, 3, 500, 0)];
    let found = advice(&header, &tasks, &wakes);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found.iter().all(|one| one.saving.contains("cannot be bounded")), "{found:?}");
}
