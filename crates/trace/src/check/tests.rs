//! One honest Trace, and for each check a change of it that breaks this check and no other.

use super::*;
use crate::Trace;
use crate::model::{
    CpuTime, Header, Lost, Pressure, Provenance, Reconciliation, Scope, SwitchTotals, Table, Throttled,
    Totals, Unavailable,
};
use crate::tables::{
    CgroupRow, CpuRow, HistogramRow, InterruptRow, InterruptionRow, IntervalRow, PreemptionRow, StackRow,
    TaskRow, WakeRow,
};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use swtch_topology::Host;
use swtch_topology::host::Cpu;

/// A Trace in memory.
#[derive(Clone, Debug)]
struct Whole {
    header: Header,
    tables: Tables,
}

impl Deref for Whole {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.tables
    }
}

impl DerefMut for Whole {
    fn deref_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }
}

impl Whole {
    fn view(&self) -> TraceView<'_> {
        self.tables.view(&self.header)
    }

    /// The figures that are refused.
    fn refused(&self) -> Vec<String> {
        let refused = check(self.view()).err();
        refused.map_or(Vec::new(), |refused| refused.figures.into_iter().map(|one| one.figure).collect())
    }
}

fn class(metric: &str, of: &str, from_ns: u64, to_ns: u64, count: u64) -> HistogramRow {
    HistogramRow { metric: metric.to_owned(), of: of.to_owned(), from_ns, to_ns, count }
}

fn task(tid: u32, voluntary: u64, involuntary: u64) -> TaskRow {
    TaskRow {
        tid,
        pid: tid,
        comm: format!("task{tid}"),
        in_scope: true,
        last_ns: SECOND - 1,
        voluntary,
        involuntary,
        wakeups: voluntary,
        run_ns: 400 * MS,
        wait_ns: 45 * MS,
        waits: voluntary + involuntary,
        wait_p50_ns: Some(110),
        wait_p90_ns: Some(1_100_000),
        wait_p99_ns: Some(1_200_000),
        wait_max_ns: Some(10 * MS),
        slice_p50_ns: Some(MS),
        slice_max_ns: Some(20 * MS),
        migrations_same_l3: Some(10),
        switch_cost_ns: Some(100_000),
        user_ns: Some(300 * MS),
        system_ns: Some(100 * MS),
        ..TaskRow::default()
    }
}

/// Of one second on two CPUs.
fn header() -> Header {
    let cpu = |id| Cpu { id, online: true, ..Cpu::default() };
    let host = Host { cpus: vec![cpu(0), cpu(1)], ..Host::default() };
    let mut header = Header::new(Provenance::default(), host, Scope::Machine);
    header.provenance.ended = Ended::Complete;
    header.duration_ns = SECOND;
    header.totals = Totals {
        context_switches: SwitchTotals { voluntary: Some(150), involuntary: Some(50), idle: Some(30) },
        wakeups: Some(150),
        cpu_ns: CpuTime { user: Some(600 * MS), system: Some(200 * MS), ..CpuTime::default() },
        threads_created: Some(2),
        throttled: Some(Throttled { periods: 10, throttled_periods: 5, throttled_ns: 100 * MS }),
        pressure: vec![Pressure { resource: "cpu".to_owned(), some_ns: Some(MS), full_ns: None }],
        switch_cost_ns: Some(200_000),
        ..Totals::default()
    };
    header.totals.processes.forked = Some(1);
    header.reconciliation = vec![Reconciliation { counted: 230, kernel: 229, ..Reconciliation::default() }];
    header.tables = vec![Table { name: "switches".to_owned(), rows: 230, files: Vec::new() }];
    header
}

/// One second on two CPUs.
fn honest() -> Whole {
    let interval = |at_ns| IntervalRow {
        at_ns,
        length_ns: SECOND / 2,
        voluntary: Some(75),
        involuntary: Some(25),
        idle_switches: Some(15),
        wakeups: Some(75),
        migrations: Some(10),
        run_ns: Some(400 * MS),
        ..IntervalRow::default()
    };
    let cpu = |cpu| CpuRow {
        cpu,
        switches: 100,
        idle_switches: 15,
        run_ns: 400 * MS,
        idle_ns: 600 * MS,
        user_ns: Some(300 * MS),
        ..CpuRow::default()
    };
    let interrupt =
        |cpu| InterruptRow { line: "LOC".to_owned(), cpu, ns: Some(MS), ..InterruptRow::default() };
    let tables = Tables {
        tasks: vec![
            task(10, 100, 20),
            task(11, 50, 30),
            TaskRow { tid: 12, last_ns: MS, ..TaskRow::default() },
        ],
        cpus: vec![cpu(0), cpu(1)],
        cgroups: vec![CgroupRow {
            path: "/".to_owned(),
            voluntary: 150,
            involuntary: 50,
            run_ns: 800 * MS,
            wait_ns: 90 * MS,
            tasks: 2,
            ..CgroupRow::default()
        }],
        waits: Vec::new(),
        interruptions: vec![InterruptionRow { at_ns: 0, cpu: 0, length_ns: MS, ns: MS / 2 }],
        wakes: vec![
            WakeRow { waker_tid: 10, wakee_tid: 11, count: 50, same_cpu: Some(20) },
            WakeRow { waker_tid: 11, wakee_tid: 10, count: 100, same_cpu: Some(10) },
        ],
        preemptions: vec![PreemptionRow { by_tid: 10, of_tid: 11, count: 30, ns: Some(10 * MS) }],
        interrupts: vec![interrupt(None), interrupt(Some(0))],
        intervals: vec![interval(0), interval(SECOND / 2)],
        stacks: vec![StackRow { switches: 3, off_cpu_ns: MS, wait_ns: MS, ..StackRow::default() }],
        histograms: vec![
            class("wait", "all", 100, 128, 150),
            class("wait", "all", MS, MS + MS / 4, 50),
            class("cost", "kind thread", 800, 1000, 200),
            class("wait", "task 10", 100, 128, 120),
            class("slice", "task 10", MS, 2 * MS, 120),
        ],
    };
    Whole { header: header(), tables }
}

#[test]
fn an_honest_trace_passes_and_much_is_checked() {
    let whole = honest();
    assert_eq!(whole.refused(), [""; 0]);
    assert!(checks(whole.view()).made() > 100);
}

#[test]
fn a_stack_waits_within_its_time_off_the_cpu() {
    let figure = "stacks.wait_ns of  in ";
    breaks(|whole| whole.tables.stacks[0].wait_ns = 2 * MS, &[figure]);
}

/// Requires that a change breaks these figures' checks and no others.
fn breaks(change: impl FnOnce(&mut Whole), figures: &[&str]) {
    let mut whole = honest();
    change(&mut whole);
    assert_eq!(whole.refused(), figures);
}

/// The recording that printed 4,294,970,917 switches: one task's count had gone backwards as one of 32 bits.
#[test]
fn a_task_with_two_to_the_32_switches_in_twelve_seconds_is_refused() {
    let mut whole = honest();
    whole.header.duration_ns = 12 * SECOND;
    whole.tasks[0].voluntary = (1 << 32) + 475;
    whole.header.totals.context_switches.voluntary = Some((1 << 32) + 475 + 50);
    let refused = check(whole.view()).unwrap_err();
    assert_eq!(
        refused.figures[0].to_string(),
        "tasks.voluntary of tid 10 (task10): 4294967771 is more than all that 12000000000 ns permit, 240001000"
    );
    let found: Vec<&str> = refused.figures.iter().map(|one| one.figure.as_str()).collect();
    assert!(found.contains(&"totals.context_switches.voluntary"), "{found:?}");
}

#[test]
fn counts_that_no_time_permits_are_refused() {
    breaks(
        |whole| {
            whole.tasks[0].involuntary = 1 << 32;
            whole.header.totals.context_switches.involuntary = None;
            whole.cgroups.clear();
        },
        &["tasks.involuntary of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.tasks[0].wakeups = 1 << 32;
            whole.header.totals.wakeups = None;
        },
        &["tasks.wakeups of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.cpus[1].switches = 1 << 32;
        },
        &["cpus.switches of CPU 1"],
    );
    breaks(
        |whole| {
            whole.intervals[0].migrations = Some(1 << 32);
        },
        &["intervals.migrations at 0 ns"],
    );
    breaks(
        |whole| {
            whole.header.totals.context_switches.idle = Some(1 << 32);
        },
        &["totals.context_switches.idle"],
    );
}

#[test]
fn sleeps_that_no_wake_up_ends_are_refused() {
    let change = |whole: &mut Whole| {
        (whole.tasks[0].voluntary, whole.tasks[0].involuntary) = (1_000, 0);
        whole.header.totals.context_switches = SwitchTotals::default();
        whole.cgroups.clear();
    };
    breaks(change, &["tasks.voluntary of tid 10 (task10)"]);
    // A source that sees no wake-ups says so.
    let unavailable = Unavailable::new(crate::fields::TOTALS_WAKEUPS, "");
    let blind = |whole: &mut Whole| {
        change(whole);
        whole.header.unavailable.push(unavailable);
    };
    breaks(blind, &[]);
    // Lost wake-ups are allowed for: the kernel's own count of switches goes on.
    let lossy = |whole: &mut Whole| {
        change(whole);
        whole.header.lost.push(Lost { events: 900, ..Lost::default() });
    };
    breaks(lossy, &[]);
}

#[test]
fn times_beyond_the_wall_clock_are_refused() {
    breaks(
        |whole| whole.tasks[0].run_ns = 0,
        &["cpus.run_ns, summed", "intervals.run_ns, summed", "cgroups.run_ns, summed"],
    );
    breaks(
        |whole| {
            whole.tasks[0].user_ns = Some(3 * SECOND);
        },
        &["tasks.user_ns and system_ns of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.tasks[0].run_ns = 1_100 * MS;
        },
        &["tasks.run_ns and wait_ns of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.tasks[0].run_ns = 1_130 * MS;
            whole.tasks[1].run_ns = 0;
        },
        &["tasks.run_ns of tid 10 (task10)", "tasks.run_ns and wait_ns of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.tasks[0].wait_max_ns = Some(2 * SECOND);
        },
        &["tasks.wait_max_ns of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.tasks[0].slice_max_ns = Some(3 * SECOND);
        },
        &["tasks.slice_max_ns of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.cpus[0].run_ns = 1_130 * MS;
            whole.cpus[1].run_ns = 0;
        },
        &["cpus.run_ns of CPU 0", "cpus.run_ns, summed"],
    );
    breaks(
        |whole| {
            whole.cpus[0].user_ns = Some(3 * SECOND);
        },
        &["cpus.user_ns, system_ns, irq_ns and softirq_ns of CPU 0"],
    );
    breaks(
        |whole| {
            whole.intervals[0].run_ns = Some(1_100 * MS);
            whole.intervals[1].run_ns = None;
        },
        &["intervals.run_ns at 0 ns", "intervals.run_ns, summed"],
    );
    breaks(
        |whole| {
            whole.interrupts[0].ns = Some(5 * SECOND);
        },
        &["interrupts.ns of LOC "],
    );
}

#[test]
fn costs_beyond_the_wall_clock_are_refused() {
    breaks(
        |whole| {
            whole.header.totals.switch_cost_ns = Some(3 * SECOND);
        },
        &["totals.switch_cost_ns", "tasks.run_ns, summed, and totals.switch_cost_ns"],
    );
    breaks(
        |whole| {
            whole.header.totals.switch_cost_ns = Some(1_500 * MS);
        },
        &["tasks.run_ns, summed, and totals.switch_cost_ns"],
    );
    breaks(
        |whole| {
            whole.tasks[0].switch_cost_ns = Some(3 * SECOND);
            whole.header.totals.switch_cost_ns = None;
        },
        &["tasks.switch_cost_ns of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.tasks[0].switch_cost_ns = Some(2 * MS);
        },
        &["tasks.switch_cost_ns, summed"],
    );
}

#[test]
fn the_machines_own_counters_are_bounded_too() {
    breaks(
        |whole| {
            whole.header.totals.cpu_ns.user = Some(5 * SECOND);
        },
        &["totals.cpu_ns (user, system, irq and softirq)"],
    );
    breaks(
        |whole| {
            whole.header.totals.throttled =
                Some(Throttled { periods: 3, throttled_periods: 5, throttled_ns: 0 });
        },
        &["totals.throttled.throttled_periods"],
    );
    breaks(
        |whole| {
            whole.header.totals.throttled =
                Some(Throttled { periods: 10, throttled_periods: 5, throttled_ns: 5 * SECOND });
        },
        &["totals.throttled.throttled_ns"],
    );
    breaks(
        |whole| {
            whole.header.totals.pressure[0].some_ns = Some(3 * SECOND);
        },
        &["totals.pressure of cpu"],
    );
    breaks(
        |whole| {
            whole.header.totals.processes.forked = Some(40);
        },
        &["totals.processes.forked"],
    );
}

#[test]
fn times_that_go_backwards_are_refused() {
    breaks(
        |whole| {
            (whole.tasks[2].first_ns, whole.tasks[2].last_ns) = (5, 4);
        },
        &["tasks.last_ns of tid 12 ()"],
    );
    breaks(
        |whole| {
            whole.tasks[2].last_ns = 2 * SECOND;
        },
        &["tasks.last_ns of tid 12 ()"],
    );
    breaks(
        |whole| {
            whole.intervals[1].at_ns = SECOND / 4;
        },
        &["intervals.at_ns at 250000000 ns"],
    );
    breaks(
        |whole| {
            whole.intervals[1].length_ns = SECOND;
        },
        &["intervals.length_ns at 500000000 ns"],
    );
}

#[test]
fn quantiles_that_fall_are_refused() {
    breaks(
        |whole| {
            whole.tasks[0].wait_p90_ns = Some(100);
        },
        &["tasks.wait_p90_ns of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.tasks[0].wait_p99_ns = Some(16 * MS);
        },
        &["tasks.wait_p99_ns of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.tasks[0].slice_p50_ns = Some(40 * MS);
        },
        &["tasks.slice_p50_ns of tid 10 (task10)"],
    );
}

#[test]
fn totals_that_are_not_the_sums_of_their_tables_are_refused() {
    breaks(
        |whole| {
            whole.header.totals.context_switches.voluntary = Some(120);
        },
        &["totals.context_switches.voluntary"],
    );
    breaks(
        |whole| {
            whole.header.totals.context_switches.involuntary = Some(20);
        },
        &["totals.context_switches.involuntary"],
    );
    breaks(
        |whole| {
            whole.header.totals.wakeups = Some(120);
        },
        &["totals.wakeups"],
    );
    breaks(
        |whole| {
            whole.tasks.iter_mut().for_each(|row| (row.voluntary, row.wakeups) = (row.voluntary * 20, 5_000));
            whole.header.totals.context_switches.voluntary = Some(3_000);
            whole.header.totals.wakeups = None;
        },
        &["totals.context_switches"],
    );
    breaks(
        |whole| {
            whole.intervals[0].voluntary = Some(300);
        },
        &["intervals.voluntary and intervals.involuntary, summed"],
    );
    breaks(
        |whole| {
            whole.intervals[0].idle_switches = Some(300);
        },
        &["intervals.idle_switches, summed"],
    );
    breaks(
        |whole| {
            whole.intervals[0].wakeups = Some(300);
        },
        &["intervals.wakeups, summed"],
    );
    breaks(
        |whole| {
            whole.header.tables[0].rows = 10_000;
        },
        &["the table switches"],
    );
    breaks(
        |whole| {
            whole.cgroups[0].voluntary = 170;
        },
        &["cgroups.voluntary, summed"],
    );
    breaks(
        |whole| {
            whole.cpus[1].cpu = 0;
        },
        &["cpus.cpu of CPU 0", "cpus.cpu of CPU 0"],
    );
    breaks(
        |whole| {
            whole.interrupts[1].ns = Some(10 * MS);
        },
        &["interrupts.ns of all CPUs"],
    );
}

#[test]
fn pairs_of_tasks_are_parts_of_what_the_tasks_did() {
    breaks(
        |whole| {
            whole.preemptions[0].count = 300;
        },
        &["preemptions.count, summed"],
    );
    breaks(
        |whole| {
            whole.preemptions[0].ns = Some(100 * MS);
        },
        &["preemptions.ns, summed"],
    );
    breaks(
        |whole| {
            whole.wakes[0].same_cpu = Some(51);
        },
        &["wakes.same_cpu of 10 and 11"],
    );
    breaks(
        |whole| {
            whole.wakes[0].count = 100;
        },
        &["wakes.count, summed"],
    );
    breaks(
        |whole| {
            whole.tasks[0].migrations_across = Some(200);
        },
        &["tasks.migrations of tid 10 (task10)"],
    );
    breaks(
        |whole| {
            whole.tasks[2].voluntary = 3;
            whole.header.totals.context_switches.voluntary = Some(153);
        },
        &["tasks.in_scope of tid 12 ()"],
    );
}

#[test]
fn histograms_that_hold_more_than_there_was_are_refused() {
    breaks(
        |whole| {
            whole.histograms[0].count = 300;
        },
        &["histograms of wait of all, counted"],
    );
    breaks(
        |whole| {
            (whole.histograms[0].count, whole.histograms[1].count) = (50, 150);
        },
        &["histograms of wait of all, in ns at least"],
    );
    breaks(
        |whole| {
            whole.histograms[2].count = 500;
        },
        &["histograms of cost, counted"],
    );
    breaks(
        |whole| {
            whole.histograms[3].count = 200;
        },
        &["histograms of waits of task 10, counted"],
    );
    breaks(
        |whole| {
            whole.histograms[4].count = 200;
        },
        &["histograms of slices of task 10, counted"],
    );
    breaks(
        |whole| {
            whole.histograms[0].to_ns = 100;
        },
        &["histograms of wait of all from 100 ns"],
    );
    breaks(
        |whole| {
            whole.histograms[0].to_ns = 2 * MS;
        },
        &["histograms of wait of all from 1000000 ns"],
    );
    breaks(
        |whole| {
            (whole.histograms[4].from_ns, whole.histograms[4].to_ns) = (3 * SECOND, 4 * SECOND);
        },
        &["histograms of slice of task 10 from 3000000000 ns"],
    );
}

/// A killed recorder leaves tables that are newer than the header.
#[test]
fn what_is_unfinished_need_not_add_up_and_is_still_bounded() {
    for ended in [Ended::Recording, Ended::DiskFull, Ended::Failed] {
        let mut whole = honest();
        whole.header.provenance.ended = ended;
        whole.header.duration_ns = 0;
        whole.header.totals = Totals::default();
        assert_eq!(whole.refused(), [""; 0], "{ended}");
        whole.tasks[0].involuntary = 1 << 32;
        assert_eq!(whole.refused(), ["tasks.involuntary of tid 10 (task10)"], "{ended}");
    }
}

/// The kernel's sums are brought up to date late, and hold waits from before the recording.
#[test]
fn the_kernels_own_sums_have_more_room() {
    let mut whole = honest();
    whole.header.sources.insert("tasks.wait_ns".to_owned(), "the kernel's own sums, read by bpf".to_owned());
    whole.tasks[0].run_ns = 1_500 * MS;
    whole.tasks[0].wait_ns = 30 * SECOND;
    whole.tasks[0].wait_max_ns = Some(30 * SECOND);
    assert_eq!(whole.refused(), [""; 0]);
    whole.tasks[0].run_ns = 3 * SECOND;
    assert_eq!(whole.refused(), ["tasks.run_ns of tid 10 (task10)"]);
    whole.header.totals.cpu_ns.steal = Some(SECOND);
    assert_eq!(whole.refused(), [""; 0]);
}

#[test]
fn a_simulated_switch_may_take_no_time_and_its_cpus_times_add_up() {
    let mut whole = honest();
    whole.header.provenance.origin = Origin::Simulated;
    whole.tasks[1].wakeups = 1 << 32;
    whole.header.totals.wakeups = None;
    assert_eq!(whole.refused(), [""; 0]);
    whole.cpus[0].idle_ns = 700 * MS;
    assert_eq!(whole.refused(), ["cpus.run_ns and idle_ns of CPU 0"]);
}

#[test]
fn the_recorded_fixtures_pass() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let mut passed = 0;
    for entry in std::fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "swtch") {
            let trace = Trace::open_unchecked(&path).unwrap();
            assert_eq!(check(trace.view()), Ok(()), "{}", path.display());
            passed += 1;
        }
    }
    assert!(passed > 0);
}

#[test]
fn a_recording_of_some_tasks_holds_switches_of_those_in_front_of_them() {
    let mut whole = honest();
    whole.header.scope = Scope::Processes { pids: vec![10] };
    whole.header.tables[0].rows = 10_000;
    assert_eq!(whole.refused(), Vec::<String>::new());
}
