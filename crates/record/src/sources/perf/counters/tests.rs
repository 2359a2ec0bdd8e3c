//! The mechanism with events that every kernel counts: page faults and context switches, next to what the kernel says of a child that ended.

// They are collected by wait4(2), which tells what they used.
#![allow(clippy::zombie_processes)]

use super::*;
use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

const FAULTS: Counter = Counter { kind: TYPE_SOFTWARE, config: 2 };
const SWITCHES: Counter = Counter { kind: TYPE_SOFTWARE, config: 3 };

fn opened(test: &str, roots: &[Root]) -> Option<Counters> {
    match Counters::open([FAULTS, SWITCHES], roots) {
        // In programs only, no switch is counted.
        Ok(counters) if !counters.user_only() => Some(counters),
        Ok(_) => {
            eprintln!("SKIP {test}: perf events of the kernel's side are not permitted here");
            None
        }
        Err(error) => {
            eprintln!("SKIP {test}: perf events are not permitted here: {error}");
            None
        }
    }
}

/// Faults and switches of a child, which is collected.
fn usage(child: &Child) -> (u64, u64) {
    // SAFETY: all zeroes is a value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes to the two places; the child is ours.
    let waited = unsafe { libc::wait4(child.id() as i32, std::ptr::null_mut(), 0, &raw mut usage) };
    assert_eq!(waited, child.id() as i32);
    ((usage.ru_minflt + usage.ru_majflt) as u64, (usage.ru_nvcsw + usage.ru_nivcsw) as u64)
}

fn quiet(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A child that sleeps until it is written to, again and again.
fn cat() -> (Child, ChildStdin) {
    let mut child = quiet("cat").stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take().unwrap();
    (child, input)
}

fn prod(input: &mut ChildStdin, times: usize) {
    for _ in 0..times {
        input.write_all(b"x").unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn row(tid: u32) -> TaskRow {
    TaskRow { tid, pid: tid, in_scope: true, ..TaskRow::default() }
}

fn switches_so_far(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
    counts.map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn every_child_gets_its_own() {
    let Some(mut counters) = opened("every_child_gets_its_own", &[Root::Started]) else { return };
    // Two with known work of two kinds, and one that a child makes.
    let busy = quiet("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]).spawn().unwrap();
    let (sleepy, mut input) = cat();
    let (still, mut open_input) = cat();
    prod(&mut input, 100);
    prod(&mut open_input, 30);
    drop(input);
    let children = [(busy.id(), usage(&busy)), (sleepy.id(), usage(&sleepy))];
    counters.poll();
    let mut rows: Vec<TaskRow> = children.iter().map(|(tid, _)| row(*tid)).chain([row(still.id())]).collect();
    counters.fill(&mut rows, 0);
    for (row, (tid, (faults, switches))) in rows.iter().zip(children) {
        let (counted_faults, counted_switches) = (row.instructions.unwrap(), row.cache_misses.unwrap());
        // Before its program it has faults, and the kernel's own of its arguments; after its record, its last switch.
        assert!((counted_faults..counted_faults + 200).contains(&faults), "{tid}: {faults} {counted_faults}");
        assert!((counted_switches..=counted_switches + 10).contains(&switches), "{tid}: {switches} {row:?}");
    }
    assert!(rows[1].cache_misses.unwrap() >= 90, "it slept a hundred times: {:?}", rows[1]);
    // The task that still runs has counts that no record reported.
    let alive = rows[2].cache_misses.unwrap();
    let kernel = switches_so_far(still.id());
    assert!(alive >= 20 && (alive..=alive + 10).contains(&kernel), "{alive} {kernel}");
    drop(open_input);
    usage(&still);
    counters.poll();
    let mut rows = vec![row(still.id()), row(u32::MAX), row(u32::MAX - 1)];
    counters.fill(&mut rows, 0);
    assert!(rows[0].cache_misses >= Some(alive));
    assert_eq!((rows[1].cache_misses, rows[2].cache_misses), (None, None), "of two, it is not known whose");
    assert_eq!(counters.lost(), 0);
}

#[test]
fn a_running_task_and_what_it_makes_are_told_apart() {
    const SCRIPT: &str =
        "while read -r line; do if [ $line = fork ]; then sleep 0.001; sleep 0.001; fi; done";
    let mut shell = quiet("sh").args(["-c", SCRIPT]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = shell.stdin.take().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let before = switches_so_far(shell.id());
    let test = "a_running_task_and_what_it_makes_are_told_apart";
    let Some(mut counters) = opened(test, &[Root::Task(shell.id())]) else {
        drop(input);
        usage(&shell);
        return;
    };
    for line in ["stay\n"; 20].iter().chain(&["fork\n"; 10]) {
        input.write_all(line.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(100));
    let since = switches_so_far(shell.id()) - before;
    counters.poll();
    assert_eq!(counters.ended.len(), 20, "every child that ended was counted");
    let mut rows = vec![row(shell.id())];
    counters.fill(&mut rows, 0);
    let counted = rows[0].cache_misses.unwrap();
    assert!(since >= 20 && counted.abs_diff(since) <= 2, "{counted} {since}");
    drop(input);
    usage(&shell);
    // It has ended, and its own value is still there.
    counters.poll();
    counters.fill(&mut rows, 0);
    assert!(rows[0].cache_misses >= Some(counted));
}

#[test]
fn a_counter_that_had_half_the_time_is_doubled() {
    assert_eq!(scaled(100, 1000, 500), Some(200));
    assert_eq!(scaled(100, 1000, 1000), Some(100));
    assert_eq!(scaled(0, 1000, 0), None);
    assert_eq!(scaled(0, 0, 0), None);
}

#[test]
fn what_this_machine_lacks_is_an_error() {
    let none = Counter { kind: 0xffff, config: 1 };
    assert!(Counters::open([none, none], &[Root::Started]).is_err());
}
