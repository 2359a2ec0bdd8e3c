//! Looking at this machine.

use super::*;
use crate::options::DEFAULT_SAMPLE;
use std::collections::{HashMap, HashSet};
use std::process::Command;

/// The ways to look that work here; the others are skipped.
fn usable(test: &str) -> Vec<(Option<SourceKind>, Mode)> {
    let samples = (Some(SourceKind::Procfs), Mode::Events);
    match Facts::read().bpf {
        Ok(_) => vec![
            samples,
            (Some(SourceKind::BpfEvents), Mode::Events),
            (Some(SourceKind::BpfEvents), Mode::Counts),
        ],
        Err(why) => {
            eprintln!("SKIP {test} (bpf): {why}");
            vec![samples]
        }
    }
}

fn switches(header: &Header) -> u64 {
    let totals = &header.totals.context_switches;
    totals.voluntary.unwrap_or(0) + totals.involuntary.unwrap_or(0)
}

#[test]
fn what_ended_is_told_once_and_sums_never_fall() {
    for (source, mode) in usable("what_ended_is_told_once_and_sums_never_fall") {
        let mut watch = Watch::begin(Target::Machine, source, Some(mode), DEFAULT_SAMPLE).unwrap();
        let mut before: HashMap<(u32, u64), u64> = HashMap::new();
        let mut gone: HashSet<(u32, u64)> = HashSet::new();
        let mut sum = switches(&watch.snapshot().header);
        for round in 0..6 {
            for _ in 0..20 {
                assert!(Command::new("true").status().unwrap().success());
            }
            std::thread::sleep(Duration::from_millis(60));
            let sample = watch.snapshot();
            assert!(switches(&sample.header) >= sum, "{source:?} {mode:?}: a sum fell");
            sum = switches(&sample.header);
            let counted = sample.tables.tasks.iter().filter(|row| row.in_scope && row.tid != 0);
            let now: HashMap<(u32, u64), u64> =
                counted.map(|row| ((row.tid, row.first_ns), row.voluntary + row.involuntary)).collect();
            for (key, count) in &now {
                assert!(!gone.contains(key), "{source:?} {mode:?}: {key:?} came back");
                assert!(
                    *count >= before.get(key).copied().unwrap_or(0),
                    "{source:?} {mode:?}: {key:?} lost switches"
                );
            }
            gone.extend(before.keys().filter(|key| !now.contains_key(key)));
            if round > 0 && source != Some(SourceKind::Procfs) {
                // Twenty came and went in between; those of the turn before are not there any more.
                assert!(
                    gone.len() >= 15 * round,
                    "{source:?} {mode:?}: only {} gone after {round} rounds",
                    gone.len()
                );
            }
            before = now;
        }
    }
}

#[test]
fn a_process_is_looked_at_to_its_end() {
    for (source, mode) in usable("a_process_is_looked_at_to_its_end") {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut watch =
            Watch::begin(Target::Processes(vec![child.id()]), source, Some(mode), DEFAULT_SAMPLE).unwrap();
        watch.snapshot();
        assert!(watch.alive(), "{source:?} {mode:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        // Samples see an end at the next sample.
        watch.poll();
        assert!(!watch.alive(), "{source:?} {mode:?}");
        watch.snapshot();
    }
}

#[test]
fn samples_can_be_looked_at_before_the_end() {
    let mut watch = Watch::begin(Target::Machine, Some(SourceKind::Procfs), None, 0.0).unwrap();
    let me = std::process::id();
    for _ in 0..2 {
        let snapshot = watch.snapshot();
        assert!(snapshot.header.totals.context_switches.voluntary.is_some());
        let row = snapshot.tables.tasks.iter().find(|row| row.tid == me).unwrap();
        assert!(row.in_scope, "{row:?}");
        assert!(row.cgroup.as_ref().is_some_and(|path| path.starts_with('/')), "{row:?}");
    }
}

/// Voluntary switches of one of our threads, by the kernel's own file.
fn slept(tid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

/// The kernel lists only tasks that did something. A thread that sleeps is in no list, and nothing of what it does later is lost.
#[test]
fn what_a_thread_does_between_sleeps_adds_up_to_the_kernels_count() {
    if let Err(why) = Facts::read().bpf {
        return eprintln!("SKIP what_a_thread_does_between_sleeps_adds_up_to_the_kernels_count: {why}");
    }
    let (orders, ordered) = std::sync::mpsc::channel::<u32>();
    let (says, said) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        says.send(crate::task_info::own_tid()).unwrap();
        for naps in ordered {
            (0..naps).for_each(|_| std::thread::sleep(Duration::from_micros(50)));
            says.send(0).unwrap();
        }
    });
    let tid = said.recv().unwrap();
    // Until it has fallen asleep.
    let settle = || std::thread::sleep(Duration::from_millis(50));
    settle();
    let mut watch = MachineWatch::begin(Some(SourceKind::BpfCounts), DEFAULT_SAMPLE).unwrap();
    let (before, mut sum) = (slept(tid), 0);
    for naps in [300, 0, 0, 200, 0, 1] {
        if naps > 0 {
            orders.send(naps).unwrap();
            said.recv().unwrap();
            settle();
        }
        let delta = watch.delta();
        let row = delta.tables.tasks.iter().find(|row| row.tid == tid);
        assert_eq!(row.is_some(), naps > 0, "{naps} naps: {row:?}");
        sum += row.map_or(0, |row| row.voluntary);
        assert_eq!(sum, slept(tid) - before, "after {naps} naps");
    }
    assert!(sum >= 501, "{sum}");
    drop(orders);
    thread.join().unwrap();
}
