//! `replay`: a recorded trace as a workload that keeps its causes and effects.
//!
//! A trace says when every task ran; what another scheduler would make of the same work it does not say. So each task becomes a program:
//! it computes what it computed; where it slept until another task woke it, it takes a semaphore that the other one posts at the same point
//! of its own work; where an interrupt or a timer woke it, it sleeps as long as it slept. Tasks outside the recording's scope take the CPUs
//! while the recorded ones saw them there.

mod attributes;
mod competitors;
mod reading;
mod track;

use crate::assumption::Assumption;
use crate::costs::Costs;
use crate::error::SimError;
use crate::hook::{Family, Hook};
use crate::workload::{Workload, stem};
use reading::Reading;
pub(crate) use reading::no_such_task;
use serde::Serialize;
use swtch_trace::tables::{SwitchRow, TaskRow};

/// A workload whose tasks compute for less than this many times the cost of a hand-over between hand-overs is mostly hand-over.
const HAND_OVERS: u64 = 10;

/// How much of a replayed workload is handing over to other tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HandOver {
    /// Wake-ups.
    pub wakeups: u64,
    /// Of those, the ones that another task made.
    pub by_tasks: u64,
    /// Work of all tasks, ns.
    pub work_ns: u64,
    /// What a hand-over costs by the simulation's costs: the wake-up, the switch, and the class's hooks, ns.
    pub cost_ns: u64,
}

impl HandOver {
    /// Whether at least half of the wake-ups are made by tasks, and those compute for less than ten hand-overs' cost between two of them.
    /// Messages that find their reader awake are not recorded, so a replay does not show how such tasks run under another policy.
    pub fn is_most(&self) -> bool {
        self.by_tasks > 0
            && self.by_tasks * 2 >= self.wakeups
            && self.work_ns / self.by_tasks < HAND_OVERS * self.cost_ns
    }

    /// How much it is, in words.
    pub fn amount(&self) -> String {
        format!(
            "{} of {} wake-ups, {:.1} us of work between two of them",
            self.by_tasks,
            self.wakeups,
            self.work_ns as f64 / self.by_tasks.max(1) as f64 / 1e3,
        )
    }
}

/// A recording as a workload, and what had to be assumed for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The workload: the recorded tasks, then those that ran beside them.
    pub workload: Workload,
    /// How many of its tasks were recorded.
    pub recorded_tasks: usize,
    /// What the recording does not tell, and what was lost of it.
    pub assumed: Vec<Assumption>,
    /// What the recording does not have and the replay needs, in short.
    pub lacks: Vec<&'static str>,
    /// How much of it is handing over.
    pub hand_over: HandOver,
}

/// Differences between a replay and its recording. A task is named by its program, or by program and number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Tasks that are taken away.
    pub without: Vec<String>,
    /// Tasks whose work this number of threads does.
    pub threads: Vec<(String, u32)>,
}

/// Whether `pattern` names a task: its name, with or without numbers at its end, or `NAME/TID`. A `*` at its end stands for any rest.
pub(crate) fn names(pattern: &str, task: &str) -> bool {
    let comm = task.rsplit_once('/').map_or(task, |(comm, _)| comm);
    match pattern.strip_suffix('*') {
        Some(start) => task.starts_with(start),
        None => [task, comm, stem(comm)].contains(&pattern),
    }
}

/// Makes a workload of a recording's switches and tasks. Rows may come in any order, and some may be missing. Every semaphore that is taken
/// is posted, in an order in which no task waits for an event later than its own. So a replay cannot deadlock.
///
/// Work is what the tasks computed on the machine of the recording, whose speed is the reference. The recorded times have in them what the
/// simulator charges for calls and wake-ups by `costs`. So that is taken off, and so is the measured cost of switches.
///
/// # Errors
/// When no task of the recording ran.
pub fn replay(
    tasks: &[TaskRow],
    switches: impl IntoIterator<Item = SwitchRow>,
    costs: &Costs,
) -> Result<Replayed, SimError> {
    replay_changed(tasks, switches, costs, &Changes::default())
}

/// The same with changes.
///
/// # Errors
/// When no task of the recording ran, or a change names a task that did not, or asks for more threads than there were.
pub fn replay_changed(
    tasks: &[TaskRow],
    switches: impl IntoIterator<Item = SwitchRow>,
    costs: &Costs,
    changes: &Changes,
) -> Result<Replayed, SimError> {
    let mut rows: Vec<SwitchRow> = switches.into_iter().collect();
    // Stable: what stands first at a time came first.
    rows.sort_by_key(|row| row.at_ns);
    let mut reading = Reading::new(tasks, changes);
    for row in &rows {
        reading.row(row);
    }
    let end_ns = rows.last().map_or(0, |row| row.at_ns);
    reading.finish(end_ns, costs)
}

/// What the simulator charges for a step that recorded times contain already, ns.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_field_names)] // They are all times.
struct Charges {
    post_ns: u64,
    acquire_ns: u64,
    sleep_ns: u64,
}

impl Charges {
    fn of(costs: &Costs) -> Self {
        let hooks = [Hook::SelectCpu, Hook::Enqueue].map(|hook| costs.hook_ns(Family::Fair, hook));
        let wake_ns = costs.wake_ns + hooks.iter().sum::<u64>();
        Self { post_ns: costs.futex_ns + wake_ns, acquire_ns: costs.futex_ns, sleep_ns: costs.sleep_ns }
    }
}

#[cfg(test)]
mod tests;
