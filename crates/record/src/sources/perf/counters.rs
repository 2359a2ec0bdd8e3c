//! Counters of single tasks: what a CPU counts of instructions and cache misses, where it does.
//!
//! A counter of a task is inherited by all that the task makes. When one of these ends, a record has its own value (`inherit_stat`;
//! kernel/events/core.c v6.18, `sync_child_event`). The value is added to that of the counter it came from. So what a counter has beyond these
//! records belongs to the task it was opened for, and to those of its descendants that still run.

use super::event::{
    Attribute, ENABLE_ON_EXEC, EXCLUDE_KERNEL, EventScope, INHERIT, INHERIT_STAT, PerfEvent, READ_ENABLED,
    READ_ID, READ_RUNNING, SOFTWARE_DUMMY, TYPE_SOFTWARE,
};
use super::record::What;
use super::ring::Ring;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use swtch_trace::fields;
use swtch_trace::model::Field;
use swtch_trace::tables::TaskRow;

/// `PERF_TYPE_HARDWARE`, and what is counted of it.
const TYPE_HARDWARE: u32 = 0;
const HARDWARE_INSTRUCTIONS: u64 = 1;
const HARDWARE_CACHE_MISSES: u64 = 3;

/// A counter has this many bytes for the records of tasks that end, until they are read: of a command, which may start thousands.
const COMMAND_RING_BYTES: usize = 128 << 10;
/// Of a task that runs already; there may be many.
const TASK_RING_BYTES: usize = 4 << 10;

/// A source that samples finds the end of a task late, by at most this time, ns.
const LATE_NS: u64 = 1_000_000_000;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    kind: u32,
    config: u64,
}

/// The two columns of a task's row, in this order: instructions, misses in the last level of cache.
pub(crate) const HARDWARE: [Counter; 2] = [
    Counter { kind: TYPE_HARDWARE, config: HARDWARE_INSTRUCTIONS },
    Counter { kind: TYPE_HARDWARE, config: HARDWARE_CACHE_MISSES },
];

/// The columns' names, for the header.
pub(crate) const COLUMNS: [Field; 2] = [fields::TASKS_INSTRUCTIONS, fields::TASKS_CACHE_MISSES];

/// EventScope are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// What this thread starts, from its first program on; not this thread itself.
    Started,
    /// A task, and what it makes from now on.
    Task(u32),
}

/// A task's counters, and the ring in which those that inherited them leave their values.
struct Counted {
    root: Root,
    /// Holds the ring.
    _holder: PerfEvent,
    ring: Ring,
    /// In the order of the columns.
    events: [PerfEvent; 2],
    ids: [u64; 2],
    /// Sum of the values that records reported.
    recorded: [u64; 2],
}

/// Open counters, and what was read of them.
pub(crate) struct Counters {
    roots: Vec<Counted>,
    /// Values of tasks that ended, by number, one number's in the order of time: when, and the columns.
    ended: HashMap<u32, BTreeMap<u64, [Option<u64>; 2]>>,
    lost: u64,
    user_only: bool,
}

impl Counters {
    /// Opens two counters for each of the roots; for programs only, not the kernel, where more is not permitted.
    ///
    /// # Errors
    /// When this machine has no such counters, or does not permit them.
    pub(crate) fn open(counters: [Counter; 2], roots: &[Root]) -> io::Result<Self> {
        match Self::opened(counters, roots, 0) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let mut opened = Self::opened(counters, roots, EXCLUDE_KERNEL)?;
                opened.user_only = true;
                Ok(opened)
            }
            done => done,
        }
    }

    fn opened(counters: [Counter; 2], roots: &[Root], flags: u64) -> io::Result<Self> {
        let mut opened = Vec::new();
        for root in roots {
            match Counted::open(counters, *root, flags) {
                Ok(counted) => opened.push(counted),
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { roots: opened, ended: HashMap::new(), lost: 0, user_only: false })
    }

    /// Only time in programs is counted.
    pub(crate) fn user_only(&self) -> bool {
        self.user_only
    }

    /// Ends of tasks whose values were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Reads the values of tasks that have ended.
    pub(crate) fn poll(&mut self) {
        let (ended, lost) = (&mut self.ended, &mut self.lost);
        for counted in &mut self.roots {
            let (ids, recorded) = (counted.ids, &mut counted.recorded);
            let (_, malformed) = counted.ring.drain(|record| match record.what {
                What::Read { tid, id, value, enabled_ns, running_ns } => {
                    let Some(column) = ids.iter().position(|known| *known == id) else { return };
                    recorded[column] += value;
                    let of_number = ended.entry(tid).or_default();
                    // Both counters of a task report it at nearly the same time: the second joins the first.
                    let last = of_number.last_entry().filter(|last| last.get()[column].is_none());
                    let place = match last {
                        Some(last) => last.into_mut(),
                        None => of_number.entry(record.at_ns).or_default(),
                    };
                    place[column] = scaled(value, enabled_ns, running_ns);
                }
                What::Lost(records) => *lost += records,
                _ => {}
            });
            *lost += malformed;
        }
    }

    /// Fills the two columns of the rows, of which times count from `start_ns`. A row stays as it is when its value is not known.
    pub(crate) fn fill(&self, rows: &mut [TaskRow], start_ns: u64) {
        let mut open = Vec::new();
        for (index, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.in_scope && row.tid != 0) {
            match self.value_at_end(row, start_ns) {
                Some(values) => [row.instructions, row.cache_misses] = values,
                None => open.push(index),
            }
        }
        if self.lost > 0 {
            // What is left belongs to one does not know how many.
            return;
        }
        let own: HashSet<u32> = self
            .roots
            .iter()
            .filter_map(|counted| match counted.root {
                Root::Task(tid) => Some(tid),
                Root::Started => None,
            })
            .collect();
        let (open_roots, others): (Vec<usize>, Vec<usize>) =
            open.into_iter().partition(|index| own.contains(&rows[*index].tid));
        match (&self.roots[..], &others[..]) {
            // All of them are watched by themselves: what is left of each is its own.
            (_, []) => {
                for index in open_roots {
                    let row = &mut rows[index];
                    let root = self.roots.iter().find(|counted| counted.root == Root::Task(row.tid));
                    [row.instructions, row.cache_misses] = root.map_or([None; 2], Counted::rest);
                }
            }
            // One that still runs: what is left is its.
            ([one], [index]) if one.root == Root::Started => {
                let row = &mut rows[*index];
                [row.instructions, row.cache_misses] = one.rest();
            }
            _ => {}
        }
    }

    /// The value of a task that ended, by its row: a number may have been that of several, one after the other.
    fn value_at_end(&self, row: &TaskRow, start_ns: u64) -> Option<[Option<u64>; 2]> {
        let of_number = self.ended.get(&row.tid)?;
        let first_ns = start_ns.saturating_add(row.first_ns);
        let since = |from_ns: u64| of_number.range(from_ns..).next();
        // Of a source that looks now and then, the row may begin after the task's end.
        since(first_ns).or_else(|| since(first_ns.saturating_sub(LATE_NS))).map(|(_, values)| *values)
    }
}

impl Counted {
    fn open(counters: [Counter; 2], root: Root, flags: u64) -> io::Result<Self> {
        let (whose, bytes, begins) = match root {
            Root::Started => (EventScope::Own, COMMAND_RING_BYTES, ENABLE_ON_EXEC),
            Root::Task(tid) => (EventScope::Task(tid), TASK_RING_BYTES, 0),
        };
        // An inherited event of all CPUs has no ring, but may write into that of another which is not inherited.
        let dummy = Attribute::new(TYPE_SOFTWARE, SOFTWARE_DUMMY, EXCLUDE_KERNEL, 0);
        let holder = PerfEvent::open(&dummy, whose, None)?;
        let ring = mapped(&holder, bytes)?;
        let open = |counter: Counter| -> io::Result<PerfEvent> {
            let attribute = Attribute::new(
                counter.kind,
                counter.config,
                flags | begins | INHERIT | INHERIT_STAT,
                READ_ENABLED | READ_RUNNING | READ_ID,
            );
            let event = PerfEvent::open(&attribute, whose, None)?;
            event.write_to(&holder)?;
            Ok(event)
        };
        let events = [open(counters[0])?, open(counters[1])?];
        let ids = [events[0].id()?, events[1].id()?];
        if root != Root::Started {
            events.iter().try_for_each(PerfEvent::enable)?;
        }
        Ok(Self { root, _holder: holder, ring, events, ids, recorded: [0; 2] })
    }

    /// What no record has reported.
    fn rest(&self) -> [Option<u64>; 2] {
        std::array::from_fn(|column| {
            let [value, enabled_ns, running_ns, _] = self.events[column].read::<4>().ok()?;
            scaled(value.saturating_sub(self.recorded[column]), enabled_ns, running_ns)
        })
    }
}

/// Maps a ring as large as is permitted.
fn mapped(holder: &PerfEvent, bytes: usize) -> io::Result<Ring> {
    match Ring::new(holder, bytes) {
        Err(_) if bytes > rustix::param::page_size() => mapped(holder, bytes / 2),
        done => done,
    }
}

/// The value, had the counter run all the time: there may be more counters than the CPU has places for. Nothing when it never ran, as
/// that of a task that went out of sight by becoming another user's program.
fn scaled(value: u64, enabled_ns: u64, running_ns: u64) -> Option<u64> {
    match (enabled_ns, running_ns) {
        (0, _) | (_, 0) => None,
        (enabled, running) if running >= enabled => Some(value),
        (enabled, running) => Some((value as f64 * (enabled as f64 / running as f64)) as u64),
    }
}

#[cfg(test)]
mod tests;
