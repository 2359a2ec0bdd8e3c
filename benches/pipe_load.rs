//! `perf bench sched pipe` as a load that runs until it is stopped: two processes on one CPU that hand a byte to and fro. What a switch takes is read while
//! it runs, so that the same processes, in the same memory, are seen with a recorder and without.
#![allow(missing_docs)]

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to begin.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct PipeLoad {
    child: Child,
    /// Directories of its two tasks.
    tasks: [PathBuf; 2],
}

/// What both tasks did so far.
#[derive(Clone, Copy)]
pub(crate) struct Done {
    cpu_ns: u64,
    switches: u64,
}

impl Done {
    pub(crate) fn switches_since(self, before: Self) -> u64 {
        self.switches - before.switches
    }

    /// CPU time of a switch since then, ns.
    pub(crate) fn ns_a_switch_since(self, before: Self) -> Option<f64> {
        let switches = self.switches_since(before);
        (switches > 0).then(|| (self.cpu_ns - before.cpu_ns) as f64 / switches as f64)
    }
}

impl PipeLoad {
    /// Starts it on a CPU; none where it does not run.
    pub(crate) fn start(cpu: &str) -> Option<Self> {
        // It ends with this process, whatever ends that.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "taskset", "-c", cpu])
            .args(["perf", "bench", "sched", "pipe", "-l", "2000000000"])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut load = Self { child, tasks: Default::default() };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let pid = load.child.id();
            let children =
                std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            if let Ok(other) = children.trim().parse::<u32>() {
                load.tasks = [pid, other].map(|task| PathBuf::from(format!("/proc/{task}")));
                return load.done().map(|_| load);
            }
            if load.child.try_wait().ok()?.is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// What it did so far; none where it is gone, or the kernel does not say.
    pub(crate) fn done(&self) -> Option<Done> {
        let mut sum = Done { cpu_ns: 0, switches: 0 };
        for task in &self.tasks {
            let times = std::fs::read_to_string(task.join("schedstat")).ok()?;
            sum.cpu_ns += times.split_whitespace().next()?.parse::<u64>().ok()?;
            let status = std::fs::read_to_string(task.join("status")).ok()?;
            let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            sum.switches += count.trim().parse::<u64>().ok()?;
        }
        Some(sum)
    }

    /// CPU time of a switch while that long passes, ns.
    pub(crate) fn ns_a_switch(&self, during: Duration) -> Option<f64> {
        let before = self.done()?;
        std::thread::sleep(during);
        self.done()?.ns_a_switch_since(before)
    }
}

impl Drop for PipeLoad {
    fn drop(&mut self) {
        // Both: each holds the pipes open for the other.
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.child.id())]).status();
        let _ = self.child.wait();
    }
}
