//! What tasks did since the last time. Sums of these never go back, whatever tasks come, go and move.

use crate::sources::counts::{CLASSES, TaskCounts};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use swtch_trace::tables::TaskRow;

/// So many tasks that ended since the last time have rows of their own; of more, those of one control group share one.
const MOST_ENDED: usize = 1_000;
/// A task that is not told of so often in a row has ended, and its end was lost.
const MISSED: u64 = 4;

/// A thread of a process keeps both for its life; its number changes when it executes another program.
type Key = (u64, u32);

/// The figures of a task when it was last looked at.
struct Seen {
    counts: TaskCounts,
    round: u64,
}

/// What was seen of each task, and what came in addition since the last time.
pub(super) struct Deltas {
    seen: HashMap<Key, Seen>,
    round: u64,
    rows: Vec<TaskRow>,
    ended: usize,
    folded: BTreeMap<Option<String>, TaskRow>,
    waits: [u64; CLASSES],
}

/// What happened since the last time.
pub(super) struct Taken {
    /// Of tasks that did something.
    pub(super) rows: Vec<TaskRow>,
    /// Waits of all, by class.
    pub(super) waits: [u64; CLASSES],
}

impl Default for Deltas {
    fn default() -> Self {
        Self {
            seen: HashMap::new(),
            round: 0,
            rows: Vec::new(),
            ended: 0,
            folded: BTreeMap::new(),
            waits: [0; CLASSES],
        }
    }
}

impl Deltas {
    /// All tasks that exist, as they stand; `name` knows control groups by their numbers.
    pub(super) fn alive(&mut self, tasks: Vec<TaskCounts>, name: impl Fn(u64) -> Option<String>) {
        self.round += 1;
        for task in tasks {
            let key = (task.first_ns, task.pid);
            let before = self.seen.get(&key).map(|seen| &seen.counts);
            let row = difference(before, &task, &mut self.waits);
            if row.voluntary + row.involuntary + row.run_ns + row.wait_ns + row.waits > 0 {
                self.rows.push(TaskRow { cgroup: name(task.group), ..row });
            }
            self.seen.insert(key, Seen { counts: task, round: self.round });
        }
        let round = self.round;
        self.seen.retain(|_, seen| round - seen.round < MISSED);
    }

    /// A task of a control group that has ended, as it stood then.
    pub(super) fn ended(&mut self, task: &TaskCounts, cgroup: Option<String>) {
        let before = self.seen.remove(&(task.first_ns, task.pid));
        let row = difference(before.as_ref().map(|seen| &seen.counts), task, &mut self.waits);
        let row = TaskRow { cgroup, ..row };
        if self.ended < MOST_ENDED {
            self.ended += 1;
            self.rows.push(row);
        } else {
            fold(self.folded.entry(row.cgroup.clone()), row);
        }
    }

    /// Everything since the last time.
    pub(super) fn take(&mut self) -> Taken {
        self.ended = 0;
        let mut rows = std::mem::take(&mut self.rows);
        rows.extend(std::mem::take(&mut self.folded).into_values());
        Taken { rows, waits: std::mem::replace(&mut self.waits, [0; CLASSES]) }
    }
}

/// What a task did between two looks. Its own counts of classes are of 32 bits and begin anew when those are full.
fn difference(before: Option<&TaskCounts>, now: &TaskCounts, waits: &mut [u64; CLASSES]) -> TaskRow {
    let none = TaskCounts::default();
    let before = before.unwrap_or(&none);
    for ((sum, before), now) in waits.iter_mut().zip(before.waits.counts()).zip(now.waits.counts()) {
        *sum += u64::from(now.wrapping_sub(*before));
    }
    let since = |of: fn(&TaskCounts) -> u64| of(now).saturating_sub(of(before));
    let migrations = |distance: usize| {
        // Counted in 32 bits, too.
        let (before, now) = (before.migrations[distance] as u32, now.migrations[distance] as u32);
        Some(u64::from(now.wrapping_sub(before)))
    };
    let (arrivals, process) = (since(|task| task.arrivals), since(|task| task.process_switches));
    let measured = since(|task| task.costs) > 0;
    TaskRow {
        tid: now.tid,
        pid: now.pid,
        in_scope: true,
        kernel_thread: now.kernel_thread,
        voluntary: since(|task| task.voluntary),
        involuntary: since(|task| task.involuntary),
        run_ns: since(|task| task.run_ns),
        wait_ns: since(|task| task.wait_ns),
        waits: arrivals,
        migrations_same_l2: migrations(0),
        migrations_same_l3: migrations(1),
        migrations_across: migrations(2),
        displaced: Some(since(|task| task.displaced)),
        process_switches: Some(process),
        thread_switches: Some(arrivals.saturating_sub(process)),
        switch_cost_ns: measured.then(|| since(|task| task.cost_ns)),
        ..TaskRow::default()
    }
}

/// Adds a row to that of others of its control group.
fn fold(entry: Entry<'_, Option<String>, TaskRow>, row: TaskRow) {
    let mut sum = match entry {
        Entry::Vacant(place) => {
            place.insert(TaskRow { tid: 0, pid: 0, ..row });
            return;
        }
        Entry::Occupied(place) => place,
    };
    let sum = sum.get_mut();
    sum.voluntary += row.voluntary;
    sum.involuntary += row.involuntary;
    sum.run_ns += row.run_ns;
    sum.wait_ns += row.wait_ns;
    sum.waits += row.waits;
    for (sum, more) in [
        (&mut sum.migrations_same_l2, row.migrations_same_l2),
        (&mut sum.migrations_same_l3, row.migrations_same_l3),
        (&mut sum.migrations_across, row.migrations_across),
        (&mut sum.displaced, row.displaced),
        (&mut sum.process_switches, row.process_switches),
        (&mut sum.thread_switches, row.thread_switches),
    ] {
        *sum = sum.zip(more).map(|(sum, more)| sum + more);
    }
    if let Some(more) = row.switch_cost_ns {
        *sum.switch_cost_ns.get_or_insert(0) += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: u32, voluntary: u64, run_ns: u64) -> TaskCounts {
        TaskCounts { tid: pid, pid, first_ns: u64::from(pid), voluntary, run_ns, ..TaskCounts::default() }
    }

    fn voluntary(deltas: &mut Deltas) -> u64 {
        deltas.take().rows.iter().map(|row| row.voluntary).sum()
    }

    #[test]
    fn what_a_task_did_counts_once_however_it_is_told() {
        let mut deltas = Deltas::default();
        deltas.alive(vec![task(1, 10, 100), task(2, 5, 50)], |_| None);
        assert_eq!(voluntary(&mut deltas), 15);
        deltas.alive(vec![task(1, 12, 120), task(2, 5, 50)], |_| None);
        assert_eq!(deltas.take().rows.len(), 1, "who did nothing has no row");
        // It ends between two looks, and is missing in the next.
        deltas.ended(&task(2, 9, 90), None);
        deltas.alive(vec![task(1, 12, 120)], |_| None);
        assert_eq!(voluntary(&mut deltas), 4);
        // It was never seen alive.
        deltas.ended(&task(3, 7, 70), None);
        assert_eq!(voluntary(&mut deltas), 7);
        // Told of late: it is not there any more, and nothing is counted twice.
        deltas.alive(vec![], |_| None);
        deltas.ended(&task(1, 13, 130), None);
        assert_eq!(voluntary(&mut deltas), 1);
    }

    #[test]
    fn another_number_after_exec_is_the_same_task() {
        let mut deltas = Deltas::default();
        deltas.alive(vec![TaskCounts { tid: 8, ..task(7, 10, 0) }], |_| None);
        deltas.take();
        deltas.alive(vec![task(7, 11, 0)], |_| None);
        assert_eq!(voluntary(&mut deltas), 1);
    }

    #[test]
    fn memory_is_bounded_by_the_tasks_that_exist() {
        let mut deltas = Deltas::default();
        for pid in 0..20_000 {
            deltas.ended(&task(pid, 1, 1), None);
        }
        assert!(deltas.rows.len() <= MOST_ENDED && deltas.folded.len() == 1 && deltas.seen.is_empty());
        assert_eq!(voluntary(&mut deltas), 20_000);
        // An end that was lost is not waited for for ever.
        deltas.alive(vec![task(1, 1, 1)], |_| None);
        for _ in 0..MISSED {
            deltas.alive(vec![], |_| None);
        }
        assert!(deltas.seen.is_empty());
    }
}
