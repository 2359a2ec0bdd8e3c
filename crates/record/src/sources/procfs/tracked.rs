//! One thread as the samples see it.

use super::collected::SampledThread;
use super::counters::Counters;
use super::reading::{File, OpenFiles, Reader};
use crate::system::Hierarchy;
use crate::thread_files::{self, Schedstat};
use rustix::io::Errno;
use swtch_trace::tables::TaskRow;

/// Which of the files that not every kernel has are there, as the first attempt found. A later failure is of one thread that ended
/// meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Present {
    pub(super) schedstat: Option<bool>,
    pub(super) sched: Option<bool>,
    /// Switches in `status`.
    pub(super) status: Option<bool>,
}

/// Why a thread could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It ended, or its number is another's by now.
    Gone,
    /// Not permitted, or not in the format that is known.
    Refused,
}

/// A thread and its files.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) files: OpenFiles,
    /// The counters from which on it counts.
    pub(super) first: Counters,
    /// At the last sample.
    pub(super) last: Counters,
    pub(super) parent_pid: u32,
    pub(super) state: u8,
    pub(super) started_ticks: u64,
    /// Threads of its process.
    pub(super) siblings: u64,
    pub(super) since_birth: bool,
    /// The number of the last sample that saw it.
    pub(super) seen: u64,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) samples: u64,
    /// The path of its cgroup, when it was last looked.
    pub(super) group: Option<String>,
    /// Its name is another than when its cgroup was last looked for: with exec, it may have moved.
    pub(super) renamed: bool,
    comm: Vec<u8>,
    kernel_thread: bool,
    schedstat: Option<Schedstat>,
    /// Asleep, and nothing changed between the last two samples: until `schedstat` changes, nothing else can.
    settled: bool,
}

impl Tracked {
    pub(super) fn new(pid: u32, tid: u32, now_ns: u64) -> Self {
        Self { tid, pid, first_ns: now_ns, last_ns: now_ns, ..Self::default() }
    }

    /// Whether it has ended and only waits to be collected.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    /// Reads its files as far as they can have changed; returns what it did since it was read last.
    ///
    /// A thread gets a CPU before it can do anything, and `schedstat` counts that. A thread that sleeps and whose
    /// `schedstat` has not changed therefore has not run. It is read in full once more after the sample that first finds it
    /// so. At that sample it may still have been on its way to sleep.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader,
        present: &mut Present,
        tick_ns: u64,
    ) -> Result<Counters, Unread> {
        let mut schedstat = None;
        if present.schedstat != Some(false) {
            let text = reader.thread(self.pid, self.tid, File::Schedstat, &mut self.files);
            schedstat = text.ok().and_then(thread_files::schedstat);
        }
        let same = schedstat.is_some() && schedstat == self.schedstat;
        if same && self.settled {
            return Ok(self.last.since(&self.last));
        }
        let before = self.last;
        self.read_stat(reader, tick_ns)?;
        // It was there after the attempt, so what failed is the file, not the thread.
        present.schedstat.get_or_insert(schedstat.is_some());
        self.read_switches(reader, present);
        if let Some(Schedstat { run_ns, wait_ns, timeslices }) = schedstat {
            (self.last.run_ns, self.last.wait_ns) = (Some(run_ns), Some(wait_ns));
            self.last.timeslices = Some(timeslices);
        }
        self.settled = same && self.state != b'R';
        self.schedstat = schedstat;
        Ok(self.last.since(&before))
    }

    fn read_stat(&mut self, reader: &mut Reader, tick_ns: u64) -> Result<(), Unread> {
        let text =
            reader.thread(self.pid, self.tid, File::Stat, &mut self.files).map_err(|error| match error {
                Errno::NOENT | Errno::SRCH => Unread::Gone,
                _ => Unread::Refused,
            })?;
        let stat = thread_files::stat(text).ok_or(Unread::Refused)?;
        if self.samples > 0 && stat.started_ticks != self.started_ticks {
            return Err(Unread::Gone);
        }
        if self.comm != stat.comm {
            stat.comm.clone_into(&mut self.comm);
            self.renamed = true;
        }
        self.state = stat.state;
        self.parent_pid = stat.parent_pid;
        self.kernel_thread = stat.is_kernel_thread();
        self.started_ticks = stat.started_ticks;
        self.siblings = stat.threads;
        self.last.user_ns = Some(stat.user_ticks.saturating_mul(tick_ns));
        self.last.system_ns = Some(stat.system_ticks.saturating_mul(tick_ns));
        Ok(())
    }

    /// Reads `sched`, which also has the migrations and costs no more than `status`. Without `sched`, it reads `status`.
    fn read_switches(&mut self, reader: &mut Reader, present: &mut Present) {
        let mut found = None;
        if present.sched != Some(false) {
            let text = reader.thread(self.pid, self.tid, File::Sched, &mut self.files);
            found = text.ok().and_then(thread_files::sched);
        }
        if found.is_none() && present.status != Some(false) && present.sched != Some(true) {
            let Ok(text) = reader.thread(self.pid, self.tid, File::Status, &mut self.files) else { return };
            found = thread_files::status(text);
            present.status.get_or_insert(found.is_some());
            present.sched.get_or_insert(false);
        } else if found.is_some() {
            present.sched.get_or_insert(true);
        }
        if let Some(switches) = found {
            self.last.voluntary = Some(switches.voluntary);
            self.last.involuntary = Some(switches.involuntary);
            self.last.migrations = switches.migrations;
        }
    }

    /// Looks in which cgroup it is, if that may have changed. It does so every so often, when it has a new name, or when `now` it
    /// must be known.
    pub(super) fn look_for_group(&mut self, reader: &mut Reader, hierarchy: &Hierarchy, now: bool) {
        let due = now || self.renamed || self.samples.is_power_of_two();
        // Of one that has ended, version 1 says nothing.
        if !due || self.is_over() {
            return;
        }
        self.renamed = false;
        let path = format!("{}/task/{}/cgroup", self.pid, self.tid);
        if let Ok(text) = reader.other(&path) {
            self.group = hierarchy.path_in(&String::from_utf8_lossy(text)).or(self.group.take());
        }
    }

    /// What it did while it was sampled.
    pub(super) fn counted(&self) -> Counters {
        self.last.since(&self.first)
    }

    /// The row of the result.
    pub(super) fn thread(&self, ended: bool) -> SampledThread {
        let task = TaskRow {
            tid: self.tid,
            pid: self.pid,
            parent_pid: Some(self.parent_pid),
            comm: String::from_utf8_lossy(&self.comm).into_owned(),
            kernel_thread: self.kernel_thread,
            cgroup: self.group.clone(),
            in_scope: true,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            ..TaskRow::default()
        };
        SampledThread { task, counted: self.counted(), ended: ended || self.is_over() }
    }
}
