//! The tasks that are counted and have not ended, as the kernel lists them. This file has what is special about its readings.
//!
//! - A task that exits is taken off the kernel's list when it is collected, and may then wait for a CPU to leave the last one for good, which
//!   is when its end is counted. Between the two it is as it was when it was last listed: without it, sums would fall.
//! - A thread that executes another program takes the number of its process; see [`TaskKey`].
//! - Some counts have 32 bits and wrap around when those are full.
//! - A reading in which a counter fell is older than the one before. It is left out, and the next one has all that is missing.

use crate::sources::counts::{ClassSums, TaskCounts, TaskKey};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use swtch_trace::growth::Growth;

/// Where ends were lost, a task that the kernel has not listed for so long has ended, ns.
const GIVEN_UP_NS: u64 = 10_000_000_000;

/// A task that is counted.
pub(super) struct CountedTask {
    /// As it was when the kernel last listed it.
    pub(super) now: TaskCounts,
    /// In a watch: as it was at the list before.
    pub(super) before: Option<Box<TaskCounts>>,
    /// Time stopped by a quota that is not yet part of a wait: the two are not read at one moment.
    quota_left_ns: u64,
    /// The last list that it was in, and since when it is in none, ns.
    round: u64,
    unlisted_ns: Option<u64>,
}

/// What a watch wants to know of the readings beyond the tasks' own sums.
#[derive(Default)]
pub(super) struct Changes {
    /// Waits of all tasks by class, since the watch began.
    pub(super) waits: ClassSums,
    /// The part of the waits in which a quota stopped the tasks, ns, by the number of their cgroup; nothing of groups without any.
    pub(super) quota_ns: BTreeMap<u64, u64>,
    /// Readings in which a counter fell.
    pub(super) backwards: u64,
    /// A task that waited for longer than it was watched.
    pub(super) too_long: Option<String>,
}

/// The tasks, by what identifies them.
pub(super) struct CountedTasks {
    tasks: HashMap<TaskKey, CountedTask>,
    round: u64,
    /// Of a watch only.
    changes: Option<Changes>,
}

impl CountedTasks {
    /// None yet; in a watch, what changes from list to list is noted.
    pub(super) fn new(is_watch: bool) -> Self {
        Self { tasks: HashMap::new(), round: 0, changes: is_watch.then(Changes::default) }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &CountedTask> {
        self.tasks.values()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// What changed, in a watch.
    pub(super) fn changes(&mut self) -> Option<&mut Changes> {
        self.changes.as_mut()
    }

    /// Takes the kernel's list. Returns tasks that have ended without a word of it, which happens only where `ends_were_lost`.
    pub(super) fn list(
        &mut self,
        listed: Vec<TaskCounts>,
        now_ns: u64,
        ends_were_lost: bool,
    ) -> Vec<TaskCounts> {
        self.round += 1;
        let round = self.round;
        for mut task in listed {
            let changes = self.changes.as_mut();
            match self.tasks.entry(task.key()) {
                Entry::Vacant(place) => {
                    let quota_left_ns = changes.map_or(0, |changes| changes.note(None, &mut task).1);
                    let new =
                        CountedTask { now: task, before: None, quota_left_ns, round, unlisted_ns: None };
                    place.insert(new);
                }
                Entry::Occupied(mut known) => known.get_mut().read(task, round, changes),
            }
        }
        let mut over = Vec::new();
        let is_watch = self.changes.is_some();
        self.tasks.retain(|_, task| {
            if task.round == round {
                return true;
            }
            let since_ns = *task.unlisted_ns.get_or_insert(now_ns);
            let is_over = ends_were_lost && now_ns.saturating_sub(since_ns) >= GIVEN_UP_NS;
            if is_over {
                over.push(std::mem::take(&mut task.now));
            } else if is_watch {
                task.stand_still();
            }
            !is_over
        });
        over
    }

    /// Takes out a task whose end was counted, as it was at the last list.
    pub(super) fn end(&mut self, task: &mut TaskCounts) -> Option<TaskCounts> {
        let known = self.tasks.remove(&task.key());
        if let Some(changes) = &mut self.changes {
            changes.note(known.as_ref(), task);
        }
        known.map(|known| known.now)
    }
}

impl CountedTask {
    fn read(&mut self, mut task: TaskCounts, round: u64, changes: Option<&mut Changes>) {
        (self.round, self.unlisted_ns) = (round, None);
        let Some(changes) = changes else {
            self.now = task;
            return;
        };
        match changes.note(Some(self), &mut task) {
            (true, _) => self.stand_still(),
            (false, quota_left_ns) => {
                self.quota_left_ns = quota_left_ns;
                self.before = Some(Box::new(std::mem::replace(&mut self.now, task)));
            }
        }
    }

    /// Nothing is known to have happened since the last list.
    fn stand_still(&mut self) {
        self.before = Some(Box::new(self.now.clone()));
    }
}

impl Changes {
    /// Notes what a task did since it was last read, of one that exists nothing where a counter fell. Counts of 32 bits go on in `now` where
    /// they wrapped around. Returns whether a counter fell, and the time stopped by a quota that is not yet part of a wait.
    fn note(&mut self, known: Option<&CountedTask>, now: &mut TaskCounts) -> (bool, u64) {
        let none = TaskCounts::default();
        let before = known.map_or(&none, |known| &known.now);
        let growth = Growth::default();
        for (now, before) in now.migrations.iter_mut().zip(before.migrations) {
            *now = before + growth.of_32_bits(before as u32, *now as u32);
        }
        for (now, before) in now.counters().into_iter().zip(before.counters()) {
            growth.of(before, now);
        }
        let mut waits = ClassSums::default();
        waits.grow(before.waits.counts(), now.waits.counts(), &growth);
        let fell = growth.fell() > 0;
        self.backwards += u64::from(fell);
        if fell && !now.ended {
            return (true, 0);
        }
        let wait_ns = now.wait_ns.saturating_sub(before.wait_ns);
        if before.arrivals > 0 {
            self.judge(now, wait_ns);
        }
        self.waits.add(&waits);
        let left_ns = known.map_or(0, |known| known.quota_left_ns);
        let quota_ns = now.quota_ns.saturating_sub(before.quota_ns) + left_ns;
        let part_ns = quota_ns.min(wait_ns);
        if part_ns > 0 {
            *self.quota_ns.entry(now.group).or_default() += part_ns;
        }
        (fell, quota_ns - part_ns)
    }

    /// A wait is counted when it ends. One of a task that came to a CPU before began after that, while the task was watched.
    fn judge(&mut self, task: &TaskCounts, waited_ns: u64) {
        let watched_ns = task.last_ns.saturating_sub(task.first_ns);
        // The clocks of CPUs that are not quite the same differ by less.
        if waited_ns > watched_ns + watched_ns / 100 + 1_000_000_000 {
            self.too_long.get_or_insert_with(|| {
                let tid = task.tid;
                format!("task {tid} waited for {waited_ns} ns, and was watched for {watched_ns} ns")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: u32, tid: u32, first_ns: u64, voluntary: u64) -> TaskCounts {
        TaskCounts { tid, pid, first_ns, voluntary, run_ns: 10 * voluntary, ..TaskCounts::default() }
    }

    fn sum(tasks: &CountedTasks) -> u64 {
        tasks.iter().map(|task| task.now.voluntary).sum()
    }

    /// What the tasks that exist did between the last two lists.
    fn since(tasks: &CountedTasks) -> u64 {
        let before = |task: &CountedTask| task.before.as_ref().map_or(0, |before| before.voluntary);
        tasks.iter().map(|task| task.now.voluntary - before(task)).sum()
    }

    #[test]
    fn a_task_on_its_way_out_stays_until_its_end_is_counted() {
        let mut tasks = CountedTasks::new(false);
        let leaving = || task(2, 2, 20, 5);
        assert!(tasks.list(vec![task(1, 1, 10, 3), leaving()], 0, false).is_empty());
        // However long it waits: its end will be counted.
        for round in 1..5 {
            assert!(tasks.list(vec![task(1, 1, 10, 3 + round)], round * GIVEN_UP_NS, false).is_empty());
            assert_eq!(sum(&tasks), 8 + round);
        }
        assert_eq!(tasks.end(&mut task(2, 2, 20, 6)), Some(leaving()));
        assert_eq!(sum(&tasks), 7);
        tasks.list(vec![task(1, 1, 10, 7)], 5 * GIVEN_UP_NS, false);
        assert_eq!((tasks.len(), sum(&tasks)), (1, 7));
    }

    #[test]
    fn a_thread_that_executes_another_program_is_counted_once() {
        let mut tasks = CountedTasks::new(true);
        tasks.list(vec![task(1, 1, 10, 3), task(1, 7, 17, 4)], 0, false);
        // The first thread has ended, and the other has its number.
        tasks.end(&mut task(1, 1, 10, 3));
        tasks.list(vec![task(1, 1, 17, 5)], 1, false);
        assert_eq!((tasks.len(), sum(&tasks), since(&tasks)), (1, 5, 1));
    }

    #[test]
    fn where_ends_were_lost_a_task_is_given_up_once_and_after_a_time() {
        let mut tasks = CountedTasks::new(false);
        tasks.list(vec![task(2, 2, 20, 5)], 0, true);
        assert!(tasks.list(Vec::new(), 100, true).is_empty());
        assert!(tasks.list(Vec::new(), GIVEN_UP_NS + 99, true).is_empty());
        assert_eq!(tasks.list(Vec::new(), GIVEN_UP_NS + 100, true), [task(2, 2, 20, 5)]);
        assert_eq!(tasks.len(), 0);
        assert!(tasks.list(Vec::new(), 3 * GIVEN_UP_NS, true).is_empty());
    }

    #[test]
    fn what_a_task_did_counts_once_however_it_is_told() {
        let mut tasks = CountedTasks::new(true);
        tasks.list(vec![task(1, 1, 1, 10), task(2, 2, 2, 5)], 0, false);
        assert_eq!(since(&tasks), 15);
        tasks.list(vec![task(1, 1, 1, 12), task(2, 2, 2, 5)], 1, false);
        assert_eq!(since(&tasks), 2);
        // It ends between two lists, and is missing in the next.
        assert_eq!(tasks.end(&mut task(2, 2, 2, 9)).unwrap().voluntary, 5);
        tasks.list(vec![task(1, 1, 1, 12)], 2, false);
        assert_eq!(since(&tasks), 0);
        // It was never listed.
        assert_eq!(tasks.end(&mut task(3, 3, 3, 7)), None);
        // It is not there any more, and nothing is counted twice.
        tasks.list(vec![], 3, false);
        assert_eq!((since(&tasks), tasks.len()), (0, 1));
        assert_eq!(tasks.end(&mut task(1, 1, 1, 13)).unwrap().voluntary, 12);
    }

    /// Counts of 32 bits and a reading that comes late: what is counted twice or as four thousand million in other programs.
    #[test]
    fn a_reading_that_is_older_than_the_last_counts_as_nothing_and_is_counted() {
        let mut tasks = CountedTasks::new(true);
        let at = |voluntary: u64, migrations: u64| TaskCounts {
            migrations: [0, 0, migrations],
            ..task(1, 1, 1, voluntary)
        };
        tasks.list(vec![at(100, 7)], 0, false);
        tasks.list(vec![at(90, 5)], 1, false);
        assert_eq!((since(&tasks), tasks.changes().unwrap().backwards), (0, 1));
        tasks.list(vec![at(110, 8)], 2, false);
        let found = tasks.iter().next().unwrap();
        let before = found.before.as_ref().unwrap();
        assert_eq!((found.now.voluntary - before.voluntary, found.now.run_ns - before.run_ns), (10, 100));
        assert_eq!((before.migrations[2], found.now.migrations[2]), (7, 8), "not 20 switches and 3 moves");
        // Now only the record of its end is too early. A count that fell counts as unchanged, not as a huge number.
        let mut end = TaskCounts { ended: true, ..at(105, 2) };
        assert_eq!(tasks.end(&mut end).unwrap().voluntary, 110);
        assert_eq!((end.migrations[2], tasks.changes().unwrap().backwards), (8, 2));
        // One that was full goes on.
        let full = u64::from(u32::MAX);
        for (voluntary, migrations) in [(1, 1 << 30), (2, 2 << 30), (3, 3 << 30), (4, full), (5, 4)] {
            tasks.list(vec![at(voluntary, migrations)], 3, false);
        }
        assert_eq!(tasks.iter().next().unwrap().now.migrations[2], full + 5);
    }

    #[test]
    fn a_wait_for_a_quota_is_a_part_of_a_wait_whenever_the_two_are_read() {
        let mut tasks = CountedTasks::new(true);
        let at = |wait_ns: u64, quota_ns: u64| TaskCounts {
            wait_ns,
            quota_ns,
            arrivals: 1,
            group: 9,
            ..task(1, 1, 1, 1)
        };
        let mut part = |wait_ns: u64, quota_ns: u64| {
            tasks.list(vec![at(wait_ns, quota_ns)], 0, false);
            std::mem::take(&mut tasks.changes().unwrap().quota_ns).get(&9).copied().unwrap_or(0)
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
            ..task(1, 1, 1, 1)
        };
        let mut tasks = CountedTasks::new(true);
        // It may have waited since before it was watched.
        tasks.list(vec![at(0, 0)], 0, false);
        tasks.list(vec![at(1 << 40, 1)], 1, false);
        assert_eq!(tasks.changes().unwrap().too_long, None);
        tasks.list(vec![at((1 << 40) + 5_000_000_000, 2)], 2, false);
        assert_eq!(tasks.changes().unwrap().too_long, None);
        tasks.list(vec![at(1 << 41, 3)], 3, false);
        assert!(tasks.changes().unwrap().too_long.as_ref().unwrap().contains("task 1 waited"));
    }
}
