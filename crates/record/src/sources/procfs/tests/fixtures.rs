//! A `proc` of files in a temporary directory.

use super::super::{SampleTarget, Sampler};
use std::fs;
use std::path::Path;

/// What a made-up thread shows.
#[derive(Clone, Copy)]
pub(super) struct FakeThread {
    pub(super) parent: u32,
    pub(super) state: char,
    pub(super) ticks: u64,
    pub(super) started: u64,
    pub(super) cpu: u32,
    pub(super) run_ns: u64,
    pub(super) wait_ns: u64,
    pub(super) timeslices: u64,
    pub(super) voluntary: u64,
    pub(super) involuntary: u64,
    pub(super) migrations: u64,
}

/// An old thread that sleeps.
pub(super) const OLD: FakeThread = FakeThread {
    parent: 1,
    state: 'S',
    ticks: 100,
    started: 50,
    cpu: 0,
    run_ns: 1_000_000,
    wait_ns: 500,
    timeslices: 40,
    voluntary: 30,
    involuntary: 9,
    migrations: 2,
};

/// The tick at which the made-up samplings begin.
pub(super) const BEGIN: u64 = 1000;

/// A thread that is born after the beginning.
pub(super) const YOUNG: FakeThread = FakeThread { started: BEGIN + 5, ..OLD };

/// The machine.
pub(super) struct FakeMachine {
    pub(super) root: tempfile::TempDir,
    pub(super) schedstat: bool,
    pub(super) sched: bool,
    pub(super) status: bool,
}

impl FakeMachine {
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("proc")).unwrap();
        Self { root, schedstat: true, sched: true, status: true }
    }

    pub(super) fn path(&self) -> &Path {
        self.root.path()
    }

    /// Writes a file, and the directories above it.
    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Shows a thread; the number of the process's threads is always 0, so that the sampler lists them.
    pub(super) fn show(&self, pid: u32, tid: u32, shown: FakeThread) {
        let FakeThread { parent, state, ticks, started, cpu, .. } = shown;
        let directory = format!("proc/{pid}/task/{tid}");
        self.write(
            &format!("{directory}/stat"),
            &format!(
                "{tid} (a) b) {state} {parent} 1 1 0 -1 0 7 0 3 0 {ticks} 0 0 0 20 0 0 0 {started} 0 0 0 0 0 0 0 0 0 0 0 0 0 \
                 0 0 17 {cpu} 0 0\n"
            ),
        );
        if self.schedstat {
            let text = format!("{} {} {}\n", shown.run_ns, shown.wait_ns, shown.timeslices);
            self.write(&format!("{directory}/schedstat"), &text);
        }
        let FakeThread { voluntary, involuntary, migrations, .. } = shown;
        if self.sched {
            let text = format!(
                "se.nr_migrations : {migrations}\nnr_voluntary_switches : {voluntary}\nnr_involuntary_switches : {involuntary}\n"
            );
            self.write(&format!("{directory}/sched"), &text);
        }
        let mut status = format!("Tgid:\t{pid}\n");
        if self.status {
            status += &format!(
                "voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
            );
        }
        self.write(&format!("{directory}/status"), &status);
        self.write(&format!("proc/{tid}/status"), &status);
    }

    /// Ends a process, or a thread that is not the first of its process.
    pub(super) fn end(&self, pid: u32, tid: u32) {
        fs::remove_dir_all(self.root.path().join(format!("proc/{pid}/task/{tid}"))).unwrap();
        fs::remove_dir_all(self.root.path().join(format!("proc/{tid}"))).unwrap();
    }

    pub(super) fn sampler(&self, target: SampleTarget) -> Sampler {
        Sampler::begun_at(self.path(), target, BEGIN).unwrap()
    }
}
