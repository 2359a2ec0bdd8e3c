//! On the real kernel: every method switches as it should, and a launch that goes wrong ends and leaves nothing behind.

use super::*;
use crate::condition::{Condition, Reference, Work};
use crate::traversal::Pattern;
use std::time::{Duration, Instant};
use swtch_profile::vocabulary::{Access, Carrier, Class, Method, Tasks};
use swtch_topology::Placement;

const SIZE: Size = Size { batches: 4, rounds: 200, warm_up_rounds: 5, guard_s: 30 };

fn one_cpu() -> Vec<u32> {
    crate::sys::Mask::current().unwrap().cpus().last().into_iter().collect()
}

fn condition(method: Method, tasks: Tasks) -> Condition {
    let count = if matches!(method, Method::Ring | Method::PidSumRing) { 5 } else { 2 };
    Condition {
        work: Work::Switch { method, tasks, count, pattern: Pattern::NONE },
        placement: Placement::SameCpu,
        cpus: one_cpu(),
        class: Class::Normal,
    }
}

fn run(condition: &Condition, size: Size) -> Result<Vec<Batch>, LaunchError> {
    let (clock, _) = Clock::fallback(String::new());
    launch(condition, size, clock, &mut || false)
}

fn skip(test: &str, reason: &str) {
    eprintln!("SKIP {test}: {reason}");
}

#[test]
fn every_method_switches_at_least_as_often_as_it_claims() {
    if !crate::probe().switch_counts.works {
        return skip(
            "every_method_switches_at_least_as_often_as_it_claims",
            "this kernel counts no switches",
        );
    }
    for method in Method::ALL {
        for tasks in method.facts().tasks.iter().copied() {
            let condition = condition(method, tasks);
            let batches = run(&condition, SIZE).unwrap();
            assert_eq!(batches.len(), 4, "{condition}");
            let counted: Vec<f64> = batches.iter().map(Batch::switches_per_round).collect();
            let usual = swtch_stats::median(&counted);
            // A yield may find no task to yield to; no other method can go on without the other task.
            let least =
                if method == Method::Yield { 0.2 } else { 0.98 * condition.expected_switches_per_round() };
            assert!(usual >= least, "{condition}: {counted:?}");
            assert!(batches.iter().all(|batch| batch.round_ns > 0.0 && batch.baseline_ns > 0.0));
        }
    }
}

/// The trap of a baseline that runs first, once: here every batch carries its own, taken right after it.
#[test]
fn the_baseline_is_interleaved_batch_by_batch() {
    let pattern = Pattern { array_bytes: 64 << 10, stride_bytes: 8, access: Access::ReadModifyWrite };
    let mut condition = condition(Method::Pipe, Tasks::Process);
    condition.work = Work::Switch { method: Method::Pipe, tasks: Tasks::Process, count: 2, pattern };
    let batches = run(&condition, SIZE).unwrap();
    for pair in batches.windows(2) {
        let work_ns = (pair[0].round_ns + pair[0].baseline_ns) * f64::from(pair[0].rounds);
        assert!(
            (pair[1].started_ns - pair[0].started_ns) as f64 > work_ns,
            "both arms precede the next batch"
        );
    }
}

#[test]
fn references_have_no_baseline() {
    for reference in [Reference::Syscall, Reference::Fork, Reference::ThreadCreate] {
        let mut condition = condition(Method::Pipe, Tasks::Process);
        condition.work = Work::Reference(reference);
        let batches = run(&condition, Size { rounds: 20, ..SIZE }).unwrap();
        assert!(
            batches.iter().all(|batch| batch.round_ns > 0.0 && batch.baseline_ns == 0.0),
            "{reference:?}"
        );
    }
}

#[test]
fn messages_switch_nothing_and_between_processors_have_a_baseline() {
    let cpus: Vec<u32> = crate::sys::Mask::current().unwrap().cpus().take(2).collect();
    for carrier in Carrier::ALL {
        for cpus in [&cpus[..1], &cpus[..]] {
            let mut condition = condition(Method::Pipe, Tasks::Thread);
            condition.work = Work::Messages { carrier, channels: 3, depth: 5 };
            condition.cpus = cpus.to_vec();
            let batches = run(&condition, Size { rounds: 50, ..SIZE }).unwrap();
            assert_eq!(condition.messages_per_round(), 15.0);
            let apart = cpus.len() > 1;
            // Fifteen writes and reads take longer than a microsecond anywhere.
            assert!(
                batches.iter().all(|batch| batch.round_ns > 1_000.0
                    && batch.voluntary_per_round < 0.1
                    && (batch.baseline_ns > 1_000.0) == apart),
                "{carrier:?} on {cpus:?}: {batches:?}"
            );
        }
    }
    if cpus.len() < 2 {
        skip("messages_switch_nothing (between CPUs)", "there is only one CPU");
    }
}

/// The trap: a task may starve the process that should stop it. The launch's own guard ends a launch without end, in the real-time class
/// too.
#[test]
fn a_launch_without_end_is_ended_by_its_guard() {
    let endless = Size { batches: 1, rounds: u32::MAX, warm_up_rounds: 0, guard_s: 1 };
    let mut classes = vec![Class::Normal];
    if crate::probe().realtime.works {
        classes.push(Class::Fifo);
    } else {
        skip("a_launch_without_end_is_ended_by_its_guard (fifo)", "no permission for the real-time class");
    }
    for class in classes {
        let condition = Condition { class, ..condition(Method::Pipe, Tasks::Thread) };
        let began = Instant::now();
        assert_eq!(run(&condition, endless), Err(LaunchError::Hung { guard_s: 1 }));
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn a_launch_can_be_interrupted_and_leaves_no_process_behind() {
    let endless = Size { batches: 1, rounds: u32::MAX, warm_up_rounds: 0, guard_s: 60 };
    let (clock, _) = Clock::fallback(String::new());
    let mut condition = condition(Method::Ring, Tasks::Process);
    condition.cpus = one_cpu();
    let outcome = launch(&condition, endless, clock, &mut || true);
    assert_eq!(outcome, Err(LaunchError::Interrupted));
    let me = std::process::id();
    let mine = || {
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
            .filter(|stat| {
                stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)) == Some(&me.to_string())
            })
            .filter(|stat| stat.contains("(swtch_measure"))
            .count()
    };
    // Other tests of this process may have workers of their own, which end soon.
    let deadline = Instant::now() + Duration::from_secs(60);
    while mine() > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(mine(), 0, "workers are left behind");
}

#[test]
fn what_cannot_be_set_up_is_named() {
    let mut condition = condition(Method::Pipe, Tasks::Process);
    condition.cpus = vec![8191];
    let error = run(&condition, SIZE).unwrap_err();
    assert!(matches!(error, LaunchError::SetUp { doing: "pinning to its CPU", .. }), "{error}");
    assert!(error.to_string().contains("Invalid argument"), "{error}");
}

/// Both tasks writing one shared buffer would measure no refill: what a child does to its array, its parent does not see.
#[test]
fn arrays_are_private_to_each_task() {
    use crate::sys::{self, Forked};
    use crate::traversal::Array;
    let pattern = Pattern { array_bytes: 4096, stride_bytes: 8, access: Access::ReadModifyWrite };
    let reader = Pattern { access: Access::Read, ..pattern };
    let array = Array::map(reader).unwrap();
    let before = array.traverse();
    match sys::fork().unwrap() {
        Forked::Child => {
            let own = Array::map(pattern);
            sys::exit_now(i32::from(own.is_ok_and(|own| own.traverse() != 0)))
        }
        Forked::Parent(pid) => assert_eq!(sys::kill_group_and_wait(pid, false), 0),
    }
    assert_eq!(array.traverse(), before);
    let other = Array::map(reader).unwrap();
    assert_ne!(array.address(), other.address());
}

/// Shared memory has no name here, so nothing can be left in /dev/shm or as a System V segment, whatever dies.
#[test]
fn no_shared_memory_is_left_behind() {
    let named = || {
        let files = std::fs::read_dir("/dev/shm").map_or(0, Iterator::count);
        let segments = std::fs::read_to_string("/proc/sysvipc/shm").map_or(0, |text| text.lines().count());
        (files, segments)
    };
    let before = named();
    run(&condition(Method::Futex, Tasks::Process), SIZE).unwrap();
    let _ = run(&condition(Method::Futex, Tasks::Process), Size { rounds: u32::MAX, guard_s: 1, ..SIZE });
    assert_eq!(named(), before);
}
