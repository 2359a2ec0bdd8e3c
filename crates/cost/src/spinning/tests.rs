//! Rows made by hand; `tests/cli/advised.rs` has programs that do it, and such that do not.

use super::*;
use swtch_topology::Host;
use swtch_topology::host::CpuQuota;
use swtch_trace::Tables;
use swtch_trace::model::{Header, Provenance, Throttled};
use swtch_trace::tables::{StackReason, StackRow, WaitStart};

const S: u64 = 1_000_000_000;

/// `threads` threads of process 7 that shared CPUs 0 and 1 for a second. At 90 of 100 involuntary switches each waited on its CPU.
fn crowd(threads: u32) -> (Header, Tables) {
    let header = Header::new(
        Provenance::default(),
        Host::default(),
        Scope::Command { command: vec!["app".into()], pid: 7 },
    );
    let run_ns = (2 * S / u64::from(threads)).min(S);
    let task = |tid| TaskRow {
        tid,
        pid: 7,
        comm: "app".into(),
        in_scope: true,
        cpus_allowed: Some("0-1".into()),
        last_ns: S,
        voluntary: 3,
        involuntary: 100,
        spinning: Some(90),
        spinning_ns: Some(run_ns * 8 / 10),
        yields: Some(0),
        run_ns,
        wait_ns: S - run_ns,
        ..TaskRow::default()
    };
    (header, Tables { tasks: (7..7 + threads).map(task).collect(), ..Tables::default() })
}

fn found(header: &Header, tables: &Tables) -> Vec<SpinningProcess> {
    spinning_processes(tables.view(header), S)
}

fn changed(threads: u32, change: impl Fn(&mut TaskRow)) -> usize {
    let (header, mut tables) = crowd(threads);
    tables.tasks.iter_mut().for_each(change);
    found(&header, &tables).len()
}

#[test]
fn threads_that_wait_on_more_cpus_than_there_are_stand_out() {
    let (header, tables) = crowd(4);
    let one = found(&header, &tables).remove(0);
    assert_eq!((one.threads, one.cpus, one.by_quota), (4, 2.0, false));
    let evidence = one.evidence(tables.view(&header));
    assert!(
        evidence.starts_with("4 threads of app (7) were on 2 CPUs, 4.0 of them runnable at a time"),
        "{evidence}"
    );
    assert!(evidence.contains("360 of 400 involuntary switches (90 %, at least)"), "{evidence}");
    assert!(evidence.ends_with("waiting on it in a loop"), "{evidence}");
    let remedy = one.remedy(tables.view(&header));
    assert!(
        remedy.starts_with("2 threads (as many as CPUs)") && remedy.contains("OMP_WAIT_POLICY=passive"),
        "{remedy}"
    );
}

#[test]
fn threads_that_work_or_sleep_or_have_cpus_of_their_own_do_not_stand_out() {
    assert_eq!(changed(4, |_| ()), 1);
    assert_eq!(changed(2, |_| ()), 0, "a CPU for each");
    assert_eq!(changed(4, |task| task.spinning = Some(0)), 0, "they work");
    assert_eq!(changed(4, |task| task.spinning = None), 0, "not seen");
    assert_eq!(changed(4, |task| task.voluntary = 2000), 0, "they spin for a moment, then sleep");
    assert_eq!(changed(4, |task| task.spinning_ns = Some(task.run_ns / 50)), 0, "hardly any time");
    assert_eq!(changed(4, |task| task.cpus_allowed = Some("0-3".into())), 0, "more CPUs");
    assert_eq!(changed(4, |task| task.wait_ns = 0), 0, "nothing waits");
}

#[test]
fn behind_other_programs_fewer_threads_would_wait_too() {
    let (header, mut tables) = crowd(4);
    let wait = |program: &str, ns| WaitRow {
        of_tid: 8,
        began: WaitStart::Preempted,
        behind: InFront::Task,
        program: program.into(),
        waits: 10,
        ns,
    };
    tables.waits = vec![wait("app", 60), wait("hog", 40)];
    assert_eq!(found(&header, &tables)[0].behind_own, Some(0.6));
    tables.waits = vec![wait("app", 40), wait("hog", 60)];
    assert_eq!(found(&header, &tables), []);
}

#[test]
fn a_quota_pays_for_fewer_cpus() {
    let (mut header, tables) = crowd(2);
    header.totals.throttled = Some(Throttled { periods: 10, throttled_periods: 9, throttled_ns: S });
    header.host.limits.cpu_quota =
        Some(CpuQuota { quota_us: 100_000, period_us: 100_000, cgroup_version: 2, path: "/app".into() });
    let one = found(&header, &tables).remove(0);
    assert_eq!((one.cpus, one.by_quota, one.enough()), (1.0, true, 1));
    let view = tables.view(&header);
    assert!(one.evidence(view).contains("were on a quota of 1.0 CPUs"), "{}", one.evidence(view));
    assert!(one.remedy(view).starts_with("1 thread (the quota pays for no more)"), "{}", one.remedy(view));
    // One that seldom stops them leaves both CPUs.
    header.totals.throttled = Some(Throttled { periods: 10, throttled_periods: 1, ..Throttled::default() });
    assert_eq!(found(&header, &tables), []);
}

#[test]
fn a_library_is_recognised_by_the_stacks_and_its_own_variable_named() {
    let remedy = |frames: &str, reason, comm: &str| {
        let (header, mut tables) = crowd(4);
        tables.tasks.iter_mut().for_each(|task| task.comm = comm.to_owned());
        let row = StackRow {
            reason,
            task: comm.into(),
            frames: frames.into(),
            switches: 321,
            ..StackRow::default()
        };
        tables.stacks = vec![row];
        let one = found(&header, &tables).remove(0);
        (one.evidence(tables.view(&header)), one.remedy(tables.view(&header)))
    };
    let lost = StackReason::Involuntary;
    let gomp = "start_thread;gomp_thread_start;gomp_team_barrier_wait_end;asm_sysvec_apic_timer_interrupt_[k];schedule_[k]";
    let (evidence, found) = remedy(gomp, lost, "app");
    assert!(
        evidence.contains("in a loop, most often in gomp_team_barrier_wait_end (321 times)"),
        "{evidence}"
    );
    assert!(found.contains("GOMP_SPINCOUNT=0") && !found.contains("--poll"), "{found}");
    let ort =
        "clone3;onnxruntime_pybind11_state.so+0x10e5222 [build id 1];asm_sysvec_apic_timer_interrupt_[k]";
    assert!(remedy(ort, lost, "python").1.contains("session.intra_op.allow_spinning=0"));
    assert!(
        remedy("main;ggml_graph_compute_thread;ggml_barrier", lost, "llama-server").1.contains("--poll 0")
    );
    assert!(remedy("main;sched_yield", lost, "VLLM::Worker_TP0").1.contains("VLLM_SLEEP_WHEN_IDLE=1"));
    // A library that only sleeps somewhere else is not the one.
    assert!(
        remedy("gomp_thread_start;futex_wait", StackReason::Voluntary, "app").1.starts_with("2 threads (as")
    );
    assert!(!remedy(gomp, StackReason::Voluntary, "app").1.contains("GOMP_SPINCOUNT"));
}

#[test]
fn yielding_is_named() {
    let (header, mut tables) = crowd(4);
    tables.tasks.iter_mut().for_each(|task| task.yields = Some(80));
    let one = found(&header, &tables).remove(0);
    assert!(one.evidence(tables.view(&header)).ends_with("waiting on it by sched_yield"));
}
