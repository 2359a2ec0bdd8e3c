//! The tasks that had the CPU while recorded tasks waited for it: other recorded tasks, or programs that were not recorded.

use crate::bill::Inputs;
use std::collections::{HashMap, HashSet};
use swtch_trace::model::Scope;
use swtch_trace::tables::{CpuRow, InFront, TaskRow, WaitRow};

/// The preemptions show which tasks were in front only if the waits after them are at least this part of all waits.
const LEAST_PREEMPTED: f64 = 0.1;
/// The tasks waited for a CPU only if at least this part of their time passed on it.
const LEAST_ON_CPU: f64 = 0.05;
/// Programs named.
const NAMES: usize = 2;
/// In the place of the name of a task that ended before it could be named.
const GONE: &str = "a task that was gone";

/// The tasks that were in front of the recorded tasks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Front {
    /// Part of the tasks' waiting that was behind programs that were not recorded.
    pub(crate) others: f64,
    /// What those programs ran, as a part of all CPUs' time; absent when the Trace does not have the CPUs' time.
    pub(crate) ran: Option<f64>,
    /// Those that were in front longest, in words.
    pub(crate) names: Vec<String>,
}

impl Front {
    /// Absent when every task of the machine was recorded, and when the Trace has neither single preemptions nor the CPUs' time.
    pub(crate) fn of(inputs: Inputs<'_>) -> Option<Self> {
        if inputs.trace.header.scope == Scope::Machine {
            return None;
        }
        let ran = ran(inputs);
        if !inputs.trace.waits.is_empty() {
            return Some(Self { others: charged(inputs)?, ran, names: names(inputs) });
        }
        let others = if crowded(inputs) {
            in_front_by_time(inputs).or_else(|| behind(inputs))?
        } else {
            behind(inputs).or_else(|| in_front_by_time(inputs))?
        };
        Some(Self { others, ran, names: names(inputs) })
    }

    /// Whether most of the waiting was not for the recorded tasks themselves.
    pub(crate) fn mostly_others(&self) -> bool {
        self.others > 0.5
    }
}

/// Whether the tasks waited longer than they ran. If they did, everything that ran on their CPUs was in front of them. The task that preempted
/// them was only the first of a queue then.
fn crowded(inputs: Inputs<'_>) -> bool {
    let sum =
        |of: fn(&TaskRow) -> u64| inputs.trace.tables.in_scope().map(|task| of(task) as f64).sum::<f64>();
    sum(|task| task.wait_ns) > sum(|task| task.run_ns)
}

/// Of the waiting behind tasks and for a quota, the part behind programs of which no task was recorded; absent where there was none.
fn charged(inputs: Inputs<'_>) -> Option<f64> {
    let is_of = |row: &&WaitRow| matches!(row.behind, InFront::Task | InFront::Quota);
    let rows = inputs.trace.tables.waits.iter().filter(is_of);
    let all: u64 = rows.map(|row| row.ns).sum();
    let others: u64 = others(inputs).map(|row| row.ns).sum();
    (all > 0).then(|| others as f64 / all as f64)
}

/// The waits behind programs of which no task was recorded.
fn others(inputs: Inputs<'_>) -> impl Iterator<Item = &WaitRow> {
    let ours: HashSet<&str> = inputs.trace.tables.in_scope().map(|task| task.comm.as_str()).collect();
    let rows = inputs.trace.tables.waits.iter().filter(|row| row.behind == InFront::Task);
    rows.filter(move |row| !ours.contains(row.program.as_str()))
}

fn in_scope(inputs: Inputs<'_>) -> HashSet<u32> {
    inputs.trace.tables.in_scope().map(|task| task.tid).collect()
}

/// Of the waits after a preemption, those behind a program that was not recorded; absent when such waits are a small part of all.
fn behind(inputs: Inputs<'_>) -> Option<f64> {
    let ours = in_scope(inputs);
    let rows = || inputs.trace.preemptions.iter().filter(|row| ours.contains(&row.of_tid));
    let sum = |others: bool| -> f64 {
        let wanted = rows().filter(|row| ours.contains(&row.by_tid) != others);
        wanted.filter_map(|row| row.ns).map(|ns| ns as f64).sum()
    };
    let (own_ns, others_ns) = (sum(false), sum(true));
    let wait_ns: f64 = inputs.trace.tables.in_scope().map(|task| task.wait_ns as f64).sum();
    let enough = own_ns + others_ns > 0.0 && own_ns + others_ns >= LEAST_PREEMPTED * wait_ns;
    enough.then(|| others_ns / (own_ns + others_ns))
}

fn busy_ns(cpu: &CpuRow) -> Option<f64> {
    Some((cpu.user_ns? + cpu.system_ns?) as f64)
}

/// What the recorded tasks ran, and what others ran, ns, on some of the CPUs. The recorder's own time is neither.
fn divided(inputs: Inputs<'_>, on: impl Fn(&CpuRow) -> bool, whole: bool) -> Option<(f64, f64)> {
    let rows: Vec<&CpuRow> = inputs.trace.cpus.iter().filter(|cpu| on(cpu)).collect();
    let busy: Option<f64> = rows.iter().map(|cpu| busy_ns(cpu)).sum();
    let own = if whole {
        inputs.trace.tables.in_scope().map(|task| task.run_ns as f64).sum()
    } else {
        rows.iter().map(|cpu| cpu.run_ns as f64).sum::<f64>()
    };
    let switches_ns = inputs.trace.header.totals.switch_cost_ns.unwrap_or(0) as f64;
    let recorder_ns = inputs.trace.header.recorder.cpu_ns.unwrap_or(0) as f64;
    let busy = busy.filter(|_| !rows.is_empty())?;
    Some((own, (busy - own - switches_ns - recorder_ns).max(0.0)))
}

fn in_front_by_time(inputs: Inputs<'_>) -> Option<f64> {
    let all_ns: f64 = inputs.trace.cpus.iter().map(|cpu| cpu.run_ns as f64).sum();
    // Some recorders do not know on which CPU the tasks ran.
    let known = all_ns > 0.0;
    let on = |cpu: &CpuRow| !known || cpu.run_ns as f64 >= LEAST_ON_CPU * all_ns;
    let (own, others) = divided(inputs, on, !known)?;
    (own + others > 0.0).then(|| others / (own + others))
}

fn ran(inputs: Inputs<'_>) -> Option<f64> {
    let (_, others) = divided(inputs, |_| true, true)?;
    let capacity_ns = inputs.trace.header.duration_ns as f64 * inputs.trace.cpus.len() as f64;
    (capacity_ns > 0.0).then(|| (others / capacity_ns).min(1.0))
}

fn names(inputs: Inputs<'_>) -> Vec<String> {
    let mut named = if inputs.trace.waits.is_empty() { preempting(inputs) } else { in_front(inputs) };
    named.sort_by_key(|(name, most)| (std::cmp::Reverse(*most), *name));
    let words = |(name, (ns, preemptions)): (&str, (u64, u64))| match (ns, preemptions) {
        (ns, 0) => format!("{} ({:.2} s)", if name.is_empty() { GONE } else { name }, ns as f64 / 1e9),
        (0, count) => format!("{name} ({count} preemptions)"),
        (ns, count) => format!("{name} ({count} preemptions, {:.2} s of waits after them)", ns as f64 / 1e9),
    };
    named.into_iter().take(NAMES).map(words).collect()
}

/// How long each program that was not recorded had the CPU that a task waited for, ns.
fn in_front(inputs: Inputs<'_>) -> Vec<(&str, (u64, u64))> {
    let mut by_name: HashMap<&str, (u64, u64)> = HashMap::new();
    for row in others(inputs) {
        by_name.entry(&row.program).or_default().0 += row.ns;
    }
    by_name.into_iter().collect()
}

/// How long tasks waited after each program that was not recorded preempted them, ns, and how often it did.
fn preempting(inputs: Inputs<'_>) -> Vec<(&str, (u64, u64))> {
    let ours = in_scope(inputs);
    let comm: HashMap<u32, &str> =
        inputs.trace.tables.tasks.iter().map(|task| (task.tid, task.comm.as_str())).collect();
    let mut by_name: HashMap<&str, (u64, u64)> = HashMap::new();
    for row in &inputs.trace.tables.preemptions {
        if ours.contains(&row.of_tid) && !ours.contains(&row.by_tid) {
            let (ns, count) = by_name.entry(comm.get(&row.by_tid).copied().unwrap_or(GONE)).or_default();
            *ns += row.ns.unwrap_or(0);
            *count += row.count;
        }
    }
    by_name.into_iter().collect()
}
