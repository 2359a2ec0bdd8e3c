//! Recordings of a machine that changes meanwhile.

use crate::common::machine::alone;
use crate::common::{home, is_root, last_cpu, run, skip, stderr, stdout, swtch, usable};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use swtch_trace::Trace;

/// Records the whole machine for a while, in the background.
fn recording(home: &Path, source: &str, duration: &str) -> Child {
    let arguments = [
        "record",
        "-a",
        source,
        "--duration",
        duration,
        "--no-profile",
        "--json",
        "--force",
        "-o",
        "all.swtch",
    ];
    let mut command = swtch(home);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Its summary and its Trace.
fn ended(recording: Child, home: &Path) -> (Value, Trace) {
    let output = recording.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    (serde_json::from_str(&stdout(&output)).unwrap(), Trace::open(&home.join("all.swtch")).unwrap())
}

/// A CPU that can be taken off the machine, put back when this is dropped.
struct Hotplug(PathBuf);

impl Hotplug {
    fn last() -> Result<Self, String> {
        if !is_root() {
            return Err("it takes root to take a CPU off".to_owned());
        }
        let file = PathBuf::from(format!("/sys/devices/system/cpu/cpu{}/online", last_cpu()));
        match fs::read_to_string(&file) {
            Ok(text) if text.trim() == "1" => Ok(Self(file)),
            Ok(_) => Err(format!("{} is off", file.display())),
            Err(error) => Err(format!("{}: {error}", file.display())),
        }
    }

    fn set(&self, online: bool) -> std::io::Result<()> {
        fs::write(&self.0, if online { "1" } else { "0" })
    }
}

impl Drop for Hotplug {
    fn drop(&mut self) {
        let _ = self.set(true);
    }
}

#[test]
fn a_cpu_may_go_and_come_back() {
    const TEST: &str = "a_cpu_may_go_and_come_back";
    let _machine = alone();
    let cpu = match Hotplug::last() {
        Ok(cpu) => cpu,
        Err(why) => return skip(TEST, &why),
    };
    for source in usable(TEST) {
        let home = home();
        let child = recording(home.path(), source, "2500ms");
        sleep(Duration::from_millis(700));
        if let Err(why) = cpu.set(false) {
            drop(ended(child, home.path()));
            return skip(TEST, &format!("this machine keeps its CPUs: {why}"));
        }
        sleep(Duration::from_millis(500));
        cpu.set(true).unwrap();
        let (found, trace) = ended(child, home.path());
        assert!(trace.header.duration_ns > 2_000_000_000);
        // While a CPU goes, the kernel may refuse memory to count a task that comes just then; that is counted as lost.
        assert!(found["lost"].as_u64().unwrap() <= 10, "{source}: {}", found["losses"]);
        for row in &trace.header.reconciliation {
            let share = row.share().unwrap();
            assert!((0.9..1.1).contains(&share), "{source}: {row:?}");
        }
    }
}

/// A step of the clock on the wall, taken back when this is dropped.
struct Step {
    seconds: i64,
}

impl Step {
    fn by(seconds: i64) -> Result<Self, String> {
        let step = Self { seconds };
        Self::shift(seconds)?;
        Ok(step)
    }

    fn shift(seconds: i64) -> Result<(), String> {
        let output = run(Command::new("date").arg("-s").arg(format!("{seconds} seconds")));
        output.status.success().then_some(()).ok_or_else(|| stderr(&output).trim().to_owned())
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        let _ = Self::shift(-self.seconds);
    }
}

#[test]
fn a_step_of_the_clock_is_no_time() {
    const TEST: &str = "a_step_of_the_clock_is_no_time";
    let _machine = alone();
    if !is_root() {
        return skip(TEST, "it takes root to set the clock");
    }
    for source in usable(TEST) {
        let (home, began) = (home(), Instant::now());
        let child = recording(home.path(), source, "1200ms");
        sleep(Duration::from_millis(500));
        let step = match Step::by(3600) {
            Ok(step) => step,
            Err(why) => {
                drop(ended(child, home.path()));
                return skip(TEST, &format!("the clock cannot be set here: {why}"));
            }
        };
        sleep(Duration::from_millis(100));
        drop(step);
        let (_, trace) = ended(child, home.path());
        let took_ns = began.elapsed().as_nanos() as u64;
        assert!((1_000_000_000..=took_ns).contains(&trace.header.duration_ns), "{source}");
        let last = trace.intervals.iter().map(|row| row.at_ns + row.length_ns).max();
        assert!(last.is_some_and(|end_ns| end_ns <= took_ns), "{source}: {last:?}");
        let longest = trace.tasks.iter().filter_map(|row| row.wait_max_ns).max().unwrap_or(0);
        assert!(longest <= took_ns, "{source}: a wait of {longest} ns");
    }
}
