//! Windows, by hand and at random; keys; screens.

mod keys;
mod picture;
mod screens;
mod windows;

use super::Window;
use swtch_topology::Host;
use swtch_trace::Snapshot;
use swtch_trace::fields;
use swtch_trace::model::{Header, Pressure, Provenance, Scope, SwitchTotals, Unavailable};
use swtch_trace::tables::{CpuRow, InFront, PreemptionRow, Tables, TaskRow, WaitRow, WaitStart, WakeRow};

fn header(recorder: &str) -> Header {
    let provenance =
        Provenance { recorder: recorder.to_owned(), why: "asked for".to_owned(), ..Provenance::default() };
    Header::new(provenance, Host::default(), Scope::Machine)
}

fn snapshot(at_s: u64, recorder: &str, tasks: Vec<TaskRow>) -> Snapshot {
    Snapshot {
        at_ns: at_s * 1_000_000_000,
        unix_ns: at_s * 1_000_000_000,
        header: header(recorder),
        tables: Tables { tasks, ..Tables::default() },
    }
}

fn task(tid: u32, pid: u32, comm: &str, voluntary: u64, involuntary: u64) -> TaskRow {
    let switches = voluntary + involuntary;
    TaskRow {
        tid,
        pid,
        comm: comm.to_owned(),
        cgroup: Some(if pid < 100 { "/".to_owned() } else { format!("/app.slice/{pid}.service") }),
        kernel_thread: pid < 100,
        in_scope: true,
        first_ns: 1,
        voluntary,
        involuntary,
        wakeups: voluntary,
        run_ns: switches * 100_000,
        wait_ns: involuntary * 200_000,
        wait_p50_ns: Some(40_000),
        wait_p90_ns: Some(150_000),
        wait_p99_ns: Some(180_000 + u64::from(tid)),
        wait_max_ns: Some(200_000 + u64::from(tid)),
        migrations_same_l2: Some(0),
        migrations_same_l3: Some(voluntary / 10),
        migrations_across: Some(0),
        switch_cost_ns: Some(switches * 1_500),
        ..TaskRow::default()
    }
}

fn cpu(cpu: u32, switches: u64, user_ms: u64, system_ms: u64, idle_ms: u64) -> CpuRow {
    CpuRow {
        cpu,
        switches,
        idle_switches: switches / 10,
        user_ns: Some(user_ms * 1_000_000),
        system_ns: Some(system_ms * 1_000_000),
        idle_ns: idle_ms * 1_000_000,
        steal_ns: Some(0),
        ..CpuRow::default()
    }
}

/// Two seconds of a small machine, as BPF sees it.
fn machine() -> Window {
    let mut before = snapshot(
        10,
        "bpf-events",
        vec![
            task(15, 15, "kworker/0:1", 100, 0),
            task(200, 200, "web", 1000, 50),
            task(201, 200, "web-worker", 0, 0),
            task(300, 300, "batch", 10, 400),
        ],
    );
    let mut after = snapshot(
        12,
        "bpf-events",
        vec![
            task(15, 15, "kworker/0:1", 120, 0),
            task(200, 200, "web", 5000, 250),
            task(201, 200, "web-worker", 2000, 1000),
            task(300, 300, "batch", 10, 1000),
            TaskRow { first_ns: 11_000_000_000, ..task(400, 400, "short", 3, 1) },
        ],
    );
    before.tables.cpus = (0..4).map(|number| cpu(number, 0, 0, 0, 0)).collect();
    after.tables.cpus = (0..4)
        .map(|number| cpu(number, 2000, 600 + 200 * u64::from(number), 200, 1200 - 200 * u64::from(number)))
        .collect();
    for (snapshot, scale) in [(&mut before, 0), (&mut after, 1)] {
        let totals = &mut snapshot.header.totals;
        totals.context_switches = SwitchTotals {
            voluntary: Some(6023 * scale),
            involuntary: Some(1801 * scale),
            idle: Some(900 * scale),
        };
        totals.switch_cost_ns = Some(16_000_000 * scale);
        totals.wakeups = Some(6023 * scale);
        totals.processes.forked = Some(scale);
        totals.pressure =
            vec![Pressure { resource: "cpu".to_owned(), some_ns: Some(300_000_000 * scale), full_ns: None }];
        snapshot.header.recorder.cpu_ns = Some(8_000_000 * scale);
    }
    after.tables.preemptions = vec![
        PreemptionRow { by_tid: 200, of_tid: 300, count: 500, ns: Some(100_000_000) },
        PreemptionRow { by_tid: 15, of_tid: 300, count: 20, ns: Some(1_000_000) },
        PreemptionRow { by_tid: 300, of_tid: 201, count: 1000, ns: Some(200_000_000) },
    ];
    let wait = |of_tid, began, behind, program: &str, ms: u64| WaitRow {
        of_tid,
        began,
        behind,
        program: program.to_owned(),
        waits: 10,
        ns: ms * 1_000_000,
    };
    after.tables.waits = vec![
        wait(201, WaitStart::Preempted, InFront::Task, "batch", 120),
        wait(201, WaitStart::Woken, InFront::Task, "batch", 40),
        wait(201, WaitStart::Woken, InFront::Interrupt, "", 40),
        wait(200, WaitStart::Woken, InFront::Task, "batch", 10),
        wait(300, WaitStart::Preempted, InFront::Task, "web", 100),
        wait(300, WaitStart::Preempted, InFront::Task, "kworker/0:1", 20),
    ];
    after.tables.wakes = vec![WakeRow { waker_tid: 200, wakee_tid: 201, count: 2000, same_cpu: None }];
    Window::between(&before, &after, None)
}

/// The same machine by samples of `/proc`, without a Profile.
fn sampled() -> Window {
    let bare = |row: TaskRow| TaskRow {
        wait_p50_ns: None,
        wait_p90_ns: None,
        wait_p99_ns: None,
        wait_max_ns: None,
        migrations_same_l2: None,
        migrations_same_l3: None,
        migrations_across: None,
        switch_cost_ns: None,
        ..row
    };
    let before = snapshot(10, "procfs", vec![bare(task(200, 200, "web", 0, 0))]);
    let mut after = snapshot(12, "procfs", vec![bare(task(200, 200, "web", 4000, 200))]);
    for field in [fields::PREEMPTIONS, fields::WAITS, fields::WAKES, fields::TASKS_WAKEUPS] {
        after.header.unavailable.push(Unavailable::new(field, "samples do not see it"));
    }
    Window::between(&before, &after, None)
}
