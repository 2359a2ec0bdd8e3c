//! `replay`: a recorded trace as a workload that keeps its causes and effects.
//!
//! A trace says when every task ran; what another scheduler would make of the same work it does not say. So each task becomes a program. It
//! computes what it computed. Where it slept until another task woke it, it takes a semaphore that the other one posts at the same point of
//! its own work. Where an interrupt or a timer woke it, it sleeps as long as it slept.

mod track;

use crate::assumption::Assumption;
use crate::costs::Costs;
use crate::error::SimError;
use crate::hook::{Family, Hook};
use crate::program::Op;
use crate::workload::{TaskSpec, Workload};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use swtch_trace::tables::{PrevState, SwitchRow, TaskRow};
use track::{EventOrder, Track, TrackAction, TrackEvent};

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
    pub(crate) fn is_most(&self) -> bool {
        self.by_tasks > 0
            && self.by_tasks * 2 >= self.wakeups
            && self.work_ns / self.by_tasks < HAND_OVERS * self.cost_ns
    }
}

/// A recording as a workload, and what had to be assumed for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The workload.
    pub workload: Workload,
    /// What the recording does not tell, and what was lost of it.
    pub assumed: Vec<Assumption>,
    /// How much of it is handing over.
    pub hand_over: HandOver,
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
    let mut rows: Vec<SwitchRow> = switches.into_iter().collect();
    // Stable: what stands first at a time came first.
    rows.sort_by_key(|row| row.at_ns);
    let mut reading = Reading::new(tasks);
    for row in &rows {
        reading.row(row);
    }
    let end_ns = rows.last().map_or(0, |row| row.at_ns);
    reading.finish(end_ns, costs)
}

struct Reading<'a> {
    rows: BTreeMap<u32, &'a TaskRow>,
    tracks: BTreeMap<u32, Track>,
    /// Semaphores by the task that posts and the task that takes.
    semaphores: BTreeMap<(u32, u32), u32>,
    /// Wake-ups so far, which also orders those of the same time.
    wakes: u64,
    lost_runs: u64,
    unknown_wakes: u64,
}

impl<'a> Reading<'a> {
    fn new(tasks: &'a [TaskRow]) -> Self {
        Self {
            rows: tasks.iter().map(|task| (task.tid, task)).collect(),
            tracks: BTreeMap::new(),
            semaphores: BTreeMap::new(),
            wakes: 0,
            lost_runs: 0,
            unknown_wakes: 0,
        }
    }

    /// Whether the task is replayed: the idle task is not, nor those that were only named.
    fn counts(&self, tid: u32) -> bool {
        tid != 0 && self.rows.get(&tid).is_none_or(|row| row.in_scope)
    }

    fn row(&mut self, row: &SwitchRow) {
        if self.counts(row.prev_tid) {
            self.leaves(row);
        }
        if self.counts(row.next_tid) {
            self.comes(row);
        }
    }

    fn leaves(&mut self, row: &SwitchRow) {
        let track = self.tracks.entry(row.prev_tid).or_default();
        let came_ns = track.running_since_ns.take();
        let since_came_ns = came_ns.map(|came_ns| row.at_ns.saturating_sub(came_ns));
        let ran_ns = row.ran_ns.or(since_came_ns).unwrap_or(0);
        let from_ns = row.at_ns.saturating_sub(ran_ns);
        // It came back without a row that says so.
        if let Some(since_ns) = track.blocked_since_ns.take() {
            self.unknown_wakes += 1;
            self.wakes += 1;
            let at = EventOrder { ns: from_ns.max(since_ns), order: self.wakes };
            track
                .items
                .push(TrackEvent { at, what: TrackAction::Sleep { ns: from_ns.saturating_sub(since_ns) } });
        }
        track.seen = true;
        let cost_ns = row.cost_ns.map_or(0, u64::from).min(ran_ns);
        track.runs.push((from_ns, row.at_ns.saturating_sub(cost_ns).max(from_ns)));
        if row.prev_state != PrevState::Runnable {
            track.blocked_since_ns = Some(row.at_ns);
        }
    }

    fn comes(&mut self, row: &SwitchRow) {
        let woken_ns = row.at_ns.saturating_sub(row.waited_ns.unwrap_or(0));
        let tid = row.next_tid;
        let track = self.tracks.entry(tid).or_default();
        if track.running_since_ns.replace(row.at_ns).is_some() {
            self.lost_runs += 1;
        }
        let first = !std::mem::replace(&mut track.seen, true);
        let Some(since_ns) = track.blocked_since_ns.take().or(first.then_some(0)) else {
            // It was preempted, and goes on.
            return;
        };
        self.wakes += 1;
        let at = EventOrder { ns: woken_ns.max(since_ns), order: self.wakes };
        let waker = row.waker_tid.filter(|waker| *waker != tid && self.counts(*waker));
        let Some(waker) = waker else {
            if first {
                self.track(tid).start_ns = at.ns;
            } else {
                self.track(tid)
                    .items
                    .push(TrackEvent { at, what: TrackAction::Sleep { ns: at.ns - since_ns } });
            }
            return;
        };
        let next = self.semaphores.len() as u32;
        let semaphore = *self.semaphores.entry((waker, tid)).or_insert(next);
        self.track(tid).items.push(TrackEvent { at, what: TrackAction::Acquire { semaphore } });
        self.track(waker).items.push(TrackEvent { at, what: TrackAction::Post { semaphore } });
    }

    fn track(&mut self, tid: u32) -> &mut Track {
        self.tracks.entry(tid).or_default()
    }

    fn finish(mut self, end_ns: u64, costs: &Costs) -> Result<Replayed, SimError> {
        let mut workload = Workload { name: "replay".to_owned(), ..Workload::default() };
        workload.semaphores = vec![0; self.semaphores.len()];
        let charges = Charges::of(costs);
        for (tid, mut track) in std::mem::take(&mut self.tracks) {
            if let Some(since_ns) = track.running_since_ns.take() {
                track.runs.push((since_ns, end_ns.max(since_ns)));
            }
            let start_ns = track.start_ns;
            let program = workload.add_program(track.program(&charges));
            let row = self.rows.get(&tid);
            workload.tasks.push(TaskSpec {
                name: row.map_or_else(|| format!("task/{tid}"), |row| format!("{}/{tid}", row.comm)),
                process: row.map_or(tid, |row| row.pid),
                program,
                working_set_bytes: row.and_then(|row| row.working_set_bytes).unwrap_or(0),
                start_ns,
                ..TaskSpec::default()
            });
        }
        if workload.tasks.is_empty() {
            let problem = "no task ran between two of its switches; record it again, for longer";
            return Err(SimError::of_workload("replay", problem));
        }
        let assumed = self.assumed(&workload);
        let hand_over = self.hand_over(&workload, costs);
        Ok(Replayed { workload, assumed, hand_over })
    }

    fn hand_over(&self, workload: &Workload, costs: &Costs) -> HandOver {
        let ops = workload.programs.iter().flat_map(|program| &program.ops);
        let works = ops.filter_map(|op| if let Op::Compute { work_ns } = op { Some(*work_ns) } else { None });
        let hooks: u64 = Hook::ALL[..6].iter().map(|hook| costs.hook_ns(Family::Fair, *hook)).sum();
        let cost_ns = costs.wake_ns + costs.process_switch_ns + 2 * costs.futex_ns + hooks;
        HandOver { wakeups: self.wakes, by_tasks: acquires(workload) as u64, work_ns: works.sum(), cost_ns }
    }

    fn assumed(&self, workload: &Workload) -> Vec<Assumption> {
        let mut assumed = vec![
            Assumption::new(
                "wake-ups",
                format!("{} of {} by a task", acquires(workload), self.wakes),
                "an interrupt that found a task running is recorded as that task, and becomes an effect of its work",
            ),
            Assumption::new("nice values", "0", "a recording has none"),
        ];
        let without: BTreeSet<&str> = workload
            .tasks
            .iter()
            .filter(|task| task.working_set_bytes == 0)
            .map(|task| task.name.as_str())
            .collect();
        if !without.is_empty() {
            let value = format!("0 bytes for {} tasks", without.len());
            assumed.push(Assumption::new(
                "working sets",
                value,
                "they were not recorded; no refill is charged",
            ));
        }
        let lost = [
            (
                "lost runs",
                self.lost_runs,
                "a task came twice and never left; what it did between is not replayed",
            ),
            (
                "lost wake-ups",
                self.unknown_wakes,
                "a task slept and left again without having come; it sleeps until then",
            ),
        ];
        for (what, count, why) in lost.into_iter().filter(|(_, count, _)| *count > 0) {
            assumed.push(Assumption::new(what, count.to_string(), why));
        }
        assumed
    }
}

/// How many wake-ups by tasks there are.
fn acquires(workload: &Workload) -> usize {
    let ops = workload.programs.iter().flat_map(|program| &program.ops);
    ops.filter(|op| matches!(op, Op::Acquire { .. })).count()
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
