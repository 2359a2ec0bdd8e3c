//! The tasks that are counted and have not ended, as the kernel lists them. This file has what is special about its readings.
//!
//! - The kernel's sums begin with the task. What a task had done before it was counted is its base, which is taken off.
//! - A list has only the tasks that did something since the list before, unless it is a whole one.
//! - A task that exits is left out of the list when it is dead, and its record may come later. Between the two it is as it was when it was last
//!   listed: without it, sums would fall.
//! - A thread that executes another program takes over the number and the birth of its process; see [`TaskKey`].
//! - Some counts have 32 bits and wrap around when those are full.
//! - A reading in which a counter fell is older than the one before. It is left out, and the next one has all that is missing in it.

mod changes;

use super::living::Living;
use crate::sources::counts::{TaskCounts, TaskKey, TaskList};
pub(super) use changes::Changes;
use changes::sharers;
use std::collections::{BTreeMap, HashSet};

/// Where ends were lost, a task that the kernel has not listed for so long has ended, ns.
const GIVEN_UP_NS: u64 = 10_000_000_000;

/// The place of the wait in [`TaskCounts::sums`].
const WAIT: usize = 3;

/// A task that is counted.
pub(super) struct CountedTask {
    /// As it was when the kernel last listed it.
    pub(super) now: TaskCounts,
    /// In a watch, of one that the last list had: as it was at the list before.
    before: Option<Box<TaskCounts>>,
    /// The kernel's sums before it was counted.
    base: [u64; 6],
    /// Time stopped by a quota that is not yet part of a wait: the two are not read at one moment.
    quota_left_ns: u64,
    /// The last list that it was in, and since when it is in no whole one, ns.
    round: u64,
    unlisted_ns: Option<u64>,
}

/// The tasks, by what identifies them.
pub(super) struct CountedTasks {
    tasks: BTreeMap<TaskKey, CountedTask>,
    living: Living,
    round: u64,
    /// Those that the last list had, and when it was read, ns, if it was not a whole one.
    listed: Vec<TaskKey>,
    partial_ns: Option<u64>,
    /// Tasks that were created later are counted from their birth on.
    since_ns: u64,
    /// CPUs of the machine.
    cpus: u64,
    /// Numbers of tasks that were created elsewhere and came to be counted.
    adopted: HashSet<u32>,
    /// Of a watch only.
    changes: Option<Changes>,
}

impl CountedTasks {
    /// None yet; in a watch, what changes from list to list is noted.
    pub(super) fn new(is_watch: bool, since_ns: u64, cpus: usize) -> Self {
        Self {
            tasks: BTreeMap::new(),
            living: Living::default(),
            round: 0,
            listed: Vec::new(),
            partial_ns: None,
            since_ns,
            cpus: cpus.max(1) as u64,
            adopted: HashSet::new(),
            changes: is_watch.then(Changes::default),
        }
    }

    /// Counts these from the next list on.
    pub(super) fn adopt(&mut self, tids: &[u32]) {
        self.adopted.extend(tids);
    }

    /// Changes each of them as it is now.
    pub(super) fn update(&mut self, change: impl Fn(&mut TaskCounts)) {
        self.tasks.values_mut().for_each(|task| change(&mut task.now));
    }

    /// Changes each of those that the last list had.
    pub(super) fn update_listed(&mut self, change: impl Fn(&mut TaskCounts)) {
        for key in &self.listed {
            if let Some(task) = self.tasks.get_mut(key) {
                change(&mut task.now);
            }
        }
    }

    /// All of them, each with what it was at the list before in a watch.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&TaskCounts, Option<&TaskCounts>)> {
        self.tasks.values().map(|task| self.with_before(task))
    }

    /// The same of those that the last list had and that have not ended since.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&TaskCounts, Option<&TaskCounts>)> {
        let listed = self.listed.iter().filter_map(|key| self.tasks.get(key));
        listed.map(|task| self.with_before(task))
    }

    fn with_before<'a>(&self, task: &'a CountedTask) -> (&'a TaskCounts, Option<&'a TaskCounts>) {
        // What the last list did not have has not changed.
        let stands_still = self.changes.is_some() && task.round != self.round;
        (&task.now, if stands_still { Some(&task.now) } else { task.before.as_deref() })
    }

    /// They are known to have been there until then, ns, also those that the last list did not have; nothing where it had all.
    pub(super) fn there_until_ns(&self) -> Option<u64> {
        self.partial_ns
    }

    /// All together.
    pub(super) fn living(&self) -> &Living {
        &self.living
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// What changed, in a watch.
    pub(super) fn changes(&mut self) -> Option<&mut Changes> {
        self.changes.as_mut()
    }

    /// Takes the kernel's list, read at `now_ns`. Returns tasks that have ended without a word of it, which happens only where `ends_were_lost`.
    pub(super) fn list(&mut self, list: TaskList, now_ns: u64, ends_were_lost: bool) -> Vec<TaskCounts> {
        self.round += 1;
        self.listed.clear();
        self.partial_ns = (!list.is_whole).then_some(now_ns);
        if let Some(changes) = &mut self.changes {
            changes.sharers = sharers(&self.tasks, &list.tasks, self.cpus);
        }
        for task in list.tasks {
            self.read(task);
        }
        let mut over = Vec::new();
        if !list.is_whole {
            return over;
        }
        let round = self.round;
        self.tasks.retain(|_, task| {
            if task.round == round {
                return true;
            }
            let since_ns = *task.unlisted_ns.get_or_insert(now_ns);
            let is_over = ends_were_lost && now_ns.saturating_sub(since_ns) >= GIVEN_UP_NS;
            if is_over {
                self.living.leave(&task.now);
                over.push(std::mem::take(&mut task.now));
            }
            !is_over
        });
        over
    }

    /// Takes a task of the list.
    fn read(&mut self, mut task: TaskCounts) {
        let key = task.key();
        self.rename(&task);
        self.listed.push(key);
        let changes = self.changes.as_mut();
        if let Some(known) = self.tasks.get_mut(&key) {
            self.living.leave(&known.now);
            known.read(task, self.round, changes);
            self.living.enter(&known.now);
            return;
        }
        let is_born = task.start_ns >= self.since_ns && !self.adopted.remove(&task.tid);
        let base = if is_born { [0; 6] } else { task.sums().map(|sum| *sum) };
        if !is_born {
            task.first_ns = task.last_ns;
        }
        take_off(&mut task, &base);
        let quota_left_ns = changes.map_or(0, |changes| changes.note(None, &mut task).1);
        self.living.enter(&task);
        let round = self.round;
        let new = CountedTask { now: task, before: None, base, quota_left_ns, round, unlisted_ns: None };
        self.tasks.insert(key, new);
    }

    /// A thread that executed another program has the birth of its process, which is earlier.
    fn rename(&mut self, task: &TaskCounts) {
        let (address, start_ns) = task.key();
        if task.tid != task.pid || self.tasks.contains_key(&task.key()) {
            return;
        }
        let mut later = self.tasks.range((address, start_ns + 1)..=(address, u64::MAX));
        let Some(key) = later.find(|(_, known)| known.now.pid == task.pid).map(|(key, _)| *key) else {
            return;
        };
        if let Some(known) = self.tasks.remove(&key) {
            self.tasks.insert(task.key(), known);
        }
    }

    /// Takes out a task that ended, as it was at the last list. Returns whether it was counted: one that had ended before all of
    /// this began was not.
    pub(super) fn end(&mut self, task: &mut TaskCounts) -> (bool, Option<TaskCounts>) {
        self.rename(task);
        let known = self.tasks.remove(&task.key());
        if known.is_none() && task.start_ns < self.since_ns {
            return (false, None);
        }
        if let Some(known) = &known {
            self.living.leave(&known.now);
            take_off(task, &known.base);
            (task.first_ns, task.priced) = (known.now.first_ns, known.now.priced);
            task.quota_ns = known.now.quota_ns;
        }
        if let Some(changes) = &mut self.changes {
            changes.note(known.as_ref(), task);
        }
        (true, known.map(|known| known.now))
    }
}

/// Takes off what a task had done before it was counted.
fn take_off(task: &mut TaskCounts, base: &[u64; 6]) {
    for (sum, base) in task.sums().into_iter().zip(base) {
        *sum = sum.saturating_sub(*base);
    }
}

impl CountedTask {
    fn read(&mut self, mut task: TaskCounts, round: u64, changes: Option<&mut Changes>) {
        (self.round, self.unlisted_ns) = (round, None);
        take_off(&mut task, &self.base);
        (task.first_ns, task.priced) = (self.now.first_ns, self.now.priced);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::counts::SeenOfTask;

    fn task(pid: u32, tid: u32, first_ns: u64, voluntary: u64) -> TaskCounts {
        let address = u64::from(tid) << 10;
        let start_ns = first_ns;
        TaskCounts { tid, pid, address, start_ns, voluntary, run_ns: 10 * voluntary, ..TaskCounts::default() }
    }

    fn sum(tasks: &CountedTasks) -> u64 {
        let sum = tasks.iter().map(|(now, _)| now.voluntary).sum();
        assert_eq!(tasks.living().sums.voluntary, sum, "the kept sums");
        sum
    }

    /// What the tasks that exist did between the last two lists.
    fn since(tasks: &CountedTasks) -> u64 {
        let before = |before: Option<&TaskCounts>| before.map_or(0, |before| before.voluntary);
        tasks.iter().map(|(now, then)| now.voluntary - before(then)).sum()
    }

    fn all(tasks: Vec<TaskCounts>) -> TaskList {
        TaskList { tasks, is_whole: true }
    }

    #[test]
    fn a_list_of_what_changed_leaves_all_others_as_they_are() {
        let mut tasks = CountedTasks::new(true, 0, 2);
        tasks.list(all(vec![task(1, 1, 1, 10), task(2, 2, 2, 5), task(3, 3, 3, 1)]), 5, false);
        assert_eq!(tasks.there_until_ns(), None);
        let part = |tasks| TaskList { tasks, is_whole: false };
        // The third has ended, and its end was lost: no list of what changed says so, however late it is.
        tasks.list(part(vec![task(1, 1, 1, 12)]), GIVEN_UP_NS, true);
        assert_eq!((tasks.len(), sum(&tasks), since(&tasks)), (3, 18, 2));
        assert_eq!(tasks.there_until_ns(), Some(GIVEN_UP_NS));
        let changed: Vec<(u64, u64)> =
            tasks.listed().map(|(now, before)| (now.voluntary, before.unwrap().voluntary)).collect();
        assert_eq!(changed, [(12, 10)]);
        tasks.list(part(vec![task(2, 2, 2, 6)]), 2 * GIVEN_UP_NS, true);
        assert_eq!((sum(&tasks), since(&tasks)), (19, 1), "what the first did before is not new");
        let rest = || vec![task(1, 1, 1, 12), task(2, 2, 2, 6)];
        assert!(tasks.list(all(rest()), 3 * GIVEN_UP_NS, true).is_empty());
        assert_eq!(tasks.list(all(rest()), 4 * GIVEN_UP_NS, true), [task(3, 3, 3, 1)]);
        assert_eq!((tasks.len(), sum(&tasks)), (2, 18));
        // One that was listed and has ended is not among those that changed.
        tasks.list(part(vec![task(2, 2, 2, 7)]), 5 * GIVEN_UP_NS, true);
        assert_eq!(tasks.end(&mut task(2, 2, 2, 9)).1.unwrap().voluntary, 7);
        assert_eq!((tasks.listed().count(), sum(&tasks)), (0, 12));
    }

    #[test]
    fn a_task_on_its_way_out_stays_until_its_end_is_counted() {
        let mut tasks = CountedTasks::new(false, 0, 2);
        let leaving = || task(2, 2, 20, 5);
        assert!(tasks.list(all(vec![task(1, 1, 10, 3), leaving()]), 0, false).is_empty());
        // However long it waits: its end will be counted.
        for round in 1..5 {
            assert!(tasks.list(all(vec![task(1, 1, 10, 3 + round)]), round * GIVEN_UP_NS, false).is_empty());
            assert_eq!(sum(&tasks), 8 + round);
        }
        assert_eq!(tasks.end(&mut task(2, 2, 20, 6)), (true, Some(leaving())));
        assert_eq!(sum(&tasks), 7);
        tasks.list(all(vec![task(1, 1, 10, 7)]), 5 * GIVEN_UP_NS, false);
        assert_eq!((tasks.len(), sum(&tasks)), (1, 7));
    }

    #[test]
    fn a_thread_that_executes_another_program_is_counted_once() {
        let mut tasks = CountedTasks::new(true, 0, 2);
        tasks.list(all(vec![task(1, 1, 10, 3), task(1, 7, 17, 4)]), 0, false);
        // The first thread has ended with the other's number, which has its number and its birth.
        let mut first = TaskCounts { tid: 7, ..task(1, 1, 10, 3) };
        assert_eq!(tasks.end(&mut first).1.unwrap().voluntary, 3);
        let other = |voluntary| TaskCounts { tid: 1, start_ns: 10, ..task(1, 7, 17, voluntary) };
        tasks.list(all(vec![other(5)]), 1, false);
        assert_eq!((tasks.len(), sum(&tasks), since(&tasks)), (1, 5, 1));
        // A later thread at the same place is another task.
        tasks.list(all(vec![other(5), task(1, 7, 30, 2)]), 2, false);
        assert_eq!((tasks.len(), sum(&tasks)), (2, 7));
        assert_eq!(tasks.end(&mut other(6)).1.unwrap().voluntary, 5);
        assert_eq!(tasks.len(), 1);
    }

    #[test]
    fn where_ends_were_lost_a_task_is_given_up_once_and_after_a_time() {
        let mut tasks = CountedTasks::new(false, 0, 2);
        tasks.list(all(vec![task(2, 2, 20, 5)]), 0, true);
        assert!(tasks.list(all(Vec::new()), 100, true).is_empty());
        assert!(tasks.list(all(Vec::new()), GIVEN_UP_NS + 99, true).is_empty());
        assert_eq!(tasks.list(all(Vec::new()), GIVEN_UP_NS + 100, true), [task(2, 2, 20, 5)]);
        assert_eq!(tasks.len(), 0);
        assert!(tasks.list(all(Vec::new()), 3 * GIVEN_UP_NS, true).is_empty());
    }

    #[test]
    fn what_a_task_did_counts_once_however_it_is_told() {
        let mut tasks = CountedTasks::new(true, 0, 2);
        tasks.list(all(vec![task(1, 1, 1, 10), task(2, 2, 2, 5)]), 0, false);
        assert_eq!(since(&tasks), 15);
        tasks.list(all(vec![task(1, 1, 1, 12), task(2, 2, 2, 5)]), 1, false);
        assert_eq!(since(&tasks), 2);
        // It ends between two lists, and is missing in the next.
        assert_eq!(tasks.end(&mut task(2, 2, 2, 9)).1.unwrap().voluntary, 5);
        tasks.list(all(vec![task(1, 1, 1, 12)]), 2, false);
        assert_eq!(since(&tasks), 0);
        // It was never listed.
        assert_eq!(tasks.end(&mut task(3, 3, 3, 7)), (true, None));
        // It is not there any more, and nothing is counted twice.
        tasks.list(all(vec![]), 3, false);
        assert_eq!((since(&tasks), tasks.len()), (0, 1));
        assert_eq!(tasks.end(&mut task(1, 1, 1, 13)).1.unwrap().voluntary, 12);
    }

    /// Counts of 32 bits and a reading that comes late: what is counted twice or as four thousand million in other programs.
    #[test]
    fn a_reading_that_is_older_than_the_last_counts_as_nothing_and_is_counted() {
        let mut tasks = CountedTasks::new(true, 0, 2);
        let at = |voluntary: u64, migrations: u64| TaskCounts {
            seen: SeenOfTask { migrations: [0, 0, migrations], ..SeenOfTask::default() }.into(),
            ..task(1, 1, 1, voluntary)
        };
        tasks.list(all(vec![at(100, 7)]), 0, false);
        tasks.list(all(vec![at(90, 5)]), 1, false);
        assert_eq!((since(&tasks), tasks.changes().unwrap().backwards), (0, 1));
        tasks.list(all(vec![at(110, 8)]), 2, false);
        let (now, before) = tasks.iter().next().unwrap();
        let before = before.unwrap();
        assert_eq!((now.voluntary - before.voluntary, now.run_ns - before.run_ns), (10, 100));
        assert_eq!(
            (before.seen.migrations[2], now.seen.migrations[2]),
            (7, 8),
            "not 20 switches and 3 moves"
        );
        // Now only the record of its end is too early. A count that fell counts as unchanged, not as a huge number.
        let mut end = TaskCounts { ended: true, ..at(105, 2) };
        assert_eq!(tasks.end(&mut end).1.unwrap().voluntary, 110);
        assert_eq!((end.seen.migrations[2], tasks.changes().unwrap().backwards), (8, 2));
        // One that was full goes on.
        let full = u64::from(u32::MAX);
        for (voluntary, migrations) in [(1, 1 << 30), (2, 2 << 30), (3, 3 << 30), (4, full), (5, 4)] {
            tasks.list(all(vec![at(voluntary, migrations)]), 3, false);
        }
        assert_eq!(tasks.iter().next().unwrap().0.seen.migrations[2], full + 5);
    }

    #[test]
    fn a_wait_for_a_quota_is_a_part_of_a_wait_whenever_the_two_are_read() {
        let mut tasks = CountedTasks::new(true, 0, 2);
        let at = |wait_ns: u64, throttled_ns: u64, waiting: bool| TaskCounts {
            wait_ns,
            throttled: (77, throttled_ns),
            waiting,
            arrivals: 1,
            group: 9,
            ..task(1, 1, 1, 1)
        };
        let mut part = |task: TaskCounts| {
            tasks.list(all(vec![task]), 0, false);
            std::mem::take(&mut tasks.changes().unwrap().quota_ns).get(&9).copied().unwrap_or(0)
        };
        // Before it was counted, its run queue had been stopped, too.
        assert_eq!(part(at(0, 5000, false)), 0);
        assert_eq!(part(at(100, 5040, false)), 40);
        // It still waits: the rest belongs to a wait that is seen the next time.
        assert_eq!((part(at(110, 5090, true)), part(at(150, 5090, false))), (10, 40));
        assert_eq!((part(at(150, 5090, false)), part(at(200, 5090, false))), (0, 0));
        // It slept while its run queue was stopped.
        assert_eq!((part(at(205, 6090, false)), part(at(300, 6090, false))), (5, 0));
        // It moved: what stopped the other run queue before is not known.
        let moved =
            |wait_ns, throttled_ns| TaskCounts { throttled: (78, throttled_ns), ..at(wait_ns, 0, false) };
        assert_eq!((part(moved(400, 9000)), part(moved(500, 9030))), (0, 30));
    }

    #[test]
    fn a_task_that_moves_has_its_share_of_what_stopped_its_cgroup() {
        let mut tasks = CountedTasks::new(true, 0, 2);
        let at = |tid: u32, wait_ns, moves, queue, group_throttled_ns| TaskCounts {
            wait_ns,
            moves,
            throttled: queue,
            group_throttled_ns,
            group: 9,
            ..task(1, tid, 1, 1)
        };
        let before = |tid| at(tid, 0, 0, (77, 1000), 5000);
        tasks.list(all(vec![before(1), before(2), before(3)]), 0, false);
        // The second stayed; the third slept.
        let third = at(3, 0, 1, (78, 2000), 5060);
        tasks.list(
            all(vec![at(1, 100, 1, (78, 2000), 5060), at(2, 100, 0, (77, 1010), 5060), third]),
            1,
            false,
        );
        assert_eq!(tasks.changes().unwrap().quota_ns, [(9, 30 + 10)].into());
    }

    #[test]
    fn what_a_task_did_before_it_was_counted_is_left_out() {
        let mut tasks = CountedTasks::new(false, 100, 2);
        // The first was there, the second was created since, the third came from elsewhere, the fourth had ended before all began.
        tasks.adopt(&[3]);
        tasks.list(all(vec![task(1, 1, 10, 50), task(2, 2, 110, 5), task(3, 3, 120, 70)]), 0, false);
        assert_eq!(sum(&tasks), 5);
        tasks.list(all(vec![task(1, 1, 10, 52), task(2, 2, 110, 6), task(3, 3, 120, 73)]), 1, false);
        assert_eq!(sum(&tasks), 2 + 6 + 3);
        let mut ends = [task(1, 1, 10, 53), task(3, 3, 120, 75), task(4, 4, 9, 8), task(5, 5, 130, 4)];
        let counted = ends.each_mut().map(|end| tasks.end(end).0);
        assert_eq!(counted, [true, true, false, true]);
        assert_eq!(ends.each_ref().map(|end| end.voluntary), [3, 5, 8, 4]);
    }

    #[test]
    fn a_wait_that_is_longer_than_the_task_was_watched_is_told() {
        let at = |wait_ns: u64, arrivals: u64| TaskCounts {
            wait_ns,
            arrivals,
            last_ns: 5_000_000_000,
            ..task(1, 1, 1, 1)
        };
        let mut tasks = CountedTasks::new(true, 0, 2);
        // It may have waited since before it was watched.
        tasks.list(all(vec![at(0, 0)]), 0, false);
        tasks.list(all(vec![at(1 << 40, 1)]), 1, false);
        assert_eq!(tasks.changes().unwrap().too_long, None);
        tasks.list(all(vec![at((1 << 40) + 5_000_000_000, 2)]), 2, false);
        assert_eq!(tasks.changes().unwrap().too_long, None);
        tasks.list(all(vec![at(1 << 41, 3)]), 3, false);
        assert!(tasks.changes().unwrap().too_long.as_ref().unwrap().contains("task 1 waited"));
    }
}
