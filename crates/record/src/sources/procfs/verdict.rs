//! Which figures can be believed, and what is missing.

use super::SampleTarget;
use super::counters::Counters;
use super::tracked::Present;
use crate::thread_files;
use crate::{files, task_info};
use std::path::Path;
use swtch_trace::fields;
use swtch_trace::model::{Field, Unavailable};

/// What the samples showed about the kernel's counting.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    /// Whether any thread ever had any switch.
    switched: bool,
    /// Whether any thread ever had an involuntary one.
    switched_involuntarily: bool,
    /// Whether any thread ever had a turn.
    had_turn: bool,
    /// Whether any thread showed its migrations.
    migrated: bool,
    /// Time that all threads ran during the sampling.
    ran_ns: u64,
    /// Threads that could not be read for want of permission or because of their format.
    pub(super) refused: u64,
}

impl Evidence {
    /// Takes a reading in: the counters since birth, and what was new in them.
    pub(super) fn note(&mut self, last: &Counters, delta: &Counters) {
        let some = |count: Option<u64>| count.unwrap_or(0) > 0;
        self.switched |= some(last.voluntary) || some(last.involuntary);
        self.switched_involuntarily |= some(last.involuntary);
        self.had_turn |= some(last.timeslices) || some(last.run_ns);
        self.migrated |= last.migrations.is_some();
        self.ran_ns = self.ran_ns.saturating_add(delta.any_run_ns());
    }
}

/// The figures to take out, with reasons.
#[derive(Debug, Default)]
pub(super) struct Disbelieved {
    pub(super) rows: Vec<Unavailable>,
    pub(super) no_voluntary: bool,
    pub(super) no_involuntary: bool,
    no_schedstat: bool,
    no_migrations: bool,
}

impl Disbelieved {
    pub(super) fn new(root: &Path, target: &SampleTarget, present: Present, evidence: &Evidence) -> Self {
        let mut verdict = Self::default();
        verdict.switches(root, present, evidence);
        verdict.schedstat(present, evidence);
        if !evidence.migrated {
            verdict.no_migrations = true;
            verdict.row(fields::TASKS_MIGRATIONS, "the kernel shows no /proc/PID/sched (CONFIG_SCHED_DEBUG)");
        }
        if evidence.refused > 0 {
            let why = format!("{} readings of threads were refused or not understood", evidence.refused);
            verdict.row(fields::TASKS, why);
        }
        if matches!(target, SampleTarget::Machine) {
            verdict.visibility(root);
        }
        verdict
    }

    fn row(&mut self, field: Field, why: impl Into<String>) {
        self.rows.push(Unavailable::new(field, why));
    }

    /// A thread that ran and never switched is possible, on a kernel that counts. One that shows no switches of the whole
    /// machine, or of the very thread that asks, does not count.
    fn switches(&mut self, root: &Path, present: Present, evidence: &Evidence) {
        if present.sched == Some(false) && present.status == Some(false) {
            (self.no_voluntary, self.no_involuntary) = (true, true);
            let why = "neither /proc/PID/sched nor /proc/PID/status shows switches on this kernel";
            self.row(fields::TASKS_VOLUNTARY, why);
            self.row(fields::TASKS_INVOLUNTARY, why);
            return;
        }
        let ran = evidence.ran_ns > 0;
        if !ran || evidence.switched_involuntarily || kernel_counts(root) {
            return;
        }
        let why =
            "zero for every thread although they ran; this kernel, perhaps a sandbox, does not count them";
        self.no_involuntary = true;
        self.row(fields::TASKS_INVOLUNTARY, why);
        if !evidence.switched {
            self.no_voluntary = true;
            self.row(fields::TASKS_VOLUNTARY, why);
        }
    }

    fn schedstat(&mut self, present: Present, evidence: &Evidence) {
        let why = if present.schedstat == Some(false) {
            "the kernel shows no /proc/PID/schedstat (CONFIG_SCHED_INFO)"
        } else if evidence.ran_ns > 0 && !evidence.had_turn {
            "/proc/PID/schedstat is zero for every thread although they ran; this kernel does not count"
        } else {
            return;
        };
        self.no_schedstat = true;
        self.row(fields::TASKS_WAIT_NS, why);
        self.row(fields::TASKS_TIMESLICES, why);
        self.row(
            fields::TASKS_RUN_NS,
            format!("{why}; the figure is user and system time, in ticks of 10 ms"),
        );
    }

    /// A container and a mount option hide threads.
    fn visibility(&mut self, root: &Path) {
        if task_info::in_first_pid_namespace(root) == Some(false) {
            self.row(
                fields::MACHINE_TASKS,
                "this is a container with processes of its own; those outside it cannot be seen",
            );
        }
        let mounts = files::text(root, "proc/self/mountinfo").unwrap_or_default();
        let hides = |line: &str| line.contains(" - proc ") && line.contains("hidepid=");
        let shows_all = |line: &str| line.contains("hidepid=0") || line.contains("hidepid=off");
        if mounts.lines().any(|line| hides(line) && !shows_all(line)) {
            self.row(
                fields::MACHINE_TASKS,
                "procfs is mounted with hidepid: threads of other users may be missing",
            );
        }
    }

    /// Says what no sample can have seen, and how many threads those were, where that is known.
    pub(super) fn unseen(&mut self, threads: Option<u64>, period_ns: u64) {
        let least_ms = period_ns / 1_000_000;
        let counted = match threads {
            Some(threads) => format!("{threads} did"),
            None => "how many there were is not known".to_owned(),
        };
        let why = format!("threads that live less than {least_ms} ms may come and go unseen; {counted}");
        self.row(fields::TASKS_SHORT_LIVED, why);
    }

    /// Takes out of a thread's or an interval's figures what is not believed.
    pub(super) fn correct(&self, counted: &mut Counters) {
        if self.no_voluntary {
            counted.voluntary = None;
        }
        if self.no_involuntary {
            counted.involuntary = None;
        }
        if self.no_migrations {
            counted.migrations = None;
        }
        if self.no_schedstat {
            (counted.wait_ns, counted.timeslices) = (None, None);
            counted.run_ns = counted.ticked_ns();
        }
    }
}

/// Whether this kernel counts switches: of the machine, and of the thread that asks where it shows them.
fn kernel_counts(root: &Path) -> bool {
    let machine = crate::system::Snapshot::read(root, None, crate::system::Detail::Totals).context_switches;
    let own = files::text(root, "proc/thread-self/status")
        .ok()
        .and_then(|text| thread_files::status(text.as_bytes()));
    machine.is_some() && own.is_none_or(|own| own.voluntary + own.involuntary > 0)
}
