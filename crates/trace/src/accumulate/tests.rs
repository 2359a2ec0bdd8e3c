//! Hand-worked runs.

use super::*;
use crate::event::{Counts, Interrupts};
use crate::tables::InFront::{self, Interrupt, Task};
use crate::tables::WaitStart::{self, Preempted, Woken};
use proptest::prelude::*;

fn switch(at_ns: u64, cpu: u32, prev_tid: u32, prev_state: PrevState, next_tid: u32) -> Event {
    Event::Switch(Switch {
        at_ns,
        cpu,
        prev_tid,
        next_tid,
        prev_state,
        preempted: prev_state == PrevState::Runnable,
        address_space_changed: Some(true),
        cost_ns: Some(10),
        prev_counts: None,
        after_gap: false,
        interrupted: false,
        throttled: None,
        spinning: None,
    })
}

fn wake(at_ns: u64, cpu: u32, wakee_tid: u32, waker_tid: u32) -> Event {
    Event::Wake(Wake { at_ns, cpu, wakee_tid, waker_tid: Some(waker_tid), new: false })
}

fn known(tid: u32) -> TaskInfo {
    TaskInfo { tid, pid: tid, parent_pid: Some(1), comm: format!("task{tid}"), ..TaskInfo::default() }
}

fn caches() -> CacheGroups {
    CacheGroups { l2: vec![0, 0, 1, 2], l3: vec![0, 0, 0, 1] }
}

/// Two tasks on one CPU: 7 sleeps and is woken by 8, waits, preempts 8, sleeps again.
fn two_tasks(scoped: bool, followed: &[u32]) -> (Accumulator, Vec<SwitchRow>) {
    let mut accumulator = Accumulator::new(1000, caches(), scoped);
    for tid in followed {
        accumulator.follow(&known(*tid));
    }
    let events = [
        switch(1100, 0, 0, PrevState::Runnable, 7),
        switch(1200, 0, 7, PrevState::Sleeping, 8),
        wake(1250, 0, 7, 8),
        switch(1300, 0, 8, PrevState::Runnable, 7),
        switch(1500, 0, 7, PrevState::Sleeping, 8),
        switch(1600, 0, 8, PrevState::Sleeping, 0),
    ];
    let mut rows = Vec::new();
    for event in &events {
        accumulator.take(event, &mut rows);
    }
    accumulator.end(&mut rows);
    (accumulator, rows)
}

#[test]
fn switches_at_which_a_task_waited_on_its_cpu_are_counted_with_the_time_before_them() {
    let spinning = |at_ns, prev_tid, next_tid, spinning| {
        let Event::Switch(switch) = switch(at_ns, 0, prev_tid, PrevState::Runnable, next_tid) else {
            unreachable!()
        };
        Event::Switch(Switch { spinning: Some(spinning), ..switch })
    };
    let mut accumulator = Accumulator::new(1000, caches(), false);
    for tid in [7, 8] {
        accumulator.follow(&known(tid));
    }
    let events = [
        spinning(1100, 0, 7, Spinning::No),
        spinning(1200, 7, 8, Spinning::Loop),
        spinning(1300, 8, 7, Spinning::No),
        spinning(1400, 7, 8, Spinning::Yield),
        spinning(1500, 8, 7, Spinning::No),
    ];
    let mut rows: Vec<SwitchRow> = Vec::new();
    for event in &events {
        accumulator.take(event, &mut rows);
    }
    let tasks = accumulator.snapshot(2000, History::Whole, &|_| None).tasks;
    let found: Vec<_> = tasks.iter().map(|task| (task.spinning, task.spinning_ns, task.yields)).collect();
    assert_eq!(found, [(Some(2), Some(180), Some(1)), (Some(0), Some(0), Some(0))]);
    // A source that does not say it leaves it absent.
    let (mut silent, _) = two_tasks(false, &[7, 8]);
    let tasks = silent.snapshot(2000, History::Whole, &|_| None).tasks;
    assert!(tasks.iter().all(|task| task.spinning.is_none() && task.yields.is_none()));
}

#[test]
fn waits_runs_and_preemptions_are_told_apart() {
    let (mut accumulator, rows) = two_tasks(false, &[7, 8]);
    let sums = accumulator.sums();
    assert_eq!((sums.voluntary, sums.involuntary, sums.idle, sums.wakeups), (3, 1, 1, 1));
    assert_eq!(
        rows.iter().map(|row| row.ran_ns).collect::<Vec<_>>(),
        [None, Some(90), Some(90), Some(190), Some(90)]
    );
    assert_eq!((rows[2].waited_ns, rows[2].waker_tid), (Some(50), Some(8)));
    assert_eq!(rows[3].waited_ns, Some(200), "a preempted task waits from then on");
    let tables = accumulator.snapshot(2000, History::Whole, &|_| None);
    let [seven, eight] = &tables.tasks[..] else { panic!("{:?}", tables.tasks) };
    assert_eq!((seven.run_ns, seven.voluntary, seven.involuntary, seven.wait_ns), (280, 2, 0, 50));
    assert_eq!((eight.run_ns, eight.voluntary, eight.involuntary, eight.wait_max_ns), (180, 1, 1, Some(200)));
    assert_eq!((seven.cold_switch_ins, eight.cold_switch_ins), (Some(2), Some(2)));
    let [preemption] = &tables.preemptions[..] else { panic!() };
    assert_eq!((preemption.by_tid, preemption.of_tid, preemption.count, preemption.ns), (7, 8, 1, Some(200)));
    let [wake] = &tables.wakes[..] else { panic!() };
    assert_eq!((wake.waker_tid, wake.wakee_tid, wake.count, wake.same_cpu), (8, 7, 1, Some(1)));
    assert_eq!(tables.cpus[0].run_ns, 280 + 180);
    // run + switch + idle = time: from the first switch's end to the last switch.
    assert_eq!(tables.cpus[0].run_ns + 4 * 10, 1600 - 1110 + 10);
}

#[test]
fn only_the_scope_counts_and_the_rest_is_named() {
    let (mut accumulator, _) = two_tasks(true, &[8]);
    let sums = accumulator.sums();
    assert_eq!((sums.voluntary, sums.involuntary, sums.idle, sums.wakeups), (1, 1, 0, 0));
    let tables = accumulator.snapshot(2000, History::Whole, &|_| None);
    assert_eq!(tables.preemptions[0].by_tid, 7);
    assert_eq!(accumulator.nameless(), [7]);
    accumulator.name(&known(7));
    let tables = accumulator.snapshot(2000, History::Whole, &|_| None);
    let rows: Vec<_> = tables.tasks.iter().map(|row| (row.comm.as_str(), row.in_scope, row.run_ns)).collect();
    assert_eq!(rows, [("task7", false, 0), ("task8", true, 180)]);
}

#[test]
fn migrations_have_their_class() {
    let mut accumulator = Accumulator::new(0, caches(), false);
    for (at_ns, cpu) in [(100, 0), (200, 1), (300, 2), (400, 3), (500, 3)] {
        accumulator.take(&switch(at_ns, cpu, 0, PrevState::Runnable, 7), &mut Vec::new());
        accumulator.take(&switch(at_ns + 50, cpu, 7, PrevState::Sleeping, 0), &mut Vec::new());
    }
    assert_eq!(accumulator.sums().migrations, Migrations { same_l2: 1, same_l3: 1, across: 1 });
}

#[test]
fn a_number_given_again_is_another_task() {
    let mut accumulator = Accumulator::new(0, caches(), true);
    accumulator.follow(&known(5));
    let life = |at_ns, kind| {
        Event::Life(Life {
            at_ns,
            tid: 7,
            pid: 7,
            parent_pid: 5,
            comm: "child".into(),
            kernel_thread: false,
            group: Some(9),
            scheduling: Scheduling::default(),
            kind,
        })
    };
    // Before, the number was that of a task that was not to be recorded.
    accumulator.take(&switch(50, 0, 7, PrevState::Sleeping, 5), &mut Vec::new());
    for at_ns in [100, 1100] {
        accumulator.take(&life(at_ns, LifeKind::Fork), &mut Vec::new());
        accumulator.take(&switch(at_ns + 10, 0, 5, PrevState::Sleeping, 7), &mut Vec::new());
        accumulator.take(&life(at_ns + 40, LifeKind::Exit), &mut Vec::new());
        accumulator.take(&switch(at_ns + 50, 0, 7, PrevState::Dead, 5), &mut Vec::new());
    }
    let sums = accumulator.sums();
    assert_eq!((sums.forked, sums.exited, sums.processes_peak), (2, 2, 2));
    accumulator.regroup(5, "/moved".into());
    let tables = accumulator.snapshot(2000, History::Whole, &|number| Some(format!("/number{number}")));
    let groups = |tid: u32| tables.tasks.iter().filter(move |row| row.tid == tid && row.in_scope);
    assert!(groups(7).count() == 2 && groups(7).all(|row| row.cgroup.as_deref() == Some("/number9")));
    assert!(groups(5).all(|row| row.cgroup.as_deref() == Some("/moved")));
    // Only those that count: the one that is left.
    assert_eq!(tables.intervals[0].tasks, Some(1));
    assert_eq!(accumulator.living(), [5]);
}

#[test]
fn a_lost_event_makes_no_time_up() {
    let mut accumulator = Accumulator::new(0, caches(), false);
    let mut rows = Vec::new();
    accumulator.take(&switch(100, 0, 0, PrevState::Runnable, 7), &mut rows);
    // The switch away from 7, and its move to CPU 1, were lost.
    accumulator.take(&switch(900, 1, 7, PrevState::Sleeping, 0), &mut rows);
    accumulator.end(&mut rows);
    assert_eq!(rows.iter().map(|row| row.ran_ns).collect::<Vec<_>>(), [None, None]);
}

fn any_event() -> impl Strategy<Value = Event> {
    let state = prop::sample::select(vec![PrevState::Runnable, PrevState::Sleeping, PrevState::Dead]);
    let tid = 0_u32..5;
    let counts = prop::option::of((any::<u32>(), any::<u16>()));
    prop_oneof![
        (any::<u64>(), 0_u32..3, tid.clone(), state, tid.clone(), counts).prop_map(
            |(at_ns, cpu, prev, state, next, counts)| {
                let Event::Switch(mut one) = switch(at_ns >> 20, cpu, prev, state, next) else {
                    unreachable!()
                };
                one.prev_counts = counts.map(|(voluntary, involuntary)| Counts { voluntary, involuntary });
                Event::Switch(one)
            }
        ),
        (any::<u64>(), 0_u32..3, tid.clone(), tid).prop_map(|(at_ns, cpu, a, b)| wake(
            at_ns >> 20,
            cpu,
            a,
            b
        )),
    ]
}

proptest! {
    /// A broken file or a lost event may bring anything in any order.
    #[test]
    fn nothing_panics(events in prop::collection::vec(any_event(), 0..200), scoped in any::<bool>()) {
        let mut accumulator = Accumulator::new(500, caches(), scoped);
        accumulator.follow(&known(3));
        for event in &events {
            accumulator.take(event, &mut Vec::new());
        }
        let tables = accumulator.snapshot(u64::MAX >> 20, History::Whole, &|_| None);
        prop_assert!(tables.tasks.iter().all(|row| row.tid != 0));
    }
}

#[test]
fn what_ended_is_told_once_and_memory_is_bounded_by_what_exists() {
    let mut accumulator = Accumulator::new(0, caches(), false);
    let mut told = 0;
    for round in 0..1000_u32 {
        let (at_ns, tid) = (u64::from(round) * 1000 + 100, 100 + round);
        accumulator.take(
            &Event::Life(Life {
                at_ns,
                tid,
                pid: tid,
                parent_pid: 5,
                comm: "child".into(),
                kernel_thread: false,
                group: None,
                scheduling: Scheduling::default(),
                kind: LifeKind::Fork,
            }),
            &mut Vec::new(),
        );
        accumulator.take(&wake(at_ns + 10, 0, tid, 5), &mut Vec::new());
        accumulator.take(&switch(at_ns + 20, 0, 5, PrevState::Runnable, tid), &mut Vec::new());
        accumulator.take(&switch(at_ns + 30, 0, tid, PrevState::Dead, 5), &mut Vec::new());
        if round % 10 == 9 {
            let tables = accumulator.snapshot(at_ns + 40, History::Recent, &|_| None);
            let ended = tables.tasks.iter().filter(|row| row.comm == "child");
            told += ended.map(|row| row.voluntary).sum::<u64>();
            assert_eq!(tables.preemptions.iter().map(|row| row.count).sum::<u64>(), 10);
            assert!(accumulator.ended.is_empty() && accumulator.tasks.len() <= 2);
            assert!(accumulator.wakes.len() <= 20 && accumulator.preemptions.len() <= 20);
        }
    }
    assert_eq!((told, accumulator.sums().voluntary), (1000, 1000));
}

#[test]
fn a_wait_that_ends_in_the_next_window_is_with_its_pair() {
    let mut accumulator = Accumulator::new(0, caches(), false);
    accumulator.take(&switch(100, 0, 0, PrevState::Runnable, 8), &mut Vec::new());
    accumulator.take(&switch(200, 0, 8, PrevState::Runnable, 7), &mut Vec::new());
    assert_eq!(accumulator.snapshot(250, History::Recent, &|_| None).preemptions[0].count, 1);
    accumulator.take(&switch(300, 0, 7, PrevState::Sleeping, 8), &mut Vec::new());
    let tables = accumulator.snapshot(350, History::Recent, &|_| None);
    let [pair] = &tables.preemptions[..] else { panic!("{:?}", tables.preemptions) };
    assert_eq!((pair.by_tid, pair.of_tid, pair.count, pair.ns), (7, 8, 0, Some(100)));
    let eight = tables.tasks.iter().find(|row| row.tid == 8).unwrap();
    assert_eq!((eight.wait_ns, eight.wait_max_ns), (100, Some(100)));
    let later = accumulator.snapshot(400, History::Recent, &|_| None);
    assert!(later.preemptions.is_empty());
    let eight = later.tasks.iter().find(|row| row.tid == 8).unwrap();
    assert_eq!((eight.wait_ns, eight.wait_max_ns), (100, None), "sums stay, the longest is of the window");
}

#[test]
fn tasks_whose_end_was_lost_are_forgotten() {
    let mut accumulator = Accumulator::new(0, caches(), true);
    for tid in [5, 6] {
        accumulator.follow(&known(tid));
    }
    accumulator.take(&switch(5000, 0, 0, PrevState::Runnable, 6), &mut Vec::new());
    accumulator.forget_unless(10_000, |tid| tid == 6);
    assert_eq!((accumulator.task_count(), accumulator.processes.len()), (1, 1));
}

proptest! {
    /// All windows together have the same figures as one snapshot at the end.
    #[test]
    fn windows_add_up(events in prop::collection::vec((0_u64..3, 0_u32..4, 0_u32..4, 0_u8..4, any::<bool>()), 1..80)) {
        let (mut asked, mut never) = (Accumulator::new(0, caches(), false), Accumulator::new(0, caches(), false));
        let (mut pairs, mut at_ns) = (0, 1000);
        for (cpu, prev, next, state, ask) in events {
            at_ns += 10;
            let state = [PrevState::Runnable, PrevState::Sleeping, PrevState::Dead, PrevState::Other][usize::from(state)];
            let event = switch(at_ns, cpu as u32, prev, state, next);
            asked.take(&event, &mut Vec::new());
            never.take(&event, &mut Vec::new());
            if ask {
                pairs += asked.snapshot(at_ns, History::Recent, &|_| None).preemptions.iter().map(|row| row.count).sum::<u64>();
            }
        }
        pairs += asked.snapshot(at_ns, History::Recent, &|_| None).preemptions.iter().map(|row| row.count).sum::<u64>();
        let whole = never.snapshot(at_ns, History::Whole, &|_| None);
        prop_assert_eq!(pairs, whole.preemptions.iter().map(|row| row.count).sum::<u64>());
        prop_assert_eq!(asked.sums(), never.sums());
    }
}

fn altered(event: &Event, change: impl Fn(&mut Switch)) -> Event {
    let Event::Switch(one) = event else { unreachable!() };
    let mut one = *one;
    change(&mut one);
    Event::Switch(one)
}

#[test]
fn how_long_a_task_outside_the_scope_ran_is_said_where_it_was_observed_only() {
    for (after_gap, ran_ns) in [(false, Some(390)), (true, None)] {
        let mut accumulator = Accumulator::new(0, caches(), true);
        accumulator.follow(&known(8));
        let mut rows = Vec::new();
        accumulator.take(&switch(100, 0, 8, PrevState::Runnable, 7), &mut rows);
        // With a gap, others came and went, and 7 again.
        let back = altered(&switch(500, 0, 7, PrevState::Sleeping, 8), |one| one.after_gap = after_gap);
        accumulator.take(&back, &mut rows);
        accumulator.end(&mut rows);
        assert_eq!(rows.iter().map(|row| row.ran_ns).collect::<Vec<_>>(), [None, ran_ns]);
        assert_eq!(rows[1].waited_ns, Some(400));
    }
}

/// CPU 1 is taken away inside the scheduler. Meanwhile 7 runs on CPU 0, sleeps and is woken; then CPU 1 goes on and takes it.
#[test]
fn a_task_that_comes_out_of_a_stolen_switch_comes_at_its_end() {
    let mut accumulator = Accumulator::new(0, caches(), false);
    let mut rows = Vec::new();
    for event in [
        switch(1_000, 0, 0, PrevState::Runnable, 7),
        altered(&switch(2_000, 1, 0, PrevState::Runnable, 7), |one| one.cost_ns = Some(1_000_000)),
        switch(5_000, 0, 7, PrevState::Sleeping, 0),
        wake(6_000, 0, 7, 8),
        switch(1_102_000, 1, 7, PrevState::Sleeping, 0),
    ] {
        accumulator.take(&event, &mut rows);
    }
    accumulator.end(&mut rows);
    assert_eq!(rows.iter().map(|row| row.at_ns).collect::<Vec<_>>(), [1_000, 2_000, 5_000, 1_102_000]);
    let seven = accumulator
        .snapshot(2_000_000, History::Whole, &|_| None)
        .tasks
        .into_iter()
        .find(|row| row.tid == 7)
        .unwrap();
    assert_eq!((seven.run_ns, seven.voluntary), (3_990 + 100_000, 2));
    assert_eq!(accumulator.late().all(), 0);
}

#[test]
fn an_event_that_comes_late_is_counted_and_changes_no_time() {
    let mut accumulator = Accumulator::new(0, caches(), false);
    let mut rows = Vec::new();
    for event in [
        switch(1_000, 0, 0, PrevState::Runnable, 7),
        switch(9_000, 0, 7, PrevState::Sleeping, 0),
        // Of CPU 1, from before.
        switch(500, 1, 7, PrevState::Runnable, 0),
    ] {
        accumulator.take(&event, &mut rows);
    }
    accumulator.end(&mut rows);
    assert_eq!((rows.len(), accumulator.late().by_cpu.get(&1)), (2, Some(&1)));
    let seven = &accumulator.snapshot(10_000, History::Whole, &|_| None).tasks[0];
    assert_eq!((seven.run_ns, seven.voluntary, seven.involuntary), (7_990, 1, 1));
}

#[test]
fn a_task_that_left_without_an_event_does_not_run_until_the_end() {
    let mut accumulator = Accumulator::new(1000, caches(), false);
    let mut rows = Vec::new();
    for event in [
        switch(1100, 0, 0, PrevState::Runnable, 7),
        // 7 left for the idle task, and no event said so.
        switch(1200, 0, 0, PrevState::Runnable, 8),
        switch(1300, 0, 8, PrevState::Sleeping, 0),
    ] {
        accumulator.take(&event, &mut rows);
    }
    accumulator.end(&mut rows);
    let tables = accumulator.snapshot(9000, History::Whole, &|_| None);
    let run_ns: u64 = tables.tasks.iter().map(|task| task.run_ns).sum();
    assert!(run_ns <= 100, "7 is not known to have run, and 8 ran for at most 100 ns: {run_ns}");
}

/// The parts of a task's waits in a table, by how they began and what was in front.
fn parts(tables: &Tables, of_tid: u32) -> Vec<(WaitStart, InFront, &str, u64, u64)> {
    let rows = tables.waits.iter().filter(|row| row.of_tid == of_tid);
    let mut parts: Vec<_> =
        rows.map(|row| (row.began, row.behind, row.program.as_str(), row.waits, row.ns)).collect();
    parts.sort_unstable_by_key(|part| (part.0 == WaitStart::Preempted, part.2, part.4));
    parts
}

/// Task 5 is woken while task 6 runs, and comes after tasks 6 and 7. Then it is preempted by 7, during which interrupts take 30 of 100 ns.
#[test]
fn a_wait_is_charged_to_what_had_the_cpu_and_by_how_it_began() {
    let mut accumulator = Accumulator::new(0, caches(), false);
    for tid in [5, 6, 7] {
        accumulator.name(&known(tid));
    }
    let interrupts = |at_ns, ns| Event::Interrupts(Interrupts { at_ns, cpu: 0, ns, over_ns: 100 });
    let events = [
        switch(0, 0, 0, PrevState::Runnable, 6),
        wake(100, 1, 5, 9),
        switch(150, 0, 6, PrevState::Runnable, 7),
        switch(400, 0, 7, PrevState::Sleeping, 5),
        switch(500, 0, 5, PrevState::Runnable, 7),
        interrupts(600, 30),
        switch(700, 0, 7, PrevState::Sleeping, 5),
        switch(800, 0, 5, PrevState::Sleeping, 6),
    ];
    for event in &events {
        accumulator.take(event, &mut Vec::new());
    }
    let tables = accumulator.snapshot(1000, History::Whole, &|_| None);
    let expected = [
        (Woken, Task, "task6", 1, 50),
        (Woken, Task, "task7", 1, 250),
        (Preempted, Interrupt, "", 1, 30),
        (Preempted, Task, "task7", 1, 170),
    ];
    assert_eq!(parts(&tables, 5), expected);
    let row = tables.tasks.iter().find(|row| row.tid == 5).unwrap();
    assert_eq!(row.wait_ns, 500, "the parts add up to it");
}

/// The quota of task 5 stops it at 200, while task 7 of another cgroup runs. Task 6 of its own comes first at 500, and 5 after it at 600. A wait
/// after that is none of the quota's.
#[test]
fn a_quota_has_a_wait_until_a_task_of_the_cgroup_comes() {
    let mut accumulator = Accumulator::new(0, caches(), false);
    for (tid, group) in [(5, "/shop"), (6, "/shop"), (7, "/other")] {
        accumulator.name(&TaskInfo { group: Some(group.to_owned()), ..known(tid) });
    }
    let stopped =
        |event| altered(&event, |switch| switch.throttled = Some(switch.prev_state == PrevState::Runnable));
    let events = [
        switch(100, 0, 0, PrevState::Sleeping, 5),
        stopped(switch(200, 0, 5, PrevState::Runnable, 7)),
        switch(500, 0, 7, PrevState::Sleeping, 6),
        switch(600, 0, 6, PrevState::Sleeping, 5),
        switch(700, 0, 5, PrevState::Runnable, 7),
        switch(800, 0, 7, PrevState::Sleeping, 5),
    ];
    for event in &events {
        accumulator.take(event, &mut Vec::new());
    }
    let tables = accumulator.snapshot(1000, History::Whole, &|_| None);
    let expected = [
        (Preempted, InFront::Quota, "", 1, 300),
        (Preempted, Task, "task6", 1, 100),
        (Preempted, Task, "task7", 1, 100),
    ];
    assert_eq!(parts(&tables, 5), expected);
    let row = tables.tasks.iter().find(|row| row.tid == 5).unwrap();
    assert_eq!((row.wait_ns, row.idle_elsewhere_ns), (500, Some(0)), "no other CPU could have taken it");
    let preemptions: Vec<_> =
        tables.preemptions.iter().map(|row| (row.by_tid, row.of_tid, row.count)).collect();
    assert_eq!(preemptions, [(7, 5, 1)], "what a quota stopped was not preempted");
}

/// CPU 1 is idle from 200 to 300, while task 5 waits for CPU 0 from 100 to 400. A task that may not use CPU 1 had no use of that.
#[test]
fn another_cpu_was_idle_only_where_the_task_may_use_it() {
    for (cpus, idle_ns) in [(None, 100), (Some("0-1"), 100), (Some("0"), 0)] {
        let mut accumulator = Accumulator::new(0, caches(), false);
        let scheduling = Scheduling { cpus: cpus.map(|list| list.parse().unwrap()), ..Scheduling::default() };
        accumulator.name(&TaskInfo { scheduling: scheduling.clone(), ..known(5) });
        let events = [
            switch(10, 0, 0, PrevState::Runnable, 6),
            switch(20, 1, 0, PrevState::Runnable, 8),
            wake(100, 1, 5, 9),
            switch(200, 1, 8, PrevState::Sleeping, 0),
            switch(300, 1, 0, PrevState::Runnable, 8),
            switch(400, 0, 6, PrevState::Sleeping, 5),
        ];
        for event in &events {
            accumulator.take(event, &mut Vec::new());
        }
        let idle = |accumulator: &mut Accumulator| {
            let tables = accumulator.snapshot(1000, History::Whole, &|_| None);
            tables.tasks.iter().find(|row| row.tid == 5).unwrap().idle_elsewhere_ns
        };
        assert_eq!(idle(&mut accumulator), Some(idle_ns), "{cpus:?}");
        // It turns out that the task may use another CPU than was assumed: what was compared is worth nothing.
        let other = Scheduling { cpus: Some("3".parse().unwrap()), ..scheduling };
        accumulator.reschedule(5, &other);
        assert_eq!(idle(&mut accumulator), None, "{cpus:?}");
    }
}

/// Of a recording of one task, the source says which CPUs are idle while it waits: the same waits give the same time as with all CPUs in view.
#[test]
fn where_some_tasks_count_the_source_says_which_cpus_are_idle() {
    let idle = |at_ns, cpus| Event::Idle(Idle { at_ns, cpus });
    for (cpus, told, idle_ns) in [
        (None, true, Some(130)),
        (Some("0,2"), true, Some(30)),
        (Some("0"), true, Some(0)),
        (None, false, None),
    ] {
        let mut accumulator = Accumulator::new(0, caches(), true);
        if told {
            accumulator.is_told_idle();
        }
        let scheduling = Scheduling { cpus: cpus.map(|list| list.parse().unwrap()), ..Scheduling::default() };
        accumulator.follow(&TaskInfo { scheduling, ..known(5) });
        let events = [
            // No event tells the idle CPUs while nothing waits; the first wait brings one.
            idle(10, 0b110),
            wake(100, 1, 5, 9),
            idle(101, 0b000),
            idle(200, 0b010),
            idle(300, 0b000),
            switch(400, 0, 6, PrevState::Sleeping, 5),
            switch(500, 0, 5, PrevState::Runnable, 6),
            idle(501, 0b100),
            idle(530, 0b000),
            switch(600, 0, 6, PrevState::Sleeping, 5),
        ];
        for event in &events {
            accumulator.take(event, &mut Vec::new());
        }
        let tables = accumulator.snapshot(1000, History::Whole, &|_| None);
        let row = tables.tasks.iter().find(|row| row.tid == 5).unwrap();
        assert_eq!((row.wait_ns, row.idle_elsewhere_ns), (400, idle_ns), "{cpus:?}");
    }
}

proptest! {
    /// Whatever runs: the parts of a task's waits are its waits.
    #[test]
    fn parts_of_waits_add_up(steps in prop::collection::vec((0_u32..2, 0_u32..6, any::<bool>(), 0_u8..8, 1_u64..50), 1..200)) {
        let mut accumulator = Accumulator::new(0, caches(), false);
        let mut running = [0_u32; 2];
        let (mut now_ns, mut switches) = (0, Vec::new());
        for (cpu, next, runnable, kind, ns) in steps {
            now_ns += ns;
            let prev = std::mem::replace(&mut running[cpu as usize], next);
            let state = if runnable && prev != 0 { PrevState::Runnable } else { PrevState::Sleeping };
            let event = match kind {
                0 => Event::Interrupts(Interrupts { at_ns: now_ns, cpu, ns: ns / 2, over_ns: ns }),
                1 | 2 => wake(now_ns, cpu, 1 + next, 9),
                _ => switch(now_ns, cpu, prev, state, next),
            };
            if kind < 3 {
                running[cpu as usize] = prev;
            }
            accumulator.take(&event, &mut switches);
        }
        let tables = accumulator.snapshot(now_ns + 100, History::Whole, &|_| None);
        for task in &tables.tasks {
            let sum: u64 = tables.waits.iter().filter(|row| row.of_tid == task.tid).map(|row| row.ns).sum();
            prop_assert_eq!(sum, task.wait_ns, "{}", task.tid);
        }
    }
}
