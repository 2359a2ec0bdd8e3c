//! Timelines worked by hand, and made-up ones whose truth is known.

use super::*;
use proptest::prelude::*;
use swtch_trace::Writer;
use swtch_trace::accumulate::{Accumulator, CacheGroups, History, TaskInfo};
use swtch_trace::event::{Event, Interrupts, PrevState, Switch, Wake};
use swtch_trace::model::{Ended, Header, Provenance, Scope};
use swtch_trace::tables::{CgroupRow, InFront, IntervalRow, SwitchRow, Tables};

const MS: u64 = 1_000_000;

fn switch(at_ns: u64, cpu: u32, prev_tid: u32, prev_state: PrevState, next_tid: u32) -> Event {
    Event::Switch(Switch::bare(at_ns, cpu, prev_tid, next_tid, prev_state))
}

fn wake(at_ns: u64, wakee_tid: u32, waker_tid: u32) -> Event {
    Event::Wake(Wake { at_ns, cpu: 0, wakee_tid, waker_tid: Some(waker_tid), new: false })
}

/// A Trace of the whole machine from these events; tasks 1 to `tasks`, of the processes `tid / 10`, named after their number.
fn trace(
    events: &[Event],
    tasks: u32,
    duration_ns: u64,
    change: impl FnOnce(&mut Tables),
) -> (tempfile::TempDir, Trace) {
    let mut accumulator = Accumulator::new(0, CacheGroups::default(), false);
    for tid in 1..=tasks {
        accumulator.follow(&TaskInfo {
            tid,
            pid: tid / 10,
            comm: format!("task{tid}"),
            group: Some("/web".into()),
            ..TaskInfo::default()
        });
    }
    let mut rows: Vec<SwitchRow> = Vec::new();
    for event in events {
        accumulator.take(event, &mut rows);
    }
    accumulator.end(&mut rows);
    let mut tables = accumulator.snapshot(duration_ns, History::Whole, &|_| None);
    tables.intervals.clear();
    change(&mut tables);
    let mut header = Header::new(Provenance::default(), swtch_topology::Host::default(), Scope::Machine);
    (header.duration_ns, header.provenance.ended) = (duration_ns, Ended::Complete);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("made.swtch");
    let mut writer = Writer::create(&folder, &header).unwrap();
    writer.append_switches(&rows).unwrap();
    tables.put_all(&mut writer).unwrap();
    writer.finish(&header).unwrap();
    (place, Trace::open_unchecked(&folder).unwrap())
}

fn of_thread(tid: u32, list: &[(u64, u64)]) -> Spans {
    let span = |(begin_ns, end_ns): &(u64, u64)| Span {
        name: "work".to_owned(),
        id: None,
        owner: SpanOwner::Thread(tid),
        begin_ns: *begin_ns,
        end_ns: *end_ns,
    };
    Spans { spans: list.iter().map(span).collect(), ..Spans::default() }
}

fn share(group: &SpanGroup, cause: SpanCause) -> f64 {
    group.causes.iter().find(|part| part.cause == cause).map_or(0.0, |part| part.share)
}

fn behind(group: &SpanGroup, cause: SpanCause) -> Vec<(&str, f64, Option<u32>)> {
    let part = group.causes.iter().find(|part| part.cause == cause).unwrap();
    part.behind.iter().map(|behind| (behind.name.as_str(), behind.share, behind.cpu)).collect()
}

/// Task 1 runs, loses CPU 0 to task 2 and then to task 3, and blocks until task 3 wakes it.
fn crowded() -> Vec<Event> {
    vec![
        switch(MS, 0, 0, PrevState::Runnable, 1),
        switch(11 * MS, 0, 1, PrevState::Runnable, 2),
        switch(31 * MS, 0, 2, PrevState::Sleeping, 3),
        switch(41 * MS, 0, 3, PrevState::Runnable, 1),
        switch(51 * MS, 0, 1, PrevState::Sleeping, 3),
        wake(91 * MS, 1, 3),
        switch(101 * MS, 0, 3, PrevState::Sleeping, 1),
        switch(105 * MS, 0, 1, PrevState::Sleeping, 0),
    ]
}

#[test]
fn a_span_is_divided_by_what_its_thread_did_and_waited_for() {
    let (_place, trace) = trace(&crowded(), 3, 200 * MS, |_| {});
    let why = why(&trace, &of_thread(1, &[(MS, 101 * MS), (2 * MS, 3 * MS)]), None, 0.01).unwrap();
    let slow = &why.slow;
    assert_eq!((slow.count, slow.mean_ns), (1, Some(100.0 * MS as f64)));
    assert_eq!(
        [SpanCause::OnCpu, SpanCause::RunQueue, SpanCause::Blocked].map(|cause| share(slow, cause)),
        [0.2, 0.4, 0.4]
    );
    assert_eq!(behind(slow, SpanCause::RunQueue), [("task2", 0.2, Some(0)), ("task3", 0.2, Some(0))]);
    assert_eq!(behind(slow, SpanCause::Blocked), [("task3", 0.4, None)]);
    assert_eq!((why.ordinary.count, share(&why.ordinary, SpanCause::OnCpu)), (1, 1.0));
    // A part of a wait: the last 5 ms behind task 2, and 4 behind task 3.
    let part = super::why(&trace, &of_thread(1, &[(26 * MS, 35 * MS)]), None, 0.5).unwrap();
    let ninths = behind(&part.slow, SpanCause::RunQueue)
        .iter()
        .map(|(_, share, _)| (share * 9.0).round() as u32)
        .collect::<Vec<_>>();
    assert_eq!(ninths, [5, 4]);
}

#[test]
fn a_quota_is_told_from_a_busy_and_from_an_idle_cpu() {
    let events = [
        switch(MS, 0, 0, PrevState::Runnable, 1),
        // 5 ms behind another task of the group, whose quota is then used up.
        switch(5 * MS, 0, 1, PrevState::Runnable, 2),
        switch(10 * MS, 0, 2, PrevState::Runnable, 0),
        switch(101 * MS, 0, 0, PrevState::Runnable, 1),
    ];
    let limit = |tables: &mut Tables| {
        tables.cgroups =
            vec![CgroupRow { path: "/web".into(), throttled_ns: Some(91 * MS), ..CgroupRow::default() }];
    };
    let spans = of_thread(1, &[(MS, 101 * MS)]);
    let (_place, limited) = trace(&events, 2, 200 * MS, limit);
    let slow = why(&limited, &spans, None, 0.5).unwrap().slow;
    assert_eq!(
        [SpanCause::OnCpu, SpanCause::RunQueue, SpanCause::Throttled].map(|cause| share(&slow, cause)),
        [0.04, 0.05, 0.91]
    );
    let (_place, free) = trace(&events, 2, 200 * MS, |_| {});
    let slow = why(&free, &spans, None, 0.5).unwrap().slow;
    assert_eq!(behind(&slow, SpanCause::RunQueue)[0].0, "an idle CPU that was waking up");
}

#[test]
fn interrupts_and_the_hypervisor_take_their_share_of_running_time() {
    let row = |at_ns: u64, irq_ns: u64, steal_ns: u64| IntervalRow {
        at_ns,
        length_ns: 50 * MS,
        user_ns: Some(50 * MS - irq_ns - steal_ns),
        irq_ns: Some(irq_ns),
        steal_ns: Some(steal_ns),
        ..IntervalRow::default()
    };
    let events = [switch(0, 0, 0, PrevState::Runnable, 1), switch(100 * MS, 0, 1, PrevState::Sleeping, 0)];
    let rates = |tables: &mut Tables| tables.intervals = vec![row(0, 0, 25 * MS), row(50 * MS, 40 * MS, 0)];
    let (_place, trace) = trace(&events, 1, 200 * MS, rates);
    let slow = why(&trace, &of_thread(1, &[(0, 100 * MS)]), None, 0.5).unwrap().slow;
    assert_eq!(
        [SpanCause::OnCpu, SpanCause::Interrupt, SpanCause::Steal].map(|cause| share(&slow, cause)),
        [0.35, 0.4, 0.25]
    );
}

/// The thread is preempted, then stopped by its quota while others have its CPU, and comes back behind a task of its own group.
#[test]
fn what_the_kernel_calls_throttled_is_so_on_a_busy_cpu_too() {
    let stopped = |at_ns, prev_tid, next_tid| {
        let Event::Switch(switch) = switch(at_ns, 0, prev_tid, PrevState::Runnable, next_tid) else {
            unreachable!()
        };
        Event::Switch(Switch { throttled: Some(true), ..switch })
    };
    let events = [
        switch(MS, 0, 0, PrevState::Runnable, 1),
        switch(11 * MS, 0, 1, PrevState::Runnable, 3),
        switch(21 * MS, 0, 3, PrevState::Runnable, 1),
        stopped(31 * MS, 1, 3),
        switch(81 * MS, 0, 3, PrevState::Runnable, 2),
        switch(91 * MS, 0, 2, PrevState::Runnable, 1),
        switch(101 * MS, 0, 1, PrevState::Sleeping, 0),
    ];
    let other_group = |tables: &mut Tables| {
        let tasks = tables.tasks.iter_mut().filter(|task| task.tid == 3);
        tasks.for_each(|task| task.cgroup = Some("/other".to_owned()));
    };
    let (_place, trace) = trace(&events, 3, 200 * MS, other_group);
    let slow = why(&trace, &of_thread(1, &[(MS, 101 * MS)]), None, 0.5).unwrap().slow;
    assert_eq!(
        [SpanCause::OnCpu, SpanCause::RunQueue, SpanCause::Throttled].map(|cause| share(&slow, cause)),
        [0.3, 0.2, 0.5]
    );
    assert_eq!(behind(&slow, SpanCause::RunQueue), [("task2", 0.1, Some(0)), ("task3", 0.1, Some(0))]);
}

/// 20 ms of interrupts in a burst of 30 ms on the thread's CPU, and others on another one.
#[test]
fn interrupts_that_were_seen_count_where_and_when_they_were() {
    let interrupts = |at_ns, cpu, ns, over_ns| Event::Interrupts(Interrupts { at_ns, cpu, ns, over_ns });
    let events = [
        switch(MS, 0, 0, PrevState::Runnable, 1),
        interrupts(40 * MS, 0, 20 * MS, 30 * MS),
        interrupts(41 * MS, 1, 30 * MS, 30 * MS),
        switch(41 * MS, 0, 1, PrevState::Runnable, 2),
        interrupts(51 * MS, 0, 5 * MS, 10 * MS),
        switch(61 * MS, 0, 2, PrevState::Sleeping, 1),
        switch(101 * MS, 0, 1, PrevState::Sleeping, 0),
    ];
    let (_place, trace) = trace(&events, 2, 200 * MS, |_| {});
    let why = why(&trace, &of_thread(1, &[(MS, 101 * MS), (61 * MS, 81 * MS)]), None, 0.5).unwrap();
    let slow = &why.slow;
    assert_eq!(
        [SpanCause::OnCpu, SpanCause::RunQueue, SpanCause::Interrupt].map(|cause| share(slow, cause)),
        [0.6, 0.2, 0.2]
    );
    assert_eq!(behind(slow, SpanCause::RunQueue), [("task2", 0.15, Some(0)), ("interrupts", 0.05, Some(0))]);
    assert_eq!(share(&why.ordinary, SpanCause::Interrupt), 0.0);
}

#[test]
fn several_threads_count_as_one_that_does_most() {
    let events = [
        switch(0, 0, 0, PrevState::Runnable, 11),
        switch(10 * MS, 0, 11, PrevState::Sleeping, 12),
        switch(30 * MS, 0, 12, PrevState::Runnable, 20),
        switch(60 * MS, 0, 20, PrevState::Sleeping, 12),
        switch(100 * MS, 0, 12, PrevState::Sleeping, 0),
    ];
    let (_place, trace) = trace(&events, 20, 200 * MS, |tables| tables.tasks.retain(|task| task.last_ns > 0));
    let mut spans = of_thread(0, &[(0, 100 * MS)]);
    spans.spans[0].owner = SpanOwner::Process(1);
    let why = why(&trace, &spans, None, 0.5).unwrap();
    assert_eq!([SpanCause::OnCpu, SpanCause::RunQueue].map(|cause| share(&why.slow, cause)), [0.7, 0.3]);
    assert!(why.notes[0].contains("any thread of process 1"), "{:?}", why.notes);
}

#[test]
fn the_ordinary_spans_are_the_middle_half_and_one_is_always_slow() {
    let (_place, trace) = trace(&crowded(), 3, 200 * MS, |_| {});
    let list: Vec<(u64, u64)> = (1..=100).map(|length| (MS, MS + length * 10_000)).collect();
    let why = why(&trace, &of_thread(1, &list), Some("work"), 0.01).unwrap();
    assert_eq!((why.slow.count, why.slow.mean_ns), (1, Some(1e6)));
    assert_eq!((why.ordinary.count, why.ordinary.mean_ns), (50, Some(505_000.0)));
    let missing = super::why(&trace, &of_thread(1, &list), Some("pay"), 0.01).unwrap_err().to_string();
    assert_eq!(missing, "no span is called 'pay'; there are work");
}

/// What a task does, in a made-up run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Runs(usize),
    Waits,
    Sleeps,
}

/// What a task did, from when.
type Truth = Vec<(u64, Does)>;

/// A run of tasks on two CPUs by these choices: its events, and what each task did from when.
fn made_up(choices: &[(u8, u8, u8)]) -> (Vec<Event>, Vec<Truth>, u64) {
    const TASKS: usize = 4;
    let mut does = [Does::Sleeps; TASKS];
    let mut truth: Vec<Truth> = vec![vec![(0, Does::Sleeps)]; TASKS];
    let mut on: [Option<usize>; 2] = [None; 2];
    let (mut events, mut at_ns) = (Vec::new(), 0);
    for (kind, which, time) in choices {
        at_ns += 1 + u64::from(*time) * 1000;
        let task = usize::from(*which) % TASKS;
        if kind % 3 == 0 {
            if does[task] == Does::Sleeps {
                does[task] = Does::Waits;
                truth[task].push((at_ns, Does::Waits));
                events.push(wake(at_ns, task as u32 + 1, 99));
            }
            continue;
        }
        let cpu = usize::from(*kind) % 2;
        let next = (0..TASKS).map(|step| (task + step) % TASKS).find(|task| does[*task] == Does::Waits);
        let prev = on[cpu];
        if prev.is_none() && next.is_none() {
            continue;
        }
        let sleeps = kind % 5 < 2 || next.is_none();
        let state = if sleeps { PrevState::Sleeping } else { PrevState::Runnable };
        if let Some(prev) = prev {
            does[prev] = if sleeps { Does::Sleeps } else { Does::Waits };
            truth[prev].push((at_ns, does[prev]));
        }
        if let Some(next) = next {
            does[next] = Does::Runs(cpu);
            truth[next].push((at_ns, does[next]));
        }
        on[cpu] = next;
        let number = |task: Option<usize>| task.map_or(0, |task| task as u32 + 1);
        events.push(switch(at_ns, cpu as u32, number(prev), state, number(next)));
    }
    (events, truth, at_ns + 1000)
}

/// How long a task did something between two moments.
fn truly(of: &[(u64, Does)], wanted: fn(Does) -> bool, from_ns: u64, to_ns: u64) -> u64 {
    let ends = of.iter().skip(1).map(|(at_ns, _)| *at_ns).chain([u64::MAX]);
    of.iter()
        .zip(ends)
        .filter(|((_, does), _)| wanted(*does))
        .map(|((at_ns, _), end_ns)| end_ns.min(to_ns).saturating_sub((*at_ns).max(from_ns)))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn parts_add_up_to_the_span_and_are_what_was_made_up(
        choices in prop::collection::vec(any::<(u8, u8, u8)>(), 20..120),
        ends in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 1..6),
        tid in 1_u32..5,
    ) {
        let (events, truth, duration_ns) = made_up(&choices);
        let (_place, trace) = trace(&events, 4, duration_ns, |_| {});
        let of = &truth[tid as usize - 1];
        // Before its first event nothing is known of a task.
        // Of a wait that has not ended, a Trace does not say when it began.
        let last = of.iter().rev().find(|(_, does)| matches!(does, Does::Runs(_)));
        prop_assume!(last.is_some());
        let (first_ns, last_ns) = (of[1].0, last.map_or(0, |(at_ns, _)| *at_ns));
        let moment = |part: f64| first_ns + (part * (last_ns - first_ns) as f64) as u64;
        let list: Vec<(u64, u64)> = ends.iter().map(|(a, b): &(f64, f64)| (moment(a.min(*b)), moment(a.max(*b)))).collect();
        let spans = of_thread(tid, &list);
        let owners = spans.spans.iter().map(|span| &span.owner).collect();
        let timelines = Timelines::read(&trace, &owners).unwrap();
        let divider = Divider::of(trace.view(), &timelines);
        for span in &spans.spans {
            let divided = divider.divide(span);
            prop_assert_eq!(divided.parts.iter().sum::<u64>(), span.length_ns());
            let truly = |wanted| truly(of, wanted, span.begin_ns, span.end_ns);
            prop_assert_eq!(divided.parts[SpanCause::OnCpu as usize], truly(|does| matches!(does, Does::Runs(_))));
            prop_assert_eq!(divided.parts[SpanCause::RunQueue as usize], truly(|does| does == Does::Waits));
            prop_assert_eq!(divided.parts[SpanCause::Blocked as usize], truly(|does| does == Does::Sleeps));
        }
        // Over its whole time, what the thread waited behind is what the table says.
        let whole = divider.divide(&of_thread(tid, &[(0, last_ns)]).spans[0]);
        let mut waits: Vec<(String, u64)> = whole
            .behind
            .iter()
            .filter(|((cause, _), _)| *cause == SpanCause::RunQueue)
            .map(|((_, whom), cpus)| (whom.name.clone(), cpus.values().sum()))
            .collect();
        waits.sort();
        let mut table: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
        for row in trace.waits.iter().filter(|row| row.of_tid == tid) {
            let name = match row.behind {
                InFront::Task => row.program.clone(),
                InFront::Idle => "an idle CPU that was waking up".to_owned(),
                InFront::Interrupt => "interrupts".to_owned(),
                InFront::Quota => "a quota".to_owned(),
                InFront::Unseen => "tasks that were not recorded".to_owned(),
            };
            *table.entry(name).or_default() += row.ns;
        }
        prop_assert_eq!(waits, table.into_iter().collect::<Vec<_>>());
    }
}
