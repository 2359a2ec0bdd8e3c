//! What one task did, and the program it becomes.

use super::Charges;
use crate::program::Op;
use std::collections::BTreeSet;

/// When something happens, and which of the things at that time. A wake-up has one moment, for the task that wakes and the one that is
/// woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventOrder {
    pub(super) ns: u64,
    pub(super) order: u64,
}

/// A step besides computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrackEvent {
    /// When it is over: for one that waits, when it was woken.
    pub(super) at: EventOrder,
    pub(super) what: TrackAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrackAction {
    Sleep { ns: u64 },
    Acquire { semaphore: u32 },
    Post { semaphore: u32 },
}

/// A step of a task, and when it was over.
#[derive(Clone, Copy, Debug)]
struct TimedStep {
    at_ns: u64,
    step: Step,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Compute { ns: u64 },
    Do(TrackAction, EventOrder),
}

/// A task on its way through the recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    /// From when until when it ran, ns.
    pub(super) runs: Vec<(u64, u64)>,
    pub(super) items: Vec<TrackEvent>,
    pub(super) running_since_ns: Option<u64>,
    pub(super) blocked_since_ns: Option<u64>,
    pub(super) start_ns: u64,
    pub(super) seen: bool,
}

impl Track {
    /// The time it ran, ns.
    pub(super) fn ran_ns(&self) -> u64 {
        self.runs.iter().map(|(from_ns, to_ns)| to_ns.saturating_sub(*from_ns)).sum()
    }

    /// Its steps. They are in the order of their times, which is the same for all tasks. So no task can wait for a later event.
    fn steps(mut self) -> Vec<TimedStep> {
        self.items.sort_by_key(|item| item.at);
        self.runs.sort_unstable();
        let mut steps = Vec::with_capacity(self.items.len() + self.runs.len());
        let mut runs = self.runs.iter().copied().peekable();
        // Up to where its running has been counted: runs of a damaged recording may overlap.
        let mut counted_ns = 0;
        let compute =
            |ns: u64, at_ns: u64| (ns > 0).then_some(TimedStep { at_ns, step: Step::Compute { ns } });
        for item in &self.items {
            while let Some((from_ns, to_ns)) = runs.peek().copied() {
                let from_ns = from_ns.max(counted_ns);
                if from_ns >= item.at.ns && to_ns > item.at.ns {
                    break;
                }
                let until_ns = to_ns.min(item.at.ns);
                steps.extend(compute(until_ns.saturating_sub(from_ns), until_ns));
                counted_ns = counted_ns.max(until_ns);
                if to_ns > item.at.ns {
                    break;
                }
                runs.next();
            }
            if item.what != (TrackAction::Sleep { ns: 0 }) {
                steps.push(TimedStep { at_ns: item.at.ns, step: Step::Do(item.what, item.at) });
            }
        }
        for (from_ns, to_ns) in runs {
            steps.extend(compute(to_ns.saturating_sub(from_ns.max(counted_ns)), to_ns));
            counted_ns = counted_ns.max(to_ns);
        }
        steps
    }

    /// The program.
    pub(super) fn program(self, charges: &Charges) -> Vec<Op> {
        let mut writer = Writer::default();
        for step in self.steps() {
            match step.step {
                Step::Compute { ns } => writer.compute(ns),
                Step::Do(action, _) => writer.action(action, charges),
            }
        }
        writer.end()
    }
}

/// One program that does what several tasks did, one step after the other in the order of their times. `own` are the semaphores among these tasks:
/// a task does not wait for itself. What others of them did meanwhile is taken off a sleep.
pub(super) fn merged_program(tracks: Vec<Track>, own: &BTreeSet<u32>, charges: &Charges) -> Vec<Op> {
    let start_ns = tracks.iter().map(|track| track.start_ns).min().unwrap_or(0);
    let mut steps: Vec<TimedStep> = Vec::new();
    for mut track in tracks {
        if track.start_ns > start_ns {
            let at = EventOrder { ns: track.start_ns, order: 0 };
            let what = TrackAction::Sleep { ns: track.start_ns - start_ns };
            track.items.push(TrackEvent { at, what });
        }
        steps.extend(track.steps());
    }
    // Stable: steps of one task stay in their order.
    steps.sort_by_key(|step| match step.step {
        Step::Compute { .. } => EventOrder { ns: step.at_ns, order: 0 },
        Step::Do(_, at) => at,
    });
    let mut writer = Writer::default();
    // What has passed in this program, by the time of the recording, ns.
    let mut passed: Vec<(u64, u64)> = vec![(0, 0)];
    for TimedStep { at_ns, step } in steps {
        let so_far_ns = passed.last().map_or(0, |last| last.1);
        let took_ns = match step {
            Step::Compute { ns } => {
                writer.compute(ns);
                ns
            }
            Step::Do(TrackAction::Sleep { ns }, _) => {
                let since_ns = at_ns.saturating_sub(ns);
                let place = passed.partition_point(|(then_ns, _)| *then_ns <= since_ns);
                let before_ns = place.checked_sub(1).map_or(0, |place| passed[place].1);
                let left_ns = ns.saturating_sub(so_far_ns - before_ns);
                if left_ns > 0 {
                    writer.action(TrackAction::Sleep { ns: left_ns }, charges);
                }
                left_ns
            }
            Step::Do(action @ (TrackAction::Acquire { semaphore } | TrackAction::Post { semaphore }), _) => {
                if !own.contains(&semaphore) {
                    writer.action(action, charges);
                }
                0
            }
        };
        passed.push((at_ns, so_far_ns + took_ns));
    }
    writer.end()
}

/// Writes a program; computing that follows computing is one step.
#[derive(Debug, Default)]
struct Writer {
    ops: Vec<Op>,
    work_ns: u64,
    /// What has been charged for calls and could not be taken off yet.
    debt_ns: u64,
}

impl Writer {
    fn compute(&mut self, work_ns: u64) {
        self.work_ns += work_ns;
    }

    fn action(&mut self, action: TrackAction, charges: &Charges) {
        match action {
            TrackAction::Sleep { ns } => self.step(Op::Sleep { ns }, charges.sleep_ns),
            TrackAction::Acquire { semaphore } => self.step(Op::Acquire { semaphore }, charges.acquire_ns),
            TrackAction::Post { semaphore } => self.step(Op::Post { semaphore }, charges.post_ns),
        }
    }

    fn step(&mut self, op: Op, charged_ns: u64) {
        self.debt_ns += charged_ns;
        self.flush();
        self.ops.push(op);
    }

    fn flush(&mut self) {
        let taken_ns = self.debt_ns.min(self.work_ns);
        self.debt_ns -= taken_ns;
        let work_ns = std::mem::take(&mut self.work_ns) - taken_ns;
        if work_ns > 0 {
            self.ops.push(Op::Compute { work_ns });
        }
    }

    fn end(mut self) -> Vec<Op> {
        self.flush();
        self.ops
    }
}
