//! The memory that tasks use between two switches, estimated from outside. In windows of several lengths, what a process touched
//! is compared with how long it ran (`/proc/PID/clear_refs`, `/proc/PID/smaps_rollup`).
//!
//! What it finds is an upper bound: a page counts whole, and the threads of a process are taken together.

mod curve;
mod process;

use crate::clock::{cpu_ns_of, monotonic_ns};
use crate::options::TargetTasks;
use crate::rights;
use crate::task_info;
use curve::{Curve, CurvePoint, WINDOWS_US};
use process::{ProcessStat, look, stat, tracks_writes};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use swtch_trace::fields;
use swtch_trace::model::Header;
use swtch_trace::tables::TaskRow;

/// Processes looked at: those that run most.
const MOST_PROCESSES: usize = 20;
/// A process may be disturbed for one part in this many of the time that it runs. Listing the processes takes the same part of a CPU's time.
const COST_SHARE: u64 = 100;
/// What a look takes about: for itself, and for each page that is there, ns.
const LOOK_NS: u64 = 100_000;
const LOOK_NS_PER_PAGE: u64 = 150;
/// Of more processes nothing is kept.
const MOST_KEPT: usize = 4096;
/// The pause between two checks for processes that are due.
const PAUSE: Duration = Duration::from_millis(5);
/// Fewer ticks do not say how time was divided between program and kernel.
const LEAST_TICKS: u64 = 10;

/// Samples working sets during a recording, in a thread of its own.
#[derive(Debug)]
pub(crate) struct WorkingSets {
    found: Arc<Mutex<Estimates>>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What was found so far.
#[derive(Debug, Default)]
struct Estimates {
    processes: BTreeMap<u32, ProcessEstimate>,
    disturbed_ns: u64,
    huge: bool,
    /// Why some could not be looked at.
    refused: Option<String>,
}

#[derive(Debug, Default)]
struct ProcessEstimate {
    curve: Curve,
    first: ProcessStat,
    last: ProcessStat,
}

impl WorkingSets {
    /// Begins to look at processes, and at what descends from those that are named.
    pub(crate) fn begin(
        processes: TargetTasks,
        since_birth: bool,
        drop_capabilities: bool,
    ) -> io::Result<Self> {
        let found = Arc::new(Mutex::new(Estimates::default()));
        let (stop, stopped) = channel();
        let mut looker = Looker {
            processes,
            since_birth,
            found: Arc::clone(&found),
            known: HashMap::new(),
            list_at_ns: 0,
            tracks_writes: tracks_writes(),
            random: 0x9e37_79b9_7f4a_7c15,
        };
        let thread = std::thread::Builder::new().name("working-set".to_owned()).spawn(move || {
            // A thread has capabilities of its own. The thread that records reports a refusal.
            if drop_capabilities {
                let _ = rights::drop_all_but(rights::MEMORY_MAPS);
            }
            looker.run(&stopped);
        })?;
        Ok(Self { found, stop: Some(stop), thread: Some(thread) })
    }

    /// Fills in what is known so far, and says where it came from or why it is missing.
    pub(crate) fn fill(&self, tasks: &mut [TaskRow], header: &mut Header) {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut divided = false;
        for task in tasks.iter_mut().filter(|task| task.in_scope && !task.kernel_thread) {
            let Some(process) = found.processes.get(&task.pid) else { continue };
            let slice_ns = task.run_ns / (task.voluntary + task.involuntary).max(1);
            task.working_set_bytes = process.curve.most_bytes(slice_ns);
            if task.user_ns.is_none()
                && let Some(share) = process.kernel_share()
            {
                let system_ns = (task.run_ns as f64 * share) as u64;
                (task.user_ns, task.system_ns) = (Some(task.run_ns - system_ns), Some(system_ns));
                divided = true;
            }
        }
        found.explain(header, divided);
    }

    /// Ends the looking; what was found stays.
    pub(crate) fn finish(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for WorkingSets {
    fn drop(&mut self) {
        self.finish();
    }
}

impl ProcessEstimate {
    /// The share of its time that it spent in the kernel, all threads together.
    fn kernel_share(&self) -> Option<f64> {
        let user = self.last.user.saturating_sub(self.first.user);
        let system = self.last.system.saturating_sub(self.first.system);
        (user + system >= LEAST_TICKS).then(|| system as f64 / (user + system) as f64)
    }
}

impl Estimates {
    fn explain(&self, header: &mut Header, divided: bool) {
        let samples: usize = self.processes.values().map(|process| process.curve.taken()).sum();
        if samples == 0 {
            let why = self.refused.clone().unwrap_or_else(|| {
                let least_ms = LOOK_NS * COST_SHARE / 1_000_000;
                format!(
                    "no process ran for {least_ms} ms or more, so none could be sampled without disturbing it"
                )
            });
            header.miss(fields::TASKS_WORKING_SET_BYTES, why);
            return;
        }
        let processes = self.processes.values().filter(|process| process.curve.taken() > 0).count();
        let huge = if self.huge { "; huge pages count whole, so the figure is too high" } else { "" };
        let source = format!(
            "pages touched in {samples} windows of {processes} processes (/proc/PID/clear_refs, smaps_rollup), at most; it disturbed them for some {:.1} ms{huge}",
            self.disturbed_ns as f64 / 1e6
        );
        header.set_source("tasks.working_set_bytes", &source);
        if divided {
            for column in ["tasks.user_ns", "tasks.system_ns"] {
                header.set_source(column, "run_ns, divided as /proc/PID/stat divides its process's time");
            }
        }
        if let Some(why) = &self.refused {
            header.miss(fields::TASKS_WORKING_SET_BYTES, format!("of some processes: {why}"));
        }
    }
}

/// The thread that looks.
struct Looker {
    processes: TargetTasks,
    /// The processes' times count from their birth.
    since_birth: bool,
    found: Arc<Mutex<Estimates>>,
    known: HashMap<u32, RunningProcess>,
    list_at_ns: u64,
    tracks_writes: bool,
    random: u64,
}

/// A process that is there.
#[derive(Clone, Copy, Debug, Default)]
struct RunningProcess {
    cpu_ns: u64,
    /// It ran so long in the last round.
    lately_ns: u64,
    /// How long it had run after the last look, and how long it has to have run at the next.
    looked_cpu_ns: u64,
    due_cpu_ns: u64,
    refused: bool,
}

impl Looker {
    fn run(&mut self, stopped: &Receiver<()>) {
        while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            if monotonic_ns() >= self.list_at_ns {
                self.list();
            }
            if let Some(pid) = self.due() {
                self.look_at(pid, stopped);
            }
        }
    }

    /// Lists the processes that exist, and finds those that run most.
    fn list(&mut self) {
        let began_ns = monotonic_ns();
        let pids = members(&self.processes);
        self.known.retain(|pid, _| pids.contains(pid));
        for pid in pids {
            let Some(cpu_ns) = cpu_ns_of(pid) else { continue };
            let is_new = !self.known.contains_key(&pid);
            let known = self.known.entry(pid).or_default();
            known.lately_ns = cpu_ns.saturating_sub(known.cpu_ns);
            known.cpu_ns = cpu_ns;
            if is_new {
                known.looked_cpu_ns = if self.since_birth { 0 } else { cpu_ns };
                known.due_cpu_ns = known.looked_cpu_ns + LOOK_NS * COST_SHARE;
            }
        }
        let took_ns = monotonic_ns() - began_ns;
        self.list_at_ns = monotonic_ns() + took_ns * COST_SHARE;
    }

    /// Of the busiest, one that may be looked at: the one that was looked at least.
    fn due(&mut self) -> Option<u32> {
        let mut busiest: Vec<(u32, RunningProcess)> =
            self.known.iter().map(|(pid, known)| (*pid, *known)).collect();
        busiest.retain(|(_, known)| known.lately_ns > 0 && !known.refused);
        busiest.sort_by_key(|(pid, known)| (std::cmp::Reverse(known.lately_ns), *pid));
        busiest.truncate(MOST_PROCESSES);
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let full = found.processes.len() >= MOST_KEPT;
        busiest.retain(|(pid, _)| !full || found.processes.contains_key(pid));
        let taken = |pid: &u32| found.processes.get(pid).map_or(0, |process| process.curve.taken());
        let due = busiest.into_iter().filter(|(pid, known)| cpu_ns_of(*pid) >= Some(known.due_cpu_ns));
        due.map(|(pid, _)| pid).min_by_key(|pid| (taken(pid), *pid))
    }

    fn look_at(&mut self, pid: u32, stopped: &Receiver<()>) {
        let Some(before) = stat(pid).filter(|stat| stat.resident_pages > 0) else {
            self.known.remove(&pid);
            return;
        };
        let known = self.known.entry(pid).or_default();
        // It may have grown since.
        let due_cpu_ns =
            known.looked_cpu_ns + (LOOK_NS + LOOK_NS_PER_PAGE * before.resident_pages) * COST_SHARE;
        if due_cpu_ns > known.due_cpu_ns {
            known.due_cpu_ns = due_cpu_ns;
            return;
        }
        let wanted: Vec<usize> = {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            let process = found.processes.entry(pid).or_insert_with(|| ProcessEstimate {
                first: if self.since_birth { ProcessStat::default() } else { before },
                ..ProcessEstimate::default()
            });
            process.curve.wanted().collect()
        };
        // xorshift64 (Marsaglia 2003): so that no rhythm of the process meets one of ours.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let window = wanted[(self.random % wanted.len() as u64) as usize];
        let wait = || {
            // At the end of the recording it is over sooner, and the shorter for it.
            let _ = stopped.recv_timeout(Duration::from_micros(WINDOWS_US[window]));
        };
        let looked = look(pid, wait, self.tracks_writes);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known.entry(pid).or_default();
        let cost_ns = match looked {
            Ok(looked) => {
                found.disturbed_ns += looked.disturbed_ns;
                found.huge |= looked.memory.huge > 0;
                if let Some(process) = found.processes.get_mut(&pid) {
                    process.curve.add(
                        window,
                        CurvePoint {
                            run_ns: looked.run_ns,
                            touched_bytes: looked.memory.touched,
                            resident_bytes: looked.memory.resident,
                        },
                    );
                    process.last = stat(pid).unwrap_or(before);
                }
                looked.disturbed_ns
            }
            Err(error) => {
                if let Some(why) = why(&error) {
                    known.refused = true;
                    found.refused.get_or_insert(why);
                }
                0
            }
        };
        known.looked_cpu_ns = cpu_ns_of(pid).unwrap_or(0);
        known.due_cpu_ns = known.looked_cpu_ns + cost_ns * COST_SHARE;
    }
}

/// Why a look failed; nothing when it was only that the process ended.
fn why(error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::NotFound if Path::new("/proc/self/clear_refs").exists() => None,
        io::ErrorKind::NotFound => {
            Some("this kernel has no /proc/PID/clear_refs; it needs CONFIG_PROC_PAGE_MONITOR".to_owned())
        }
        io::ErrorKind::PermissionDenied => {
            Some("reading the process's memory is not permitted; run as its user, or as root".to_owned())
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => None,
        _ => Some(format!("its memory could not be read: {error}")),
    }
}

/// Numbers of the processes, ourselves left out.
fn members(processes: &TargetTasks) -> HashSet<u32> {
    let mut found: HashSet<u32> = match processes {
        TargetTasks::All => task_info::processes().into_iter().collect(),
        TargetTasks::Group(folder) => task_info::processes_in_folder(folder).into_iter().collect(),
        TargetTasks::Processes(pids) => {
            let mut found = pids.iter().copied().collect();
            let all = task_info::processes().into_iter();
            let parents = all.filter_map(|pid| Some((pid, stat(pid)?.parent_pid)));
            task_info::adopt(&mut found, &mut parents.collect());
            found
        }
    };
    found.remove(&std::process::id());
    found
}

#[cfg(test)]
mod tests;
