//! On this machine: children of known behaviour. Counts and orders only, since others may be using it.

use super::super::collected::SampledThread;
use super::super::{Collected, SampleTarget, Sampled, Sampler};
use crate::clock;
use crate::clock::thread_cpu_ns;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const TASK: &str = "SWTCH_RECORD_TEST_TASK";
const DONE: &str = "the task is done";

/// Not a test of its own: this program started again, with something to do. It begins when told so, says when it is done,
/// and stays until its input ends, so that a sample can see all of it.
#[test]
fn helper() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mut input = BufReader::new(std::io::stdin());
    input.read_line(&mut String::new()).unwrap();
    match task.as_str() {
        "sleep" => (0..50).for_each(|_| std::thread::sleep(Duration::from_millis(2))),
        "spin" => {
            let mut last = CpuSet::new();
            let allowed = sched_getaffinity(None).unwrap();
            last.set((0..CpuSet::MAX_CPU).rfind(|cpu| allowed.is_set(*cpu)).unwrap());
            sched_setaffinity(None, &last).unwrap();
            while clock::thread_cpu_ns() < 300_000_000 {}
        }
        "threads" => {
            for _ in 0..200 {
                std::thread::spawn(|| std::thread::sleep(Duration::from_secs(600)));
            }
        }
        _ => {}
    }
    writeln!(std::io::stdout(), "{DONE}").unwrap();
    input.read_to_end(&mut Vec::new()).unwrap();
}

struct Helper {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Helper {
    fn start(task: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sources::procfs::tests::live::helper", "--nocapture"])
            .env(TASK, task)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn begin(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn wait_until_done(&mut self) {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 && !line.contains(DONE) {
            line.clear();
        }
        assert!(line.contains(DONE), "the helper ended early");
    }

    /// Ends it and waits for that without collecting it, so that its figures can still be read.
    fn end(&mut self) {
        drop(self.child.stdin.take());
        let pid = Pid::from_raw(self.pid() as i32).unwrap();
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sum(collected: &Collected, of: impl Fn(&SampledThread) -> Option<u64>) -> Option<u64> {
    collected.threads.iter().map(of).sum()
}

#[test]
fn fifty_sleeps_are_fifty_voluntary_switches() {
    let mut helper = Helper::start("sleep");
    let target = SampleTarget::Descendants { pid: helper.pid(), since_birth: true };
    let mut sampler = Sampler::new(Path::new("/"), target).unwrap();
    assert!(sampler.sample().alive);
    helper.begin();
    helper.wait_until_done();
    sampler.sample();
    helper.end();
    let Sampled { alive, threads, .. } = sampler.sample();
    assert!(!alive && threads == 0, "it has ended");
    helper.child.wait().unwrap();
    let collected = sampler.finish();
    let Some(voluntary) = sum(&collected, |thread| thread.counted.voluntary) else {
        eprintln!("SKIP fifty_sleeps_are_fifty_voluntary_switches: {:?}", collected.unavailable);
        return;
    };
    assert!(voluntary >= 50, "{collected:?}");
    assert!(collected.threads.iter().all(|thread| thread.ended), "{collected:?}");
    let in_intervals: u64 = collected.intervals.iter().filter_map(|row| row.counted.voluntary).sum();
    assert!(in_intervals <= voluntary && in_intervals >= 45, "{in_intervals} of {voluntary}");
}

/// On a machine that is busy otherwise one may be done before the other begins: then they are tried again.
#[test]
fn two_that_share_a_processor_are_preempted_and_wait() {
    let mut seen = Vec::new();
    for _ in 0..5 {
        match preempted_pair() {
            Ok(true) => return,
            Ok(false) => {}
            Err(why) => {
                eprintln!("SKIP two_that_share_a_processor_are_preempted_and_wait: {why}");
                return;
            }
        }
        seen.push("not preempted");
    }
    panic!("{seen:?}");
}

/// Whether both of a pair were preempted and waited; or why that cannot be known.
fn preempted_pair() -> Result<bool, String> {
    let mut pair = [Helper::start("spin"), Helper::start("spin")];
    let pids = pair.each_ref().map(Helper::pid);
    let mut sampler = Sampler::new(Path::new("/"), SampleTarget::Processes(pids.to_vec())).unwrap();
    sampler.sample();
    pair.iter_mut().for_each(Helper::begin);
    pair.iter_mut().for_each(Helper::wait_until_done);
    let collected = sampler.finish();
    assert_eq!(collected.processes_peak, 2);
    let of = |pid: u32, figure: fn(&SampledThread) -> Option<u64>| -> Result<u64, String> {
        let sum =
            collected.threads.iter().filter(|thread| thread.task.pid == pid).map(figure).sum::<Option<u64>>();
        sum.ok_or_else(|| format!("{:?}", collected.unavailable))
    };
    let mut all = true;
    for pid in pids {
        let (involuntary, wait_ns) =
            (of(pid, |row| row.counted.involuntary)?, of(pid, |row| row.counted.wait_ns)?);
        let run_ns = of(pid, |row| row.counted.run_ns)?;
        assert!(run_ns > 0, "{collected:?}");
        // Each waits while the other runs.
        all &= involuntary > 0 && wait_ns > run_ns / 20;
    }
    Ok(all)
}

#[test]
fn many_sleeping_threads_are_sampled_cheaply() {
    let mut helper = Helper::start("threads");
    helper.begin();
    helper.wait_until_done();
    let mut sampler = Sampler::new(Path::new("/"), SampleTarget::Processes(vec![helper.pid()])).unwrap();
    let began_ns = thread_cpu_ns();
    for _ in 0..30 {
        assert!(sampler.sample().threads >= 200);
    }
    let own_ns = thread_cpu_ns() - began_ns;
    let period = sampler.period();
    let cost_ns = own_ns / 30 / 200;
    eprintln!("a sleeping thread costs {cost_ns} ns a sample");
    assert!(cost_ns > 0 && cost_ns < 1_000_000, "{cost_ns}");
    assert!(period >= Duration::from_millis(100), "{period:?}");
    assert!(period * 30 >= Duration::from_nanos(own_ns), "{period:?} {own_ns}");
}

#[test]
fn the_whole_machine_has_this_thread_in_it() {
    let mut sampler = Sampler::new(Path::new("/"), SampleTarget::Machine).unwrap();
    sampler.sample();
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let collected = sampler.finish();
    let Some(thread) = collected.threads.iter().find(|thread| thread.task.tid == own) else {
        panic!("{own} is not among {} threads", collected.threads.len());
    };
    assert_eq!(thread.task.pid, std::process::id());
    match thread.counted.voluntary {
        Some(voluntary) => assert!(voluntary >= 20, "{voluntary}"),
        None => eprintln!("SKIP the_whole_machine_has_this_thread_in_it: {:?}", collected.unavailable),
    }
    assert!(collected.threads.len() as u64 >= collected.processes_peak && collected.processes_peak > 0);
}

#[test]
fn a_process_that_is_gone_is_named() {
    let mut helper = Helper::start("none");
    let pid = helper.pid();
    helper.end();
    helper.child.wait().unwrap();
    let error = Sampler::new(Path::new("/"), SampleTarget::Processes(vec![pid])).unwrap_err().to_string();
    assert!(error.contains(&format!("no process {pid}")), "{error}");
}
