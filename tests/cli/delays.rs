//! Recordings whose recorder, whose events and whose CPUs are delayed on purpose. Each is checked against the kernel's own counts of the workload's
//! switches and against what no recording can say.
//!
//! Among the tests a few are made. `SWTCH_DELAYS=1000 cargo test --release --workspace --test cli -- delays --nocapture` makes a thousand; with
//! `SWTCH_DELAYS_HOTPLUG=1` the last CPU is taken off and put back during some of them. `SWTCH_DELAYS_SECONDS=300` begins none after this many seconds.

use crate::common::machine::alone;
use crate::common::{home, is_root, last_cpu, skip, stderr, swtch, without_bpf};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};
use swtch_stats::Rng;
use swtch_trace::Trace;

/// Where the workload writes its threads' counts, and how long it lasts, ms.
const COUNTS: &str = "SWTCH_DELAYS_COUNTS";
const LENGTH: &str = "SWTCH_DELAYS_LENGTH_MS";
/// Switches that a thread makes after it has read its counts: it writes them down, and ends.
const AFTERWARDS: u64 = 40;

/// A thread's voluntary and involuntary switches so far, as the kernel counts them.
fn own_counts() -> (u32, u64, u64) {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let of = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    (of("Pid:") as u32, of("voluntary_ctxt_switches:"), of("nonvoluntary_ctxt_switches:"))
}

/// The workload that is recorded: two pairs of threads that wake each other, one that only computes, and short-lived ones.
#[test]
#[ignore = "run by the test below as the command that is recorded"]
fn workload() {
    let Some(file) = std::env::var_os(COUNTS) else { return };
    let length = Duration::from_millis(std::env::var(LENGTH).unwrap().parse().unwrap());
    let counts = Arc::new(Mutex::new(Vec::new()));
    let until = Instant::now() + length;
    let begin = |work: Box<dyn FnOnce() + Send>| {
        let counts = Arc::clone(&counts);
        std::thread::spawn(move || {
            work();
            let own = own_counts();
            counts.lock().unwrap().push(own);
        })
    };
    let mut threads = Vec::new();
    for _ in 0..2 {
        let ((to_one, from_other), (to_other, from_one)) = (sync_channel(0), sync_channel(0));
        let hand_over = move |to: SyncSender<()>, from: Receiver<()>, first: bool| {
            let mut ready = first || from.recv().is_ok();
            while ready && Instant::now() < until {
                ready = to.send(()).is_ok() && from.recv().is_ok();
            }
        };
        threads.push(begin(Box::new(move || hand_over(to_other, from_other, true))));
        threads.push(begin(Box::new(move || hand_over(to_one, from_one, false))));
    }
    threads.push(begin(Box::new(move || while Instant::now() < until {})));
    while Instant::now() < until {
        begin(Box::new(|| sleep(Duration::from_micros(200)))).join().unwrap();
        sleep(Duration::from_millis(3));
    }
    for thread in threads {
        thread.join().unwrap();
    }
    let lines: Vec<String> =
        counts.lock().unwrap().iter().map(|(tid, v, i)| format!("{tid} {v} {i}\n")).collect();
    fs::write(file, lines.concat()).unwrap();
}

/// What delays the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Delay {
    /// Nothing.
    None,
    /// The recorder is stopped and continued.
    StoppedReader,
    /// Recorder and command have a twentieth of a CPU.
    Throttled,
    /// A real-time task takes a CPU.
    Hog,
    /// The last CPU is taken off and put back.
    Hotplug,
}

/// The recorded tasks.
#[derive(Clone, Copy, Debug)]
enum Target {
    Command,
    Process,
    Machine,
}

/// A cgroup with a twentieth of a CPU; it is gone when this is dropped.
struct SlowGroup(PathBuf);

impl SlowGroup {
    fn new() -> Option<Self> {
        let mounts = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"];
        let name = format!("swtch-delays-{}", std::process::id());
        let folder = mounts.iter().map(|mount| Path::new(mount).join(&name)).find(|folder| {
            fs::create_dir(folder).is_ok()
                && (folder.join("cgroup.procs").exists() || fs::remove_dir(folder).is_err())
        })?;
        let group = Self(folder);
        let limited = fs::write(group.0.join("cpu.max"), "2500 50000").is_ok()
            || (fs::write(group.0.join("cpu.cfs_period_us"), "50000").is_ok()
                && fs::write(group.0.join("cpu.cfs_quota_us"), "2500").is_ok());
        limited.then_some(group)
    }
}

impl Drop for SlowGroup {
    fn drop(&mut self) {
        for _ in 0..200 {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        eprintln!("{} could not be removed", self.0.display());
    }
}

/// The last CPU is on again when this is dropped.
struct Hotplug(PathBuf);

impl Hotplug {
    fn new() -> Option<Self> {
        std::env::var_os("SWTCH_DELAYS_HOTPLUG")?;
        let file = PathBuf::from(format!("/sys/devices/system/cpu/cpu{}/online", last_cpu()));
        file.exists().then_some(Self(file))
    }

    fn set(&self, on: bool) {
        let _ = fs::write(&self.0, if on { "1" } else { "0" });
    }
}

impl Drop for Hotplug {
    fn drop(&mut self) {
        self.set(true);
    }
}

fn the_workload(file: &Path, length_ms: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "delays::workload", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(COUNTS, file).env(LENGTH, length_ms.to_string());
    command
}

/// Delays a running recorder until it has ended; its output.
fn disturb(mut child: Child, delay: Delay, rng: &mut Rng, hotplug: Option<&Hotplug>) -> Output {
    let pid = Pid::from_child(&child);
    // It counts down by itself: on its CPU, nothing else could end it.
    let hog = (delay == Delay::Hog).then(|| {
        let busy = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
        let words = ["-f", "10", "taskset", "-c", &last_cpu(), "sh", "-c", busy];
        Command::new("chrt").args(words).stderr(Stdio::null()).spawn()
    });
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        let pause = Duration::from_millis(1 + rng.below(60));
        match (delay, hotplug) {
            (Delay::StoppedReader, _) => {
                let _ = kill_process(pid, Signal::STOP);
                sleep(pause);
                let _ = kill_process(pid, Signal::CONT);
            }
            (Delay::Hotplug, Some(hotplug)) => {
                hotplug.set(false);
                sleep(pause);
                hotplug.set(true);
            }
            _ => {}
        }
        sleep(Duration::from_millis(1 + rng.below(30)));
    }
    if let Some(Ok(mut hog)) = hog {
        let _ = hog.wait();
    }
    child.wait_with_output().unwrap()
}

fn record(
    folder: &Path,
    target: Target,
    delay: Delay,
    rng: &mut Rng,
    hotplug: Option<&Hotplug>,
) -> (Output, PathBuf) {
    let (trace, file) = (folder.join("run.swtch"), folder.join("counts"));
    let _ = fs::remove_dir_all(&trace);
    let _ = fs::remove_file(&file);
    let length_ms = 150 + rng.below(200);
    let mut record = swtch(folder);
    record.args(["record", "--events", "--no-profile", "-o"]).arg(&trace);
    record.stdout(Stdio::piped()).stderr(Stdio::piped());
    let slow = (delay == Delay::Throttled).then(SlowGroup::new).flatten();
    let mut other = None;
    match target {
        Target::Command => {
            let command = the_workload(&file, length_ms);
            record.env(COUNTS, &file).env(LENGTH, length_ms.to_string());
            record.arg("--").arg(command.get_program()).args(command.get_args());
        }
        Target::Process | Target::Machine => {
            let child = the_workload(&file, length_ms + 100).stdout(Stdio::null()).spawn().unwrap();
            match target {
                Target::Process => record.args(["-p", &child.id().to_string()]),
                _ => record.args(["-a", "--duration", &format!("{length_ms}ms")]),
            };
            other = Some(child);
        }
    }
    let child = record.spawn().unwrap();
    if let Some(group) = &slow {
        let _ = fs::write(group.0.join("cgroup.procs"), child.id().to_string());
    }
    let output = disturb(child, delay, rng, hotplug);
    if let Some(mut other) = other {
        other.wait().unwrap();
    }
    (output, trace)
}

/// What cannot be in a recording, or contradicts the kernel's counts of the workload; empty when all is well.
fn contradictions(trace: &Trace, told: &BTreeMap<u32, (u64, u64)>, target: Target) -> Vec<String> {
    let mut found = Vec::new();
    let header = &trace.header;
    let length_ns = header.duration_ns;
    let whole = header.lost.is_empty() && matches!(target, Target::Command);
    for task in trace.tasks.iter().filter(|task| task.in_scope) {
        let all = task.voluntary + task.involuntary;
        if all > length_ns / 100 || task.run_ns > length_ns || task.wait_ns > length_ns {
            found.push(format!("impossible: {task:?} in {length_ns} ns"));
        }
        if task.slice_max_ns.is_some_and(|ns| ns > length_ns)
            || task.wait_max_ns.is_some_and(|ns| ns > length_ns)
        {
            found.push(format!("a time longer than the recording: {task:?}"));
        }
    }
    for cpu in &trace.cpus {
        if cpu.run_ns > length_ns + 1_000_000 {
            found.push(format!("CPU {} ran for {} of {length_ns} ns", cpu.cpu, cpu.run_ns));
        }
    }
    for (tid, (voluntary, involuntary)) in told {
        let rows = trace.tasks.iter().filter(|task| task.in_scope && task.tid == *tid);
        let (v, i) = rows.fold((0, 0), |sum, row| (sum.0 + row.voluntary, sum.1 + row.involuntary));
        let too_many = v > voluntary + AFTERWARDS || i > involuntary + AFTERWARDS;
        if too_many || (whole && (v < *voluntary || i < *involuntary)) {
            found.push(format!(
                "thread {tid}: {v} and {i} switches, the kernel counted {voluntary} and {involuntary}"
            ));
        }
    }
    let mut ran_until: BTreeMap<u32, u64> = BTreeMap::new();
    let mut before_ns = 0;
    for row in trace.switches() {
        let row = row.unwrap();
        let longest = row.ran_ns.max(row.waited_ns).unwrap_or(0);
        if row.at_ns < before_ns || row.at_ns > length_ns || longest > length_ns {
            found.push(format!("after {before_ns}: {row:?} in {length_ns} ns"));
        }
        before_ns = row.at_ns;
        // No task runs on two CPUs at once.
        if let Some(ran_ns) = row.ran_ns
            && let Some(until_ns) = ran_until.insert(row.prev_tid, row.at_ns)
            && row.at_ns < until_ns + ran_ns
        {
            found.push(format!("it ran until {until_ns} elsewhere: {row:?}"));
        }
    }
    found.truncate(5);
    found
}

/// What an environment variable sets.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: a whole number is needed")))
}

#[test]
fn delayed_recordings_say_nothing_impossible() {
    const NAME: &str = "delayed_recordings_say_nothing_impossible";
    if let Some(why) = without_bpf() {
        return skip(NAME, &why);
    }
    let wanted = number("SWTCH_DELAYS").unwrap_or(12);
    let limit = number("SWTCH_DELAYS_SECONDS").map(Duration::from_secs);
    let hotplug = Hotplug::new();
    let mut delays = vec![Delay::None, Delay::StoppedReader];
    if is_root() {
        delays.extend([Delay::Throttled, Delay::Hog]);
    } else {
        skip(&format!("{NAME} (throttled, real-time)"), "not root");
    }
    delays.extend(hotplug.as_ref().map(|_| Delay::Hotplug));
    let _machine = alone();
    let home = home();
    let (mut failures, mut outcomes) = (Vec::new(), BTreeMap::<Delay, [u64; 4]>::new());
    let (began, mut made) = (Instant::now(), 0);
    for index in 0..wanted {
        // At least one is made, or the test would say nothing.
        if index > 0 && limit.is_some_and(|limit| began.elapsed() >= limit) {
            break;
        }
        made += 1;
        let mut rng = Rng::new(index);
        let delay = delays[index as usize % delays.len()];
        let target = [Target::Command, Target::Process, Target::Machine][index as usize / delays.len() % 3];
        let (output, folder) = record(home.path(), target, delay, &mut rng, hotplug.as_ref());
        let outcome = outcomes.entry(delay).or_default();
        outcome[0] += 1;
        if !output.status.success() {
            failures.push(format!("{index} {target:?} {delay:?}: {}: {}", output.status, stderr(&output)));
            continue;
        }
        let trace = Trace::open(&folder).unwrap();
        let counts = fs::read_to_string(home.path().join("counts")).unwrap_or_default();
        let told = counts.lines().filter_map(|line| {
            let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            Some((*numbers.first()? as u32, (*numbers.get(1)?, *numbers.get(2)?)))
        });
        let told: BTreeMap<u32, (u64, u64)> = told.collect();
        if told.is_empty() {
            failures.push(format!("{index} {target:?} {delay:?}: the workload gave no counts"));
        }
        let late: u64 = trace
            .header
            .lost
            .iter()
            .filter(|lost| lost.what.contains("after later"))
            .map(|lost| lost.events)
            .sum();
        outcome[1] += u64::from(late > 0);
        outcome[2] += late;
        outcome[3] += trace.switch_rows().unwrap_or(0);
        let found = contradictions(&trace, &told, target);
        failures.extend(found.into_iter().map(|what| format!("{index} {target:?} {delay:?}: {what}")));
    }
    eprintln!("{made} of {wanted} recordings in {:.0} s", began.elapsed().as_secs_f64());
    for (delay, [of_it, with_late, late, rows]) in &outcomes {
        eprintln!("{delay:?}: {of_it} recordings, {rows} switches, {late} late events in {with_late}");
    }
    let (count, first) = (failures.len(), &failures[..failures.len().min(20)]);
    assert!(failures.is_empty(), "{count} in {made}:\n{}", first.join("\n"));
}
