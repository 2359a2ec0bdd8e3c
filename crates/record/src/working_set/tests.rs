//! Of processes that touch a known amount of memory.

use super::*;
use std::process::{Child, Command, Stdio};

/// Goes through so much memory again and again.
struct Toucher(Child);

impl Toucher {
    fn of(bytes: usize) -> Self {
        let script = format!(
            "m = bytearray({bytes})\nwhile True:\n    for at in range(0, {bytes}, 4096): m[at] = 1\n"
        );
        let child = Command::new("python3").args(["-c", &script]).stdin(Stdio::null()).spawn().unwrap();
        Self(child)
    }
}

impl Drop for Toucher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn header() -> Header {
    use swtch_trace::model::{Provenance, Scope};
    Header::new(Provenance::default(), swtch_topology::Host::default(), Scope::Machine)
}

/// Waits until it was looked at so often; a loaded machine takes longer.
fn looked_at(sets: &WorkingSets, pid: u32, often: usize) {
    for _ in 0..6_000 {
        let found = sets.found.lock().unwrap();
        if found.refused.is_some()
            || found.processes.get(&pid).is_some_and(|process| process.curve.taken() >= often)
        {
            return;
        }
        drop(found);
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it was not looked at {often} times within a minute");
}

fn row(pid: u32) -> TaskRow {
    // A slice that a window of half a millisecond can hold.
    TaskRow { tid: pid, pid, in_scope: true, voluntary: 1_000, run_ns: 100_000_000, ..TaskRow::default() }
}

#[test]
fn what_a_process_touches_is_found() {
    const TOUCHED: usize = 8 << 20;
    let toucher = Toucher::of(TOUCHED);
    let pid = toucher.0.id();
    let mut sets = WorkingSets::begin(TargetTasks::Processes(vec![pid]), true, false).unwrap();
    looked_at(&sets, pid, 12);
    sets.finish();
    if let Some(why) = &sets.found.lock().unwrap().refused {
        eprintln!("SKIP what_a_process_touches_is_found: {why}");
        return;
    }
    let mut header = header();
    let mut tasks = [row(pid), TaskRow { run_ns: 1 << 50, ..row(pid) }, row(1)];
    sets.fill(&mut tasks, &mut header);
    // Going through all of it takes longer than a slice of 100 µs. No process can go through more than it has.
    let short = tasks[0].working_set_bytes.unwrap();
    assert!((64 << 10..TOUCHED as u64 + (32 << 20)).contains(&short), "{short}");
    // Longer than any window: all that it has.
    let long = tasks[1].working_set_bytes.unwrap();
    assert!((TOUCHED as u64..TOUCHED as u64 + (32 << 20)).contains(&long), "{long}");
    assert_eq!(tasks[2].working_set_bytes, None);
    assert_eq!(tasks[0].user_ns.unwrap() + tasks[0].system_ns.unwrap(), tasks[0].run_ns);
    assert!(header.sources["tasks.working_set_bytes"].contains("windows of 1 processes"));
    assert_eq!(header.unavailable, []);
}

#[test]
fn looking_stays_within_its_share_of_the_time() {
    let toucher = Toucher::of(1 << 20);
    let pid = toucher.0.id();
    let mut sets = WorkingSets::begin(TargetTasks::Processes(vec![pid]), true, false).unwrap();
    looked_at(&sets, pid, 10);
    let (disturbed_ns, looks) = {
        let found = sets.found.lock().unwrap();
        (found.disturbed_ns, found.processes.get(&pid).map_or(0, |process| process.curve.taken()))
    };
    // The next one comes when those before are paid for.
    looked_at(&sets, pid, looks + 1);
    let ran_ns = cpu_ns_of(pid).unwrap();
    sets.finish();
    if let Some(why) = &sets.found.lock().unwrap().refused {
        eprintln!("SKIP looking_stays_within_its_share_of_the_time: {why}");
        return;
    }
    assert!(
        disturbed_ns > 0 && disturbed_ns * COST_SHARE <= ran_ns,
        "{looks} looks: {disturbed_ns} of {ran_ns} ns"
    );
}

#[test]
fn who_sleeps_is_left_alone_and_that_is_said() {
    let asleep = Toucher(Command::new("sleep").arg("1000").spawn().unwrap());
    let mut sets = WorkingSets::begin(TargetTasks::Processes(vec![asleep.0.id()]), true, false).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    sets.finish();
    let (mut header, mut tasks) = (header(), [row(asleep.0.id())]);
    sets.fill(&mut tasks, &mut header);
    assert_eq!(tasks[0].working_set_bytes, None);
    assert!(
        header.unavailable[0].reason.contains("could be sampled without disturbing it"),
        "{:?}",
        header.unavailable
    );
}

#[test]
fn everybody_is_everybody_but_ourselves() {
    let child = Toucher(Command::new("sleep").arg("1000").spawn().unwrap());
    let (me, pid) = (std::process::id(), child.0.id());
    assert!(members(&TargetTasks::All).contains(&pid) && !members(&TargetTasks::All).contains(&me));
    assert_eq!(members(&TargetTasks::Processes(vec![pid])), HashSet::from([pid]));
    assert!(members(&TargetTasks::Processes(vec![me])).contains(&pid));
    assert!(why(&io::ErrorKind::PermissionDenied.into()).unwrap().contains("as root"));
    assert_eq!(why(&rustix::io::Errno::SRCH.into()), None);
}
