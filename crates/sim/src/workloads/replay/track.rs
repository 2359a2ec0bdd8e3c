//! What one task did, and the program it becomes.

use super::Charges;
use crate::program::Op;

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
    /// The program. Its steps are in the order of their times, which is the same for all tasks. So no task can wait for a later event.
    pub(super) fn program(mut self, charges: &Charges) -> Vec<Op> {
        self.items.sort_by_key(|item| item.at);
        self.runs.sort_unstable();
        let mut writer = Writer::default();
        let mut runs = self.runs.iter().copied().peekable();
        // Up to where its running has been counted: runs of a damaged recording may overlap.
        let mut counted_ns = 0;
        for item in &self.items {
            while let Some((from_ns, to_ns)) = runs.peek().copied() {
                let from_ns = from_ns.max(counted_ns);
                if from_ns >= item.at.ns && to_ns > item.at.ns {
                    break;
                }
                let until_ns = to_ns.min(item.at.ns);
                writer.compute(until_ns.saturating_sub(from_ns));
                counted_ns = counted_ns.max(until_ns);
                if to_ns > item.at.ns {
                    break;
                }
                runs.next();
            }
            match item.what {
                TrackAction::Sleep { ns: 0 } => {}
                TrackAction::Sleep { ns } => writer.step(Op::Sleep { ns }, charges.sleep_ns),
                TrackAction::Acquire { semaphore } => {
                    writer.step(Op::Acquire { semaphore }, charges.acquire_ns);
                }
                TrackAction::Post { semaphore } => writer.step(Op::Post { semaphore }, charges.post_ns),
            }
        }
        for (from_ns, to_ns) in runs {
            writer.compute(to_ns.saturating_sub(from_ns.max(counted_ns)));
            counted_ns = counted_ns.max(to_ns);
        }
        writer.end()
    }
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
