//! What tasks did between two snapshots. Sums of these never go back, whatever tasks come, go and move.

use crate::session::aggregate;
use crate::sources::counts::{CLASSES, TaskCounts, TaskKey};
use std::collections::{BTreeMap, HashMap};
use swtch_trace::growth::Growth;
use swtch_trace::tables::{Merge, TaskRow};

/// So many tasks that ended since the last time have rows of their own; of more, those of one control group share one.
const MOST_ENDED: usize = 1_000;
/// A task that is missing in this number of lists in a row has ended, and its end was lost.
const MISSED: u64 = 4;

/// A task at the last reading.
struct TaskSnapshot {
    counts: TaskCounts,
    round: u64,
    /// Time stopped by a quota that is not yet part of a wait: the two are not read at one moment.
    quota_left_ns: u64,
}

/// What was seen of each task, and what came in addition since the last time.
pub(super) struct Deltas {
    snapshots: HashMap<TaskKey, TaskSnapshot>,
    round: u64,
    rows: Vec<TaskRow>,
    ended: usize,
    aggregates: BTreeMap<Option<String>, Option<TaskRow>>,
    waits: [u64; CLASSES],
    quota_ns: BTreeMap<Option<String>, u64>,
    backwards: u64,
    too_long: Option<String>,
}

/// What happened since the last time.
pub(super) struct TaskDeltas {
    /// Of tasks that did something.
    pub(super) rows: Vec<TaskRow>,
    /// Waits of all, by class.
    pub(super) waits: [u64; CLASSES],
    /// The part of the waits in which a quota stopped the tasks, ns, by control group; nothing of groups without any.
    pub(super) quota_ns: BTreeMap<Option<String>, u64>,
    /// Readings of tasks in which a counter fell.
    pub(super) backwards: u64,
    /// A task that waited for longer than it was watched.
    pub(super) too_long: Option<String>,
}

/// What a task did between two readings.
struct TaskDelta {
    row: TaskRow,
    waits: [u64; CLASSES],
    quota_ns: u64,
    quota_left_ns: u64,
    fell: bool,
}

impl Default for Deltas {
    fn default() -> Self {
        Self {
            snapshots: HashMap::new(),
            round: 0,
            rows: Vec::new(),
            ended: 0,
            aggregates: BTreeMap::new(),
            waits: [0; CLASSES],
            quota_ns: BTreeMap::new(),
            backwards: 0,
            too_long: None,
        }
    }
}

impl Deltas {
    /// All tasks that exist, as they stand; `name` knows control groups by their numbers.
    pub(super) fn alive(&mut self, tasks: Vec<TaskCounts>, name: impl Fn(u64) -> Option<String>) {
        self.round += 1;
        for task in tasks {
            let key = task.key();
            let before = self.snapshots.get(&key);
            let delta = difference(before, &task);
            if delta.fell {
                // The reading is older than the one before: the next one has all that is missing here.
                self.backwards += 1;
                if let Some(seen) = self.snapshots.get_mut(&key) {
                    seen.round = self.round;
                }
                continue;
            }
            self.judge(before.map(|seen| seen.counts.arrivals), &task, &delta);
            let row = &delta.row;
            if row.voluntary + row.involuntary + row.run_ns + row.wait_ns + row.waits > 0 {
                let row = TaskRow { cgroup: name(task.group), ..delta.row };
                self.add(row.cgroup.as_ref(), &delta.waits, delta.quota_ns);
                self.rows.push(row);
            }
            let seen = TaskSnapshot { counts: task, round: self.round, quota_left_ns: delta.quota_left_ns };
            self.snapshots.insert(key, seen);
        }
        let round = self.round;
        self.snapshots.retain(|_, seen| round - seen.round < MISSED);
    }

    /// A task of a control group that has ended, as it stood then.
    pub(super) fn ended(&mut self, task: &TaskCounts, cgroup: Option<String>) {
        let before = self.snapshots.remove(&task.key());
        let delta = difference(before.as_ref(), task);
        self.backwards += u64::from(delta.fell);
        self.judge(before.map(|seen| seen.counts.arrivals), task, &delta);
        self.add(cgroup.as_ref(), &delta.waits, delta.quota_ns);
        let row = TaskRow { cgroup, ..delta.row };
        if self.ended < MOST_ENDED {
            self.ended += 1;
            self.rows.push(row);
        } else {
            aggregate(self.aggregates.entry(row.cgroup.clone()).or_default(), &row);
        }
    }

    /// A wait is counted when it ends. One of a task that came to a CPU before began after that, while the task was watched.
    fn judge(&mut self, arrivals_before: Option<u64>, task: &TaskCounts, delta: &TaskDelta) {
        let watched_ns = task.last_ns.saturating_sub(task.first_ns);
        let waited_ns = delta.row.wait_ns;
        // The clocks of processors that are not quite the same differ by less.
        let most_ns = watched_ns + watched_ns / 100 + 1_000_000_000;
        if arrivals_before.is_some_and(|arrivals| arrivals > 0) && waited_ns > most_ns {
            self.too_long.get_or_insert_with(|| {
                let tid = task.tid;
                format!("task {tid} waited for {waited_ns} ns, and was watched for {watched_ns} ns")
            });
        }
    }

    fn add(&mut self, cgroup: Option<&String>, waits: &[u64; CLASSES], quota_ns: u64) {
        for (sum, more) in self.waits.iter_mut().zip(waits) {
            *sum += more;
        }
        if quota_ns > 0 {
            *self.quota_ns.entry(cgroup.cloned()).or_default() += quota_ns;
        }
    }

    /// Everything since the last time.
    pub(super) fn take(&mut self) -> TaskDeltas {
        self.ended = 0;
        let mut rows = std::mem::take(&mut self.rows);
        rows.extend(std::mem::take(&mut self.aggregates).into_values().flatten());
        TaskDeltas {
            rows,
            waits: std::mem::replace(&mut self.waits, [0; CLASSES]),
            quota_ns: std::mem::take(&mut self.quota_ns),
            backwards: std::mem::take(&mut self.backwards),
            too_long: self.too_long.take(),
        }
    }
}

/// What a task did between two snapshots. Its own counts of classes are of 32 bits and begin anew when those are full.
fn difference(seen: Option<&TaskSnapshot>, now: &TaskCounts) -> TaskDelta {
    let none = TaskCounts::default();
    let before = seen.map_or(&none, |seen| &seen.counts);
    let growth = Growth::default();
    let mut waits = [0; CLASSES];
    for ((sum, before), now) in waits.iter_mut().zip(before.waits.counts()).zip(now.waits.counts()) {
        *sum = growth.of_32_bits(*before, *now);
    }
    let sums = now.sums().delta(&before.sums(), &growth);
    // Counted in 32 bits, too.
    let moves = |at: usize| Some(growth.of_32_bits(before.migrations[at] as u32, now.migrations[at] as u32));
    let since = |of: fn(&TaskCounts) -> u64| growth.of(of(before), of(now));
    // Switches whose cost was not measured leave the sum unknown; where there was none, it is nothing.
    let measured = since(|task| task.costs) > 0 || sums.waits == 0;
    let cost_ns = since(|task| task.cost_ns);
    let row = TaskRow {
        migrations_same_l2: moves(0),
        migrations_same_l3: moves(1),
        migrations_across: moves(2),
        switch_cost_ns: measured.then_some(cost_ns),
        thread_switches: sums.process_switches.map(|process| sums.waits.saturating_sub(process)),
        ..sums
    };
    let quota_ns = since(|task| task.quota_ns) + seen.map_or(0, |seen| seen.quota_left_ns);
    let part_ns = quota_ns.min(row.wait_ns);
    TaskDelta { waits, quota_ns: part_ns, quota_left_ns: quota_ns - part_ns, fell: growth.fell() > 0, row }
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

    /// Counts of 32 bits and a reading that comes late: what is counted twice or as four thousand million in other programs.
    #[test]
    fn a_reading_that_is_older_than_the_last_counts_as_nothing_and_is_counted() {
        let mut deltas = Deltas::default();
        let at = |voluntary: u64, migrations: u64| TaskCounts {
            migrations: [0, 0, migrations],
            ..task(1, voluntary, 10 * voluntary)
        };
        deltas.alive(vec![at(100, 7)], |_| None);
        assert_eq!(deltas.take().backwards, 0);
        deltas.alive(vec![at(90, 5)], |_| None);
        let taken = deltas.take();
        assert_eq!((taken.rows.len(), taken.backwards), (0, 1));
        deltas.alive(vec![at(110, 8)], |_| None);
        let taken = deltas.take();
        let row = &taken.rows[0];
        assert_eq!((row.voluntary, row.run_ns, row.migrations_across), (10, 100, Some(1)), "not 20");
        // Only its end is told too early: what fell is nothing, and no huge number.
        deltas.ended(&at(105, 2), None);
        let taken = deltas.take();
        assert_eq!((taken.rows[0].voluntary, taken.rows[0].migrations_across), (0, Some(0)));
        assert_eq!(taken.backwards, 1);
    }

    #[test]
    fn a_wait_for_a_quota_is_a_part_of_a_wait_whenever_the_two_are_read() {
        let mut deltas = Deltas::default();
        let at = |wait_ns: u64, quota_ns: u64| TaskCounts { wait_ns, quota_ns, arrivals: 1, ..task(1, 1, 1) };
        let group = Some("/web".to_owned());
        let mut part = |wait_ns: u64, quota_ns: u64| {
            deltas.alive(vec![at(wait_ns, quota_ns)], |_| Some("/web".to_owned()));
            deltas.take().quota_ns.get(&group).copied().unwrap_or(0)
        };
        assert_eq!(part(100, 40), 40);
        // The second is read after the first: it belongs to a wait that is seen the next time.
        assert_eq!((part(110, 90), part(150, 90)), (10, 40));
        assert_eq!((part(150, 90), part(200, 90)), (0, 0));
    }

    #[test]
    fn a_wait_that_is_longer_than_the_task_was_watched_is_told() {
        let at = |wait_ns: u64, arrivals: u64| TaskCounts {
            wait_ns,
            arrivals,
            last_ns: 5_000_000_000,
            ..task(1, 1, 1)
        };
        let mut deltas = Deltas::default();
        // It may have waited since before it was watched.
        deltas.alive(vec![at(0, 0)], |_| None);
        deltas.alive(vec![at(1 << 40, 1)], |_| None);
        assert_eq!(deltas.take().too_long, None);
        deltas.alive(vec![at((1 << 40) + 5_000_000_000, 2)], |_| None);
        assert_eq!(deltas.take().too_long, None);
        deltas.alive(vec![at(1 << 41, 3)], |_| None);
        assert!(deltas.take().too_long.unwrap().contains("task 1 waited"));
    }

    #[test]
    fn memory_is_bounded_by_the_tasks_that_exist() {
        let mut deltas = Deltas::default();
        for pid in 0..20_000 {
            deltas.ended(&task(pid, 1, 1), None);
        }
        assert!(
            deltas.rows.len() <= MOST_ENDED && deltas.aggregates.len() == 1 && deltas.snapshots.is_empty()
        );
        assert_eq!(voluntary(&mut deltas), 20_000);
        // An end that was lost is not waited for for ever.
        deltas.alive(vec![task(1, 1, 1)], |_| None);
        for _ in 0..MISSED {
            deltas.alive(vec![], |_| None);
        }
        assert!(deltas.snapshots.is_empty());
    }
}
