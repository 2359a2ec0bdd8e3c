//! Threads of one process that wait for each other on the CPUs that those need that they wait for.

mod runtimes;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use swtch_trace::TraceView;
use swtch_trace::model::Scope;
use swtch_trace::tables::{InFront, TaskRow, WaitRow};
use swtch_units::CpuList;

/// Below this part of a process's CPU time before switches at which it waited, and of all its switches, waiting is not what takes the CPUs. Threads
/// that spin for a moment before they sleep have the first and not the second.
const LEAST_WAITING: f64 = 0.1;
/// A process with fewer of them says too little.
const LEAST_SWITCHES: u64 = 20;
/// Runnable threads for each CPU: with fewer they have CPUs of their own, and waiting there takes them from no thread.
const LEAST_RUNNABLE_PER_CPU: f64 = 1.2;
/// A thread that ran for a smaller part of what the busiest thread did does not count.
const LEAST_OF_BUSIEST: f64 = 0.05;
/// Less of the waiting than this behind its own threads is waiting behind others.
const LEAST_BEHIND_OWN: f64 = 0.5;
/// A quota that stopped the process in a smaller part of the periods does not say how many CPUs there are for it.
const LEAST_THROTTLED: f64 = 0.2;

/// A process with more threads that wait on CPUs than it has CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpinningProcess {
    /// Its number.
    pub pid: u32,
    /// Its name: that of the thread that ran longest.
    pub program: String,
    /// Its threads that took part.
    pub threads: u64,
    /// Of these, runnable at a time.
    pub runnable: f64,
    /// The CPUs that it may use, or that its quota pays for.
    pub cpus: f64,
    /// Whether a quota says so.
    pub by_quota: bool,
    /// Its involuntary switches.
    pub involuntary: u64,
    /// Of those, at which the thread that lost its CPU was waiting on it, as far as that is seen.
    pub waiting: u64,
    /// Of those, by `sched_yield`.
    pub yields: u64,
    /// Of the waiting for CPUs, the part behind threads of its own program; absent where the Trace does not say what was in front.
    pub behind_own: Option<f64>,
    /// How long its threads waited for CPUs, ns.
    pub wait_ns: u64,
}

/// What is known of one process.
#[derive(Default)]
struct Process<'a> {
    tasks: Vec<&'a TaskRow>,
    voluntary: u64,
    involuntary: u64,
    waiting: u64,
    waiting_ns: u64,
    yields: u64,
    run_ns: u64,
    wait_ns: u64,
}

/// The processes of a Trace whose threads wait on more CPUs than there are for them, those that waited longest first. None where the Trace does not
/// have `tasks.spinning`. `length_ns` is how long was looked.
pub fn spinning_processes(trace: TraceView<'_>, length_ns: u64) -> Vec<SpinningProcess> {
    let mut processes: HashMap<u32, Process<'_>> = HashMap::new();
    for task in trace.in_scope() {
        let Some(waiting) = task.spinning else { continue };
        let process = processes.entry(task.pid).or_default();
        process.tasks.push(task);
        process.voluntary += task.voluntary;
        process.involuntary += task.involuntary;
        process.waiting += waiting;
        process.waiting_ns += task.spinning_ns.unwrap_or(0);
        process.yields += task.yields.unwrap_or(0);
        process.run_ns += task.run_ns;
        process.wait_ns += task.wait_ns;
    }
    let found = processes.into_iter().filter_map(|(pid, process)| process.crowd(pid, trace, length_ns));
    let mut found: Vec<SpinningProcess> = found.collect();
    found.sort_by_key(|one| (Reverse(one.wait_ns), one.pid));
    found
}

impl Process<'_> {
    fn crowd(&self, pid: u32, trace: TraceView<'_>, length_ns: u64) -> Option<SpinningProcess> {
        let switches = (self.voluntary + self.involuntary) as f64;
        let waits = self.waiting >= LEAST_SWITCHES
            && self.waiting as f64 >= LEAST_WAITING * switches
            && self.waiting_ns as f64 >= LEAST_WAITING * self.run_ns as f64;
        if !waits {
            return None;
        }
        let busiest = self.tasks.iter().max_by_key(|task| task.run_ns)?;
        let counts = |task: &&&TaskRow| task.run_ns as f64 >= LEAST_OF_BUSIEST * busiest.run_ns as f64;
        let threads = self.tasks.iter().filter(counts).count();
        let runnable = (self.run_ns + self.wait_ns) as f64 / self.life_ns(length_ns) as f64;
        let quota = quota(trace, self.run_ns, length_ns);
        let affinity = self.allowed(trace);
        let cpus = quota.map_or(affinity, |quota| quota.min(affinity));
        // A quota stops threads in turns: its CPUs are fewer than those that run at a time.
        let by_quota = cpus < affinity;
        let crowded = threads as f64 > cpus && (by_quota || runnable >= LEAST_RUNNABLE_PER_CPU * cpus);
        let behind_own = self.behind_own(trace);
        // Behind other programs, they would wait with fewer threads too.
        let own = by_quota || behind_own.is_none_or(|share| share >= LEAST_BEHIND_OWN);
        (crowded && own).then(|| SpinningProcess {
            pid,
            program: busiest.comm.clone(),
            threads: threads as u64,
            runnable,
            cpus,
            by_quota,
            involuntary: self.involuntary,
            waiting: self.waiting,
            yields: self.yields,
            behind_own,
            wait_ns: self.wait_ns,
        })
    }

    /// From its first thread to its last, where the tasks say it: a part of what was looked at.
    fn life_ns(&self, length_ns: u64) -> u64 {
        let first = self.tasks.iter().map(|task| task.first_ns).min().unwrap_or(0);
        let last = self.tasks.iter().map(|task| task.last_ns).max().unwrap_or(0);
        last.saturating_sub(first).clamp(1, length_ns.max(1))
    }

    /// The CPUs that its threads may use, all together.
    fn allowed(&self, trace: TraceView<'_>) -> f64 {
        let online = trace.header.host.cpus.iter().filter(|cpu| cpu.online);
        let online: HashSet<u32> = online.map(|cpu| cpu.id).collect();
        let lists: Option<Vec<CpuList>> =
            self.tasks.iter().map(|task| task.cpus_allowed.as_ref()?.parse().ok()).collect();
        let allowed: Option<HashSet<u32>> =
            lists.map(|lists| lists.iter().flat_map(CpuList::numbers).collect());
        let count = match allowed {
            Some(allowed) if !online.is_empty() => allowed.intersection(&online).count(),
            Some(allowed) => allowed.len(),
            None => online.len(),
        };
        (count as f64).max(1.0)
    }

    fn behind_own(&self, trace: TraceView<'_>) -> Option<f64> {
        let own: HashSet<u32> = self.tasks.iter().map(|task| task.tid).collect();
        let names: HashSet<&str> = self.tasks.iter().map(|task| task.comm.as_str()).collect();
        // What a quota stops waits for no task.
        let waits = || trace.tables.waits.iter().filter(|row| row.behind != InFront::Quota);
        let rows = || waits().filter(|row| own.contains(&row.of_tid));
        let is_own = |row: &&WaitRow| row.behind == InFront::Task && names.contains(row.program.as_str());
        let all: u64 = rows().map(|row| row.ns).sum();
        let behind: u64 = rows().filter(is_own).map(|row| row.ns).sum();
        (all > 0).then(|| behind as f64 / all as f64)
    }
}

/// The CPUs that a quota leaves, where one stopped what was recorded: the quota itself where it is known, else what ran.
fn quota(trace: TraceView<'_>, run_ns: u64, length_ns: u64) -> Option<f64> {
    let throttled = trace.header.totals.throttled.as_ref()?;
    let share = throttled.throttled_periods as f64 / throttled.periods.max(1) as f64;
    if share < LEAST_THROTTLED {
        return None;
    }
    let known = trace.header.host.limits.cpu_quota.as_ref();
    // A command has the quota of the recorder, which started it.
    let known = known.filter(|_| matches!(trace.header.scope, Scope::Command { .. }));
    let of = |quota_us: u64, period_us: u64| quota_us as f64 / period_us.max(1) as f64;
    Some(known.map_or(run_ns as f64 / length_ns.max(1) as f64, |quota| of(quota.quota_us, quota.period_us)))
}

impl SpinningProcess {
    /// As many threads as there are CPUs for: at least one.
    fn enough(&self) -> u64 {
        (self.cpus.round() as u64).max(1)
    }

    /// What its threads share: `2 CPUs`, `a quota of 1.5 CPUs`.
    pub fn room(&self) -> String {
        match (self.by_quota, self.cpus) {
            (true, cpus) => format!("a quota of {cpus:.1} CPUs"),
            (false, 1.0) => "1 CPU".to_owned(),
            (false, cpus) => format!("{cpus} CPUs"),
        }
    }

    /// The involuntary switches at which it waited, of all, in percent.
    pub fn waiting_percent(&self) -> f64 {
        100.0 * self.waiting as f64 / self.involuntary.max(1) as f64
    }

    /// What is seen of it, as a sentence without its end.
    pub fn evidence(&self, trace: TraceView<'_>) -> String {
        let Self { threads, runnable, involuntary, waiting, .. } = self;
        let (cpus, share) = (self.room(), self.waiting_percent());
        let how = if self.yields * 2 > *waiting { " by sched_yield" } else { " in a loop" };
        let behind = self.behind_own.map_or(String::new(), |share| {
            format!("; {:.0} % of its waiting for CPUs was behind its own threads", 100.0 * share)
        });
        format!(
            "{threads} threads of {} ({}) were on {cpus}, {runnable:.1} of them runnable at a time; at {waiting} of {involuntary} involuntary \
             switches ({share:.0} %, at least) the thread that lost its CPU was waiting on it{how}{}{behind}",
            self.program,
            self.pid,
            runtimes::places(trace, self),
        )
    }

    /// What to change, as a sentence without its end.
    pub fn remedy(&self, trace: TraceView<'_>) -> String {
        let threads = match self.enough() {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        let of = if self.by_quota { "the quota pays for no more" } else { "as many as CPUs" };
        format!("{threads} ({of}), or waits that block: {}", runtimes::blocking_waits(trace, self))
    }
}
