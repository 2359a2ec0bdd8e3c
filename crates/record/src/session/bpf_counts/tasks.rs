//! The tasks that are counted and have not ended, as the kernel lists them. This file has what is special about its readings.
//!
//! - The kernel's sums begin with the task. What a task had done before it was counted is its base, which is taken off.
//! - A task that exits is left out of the list when it is dead, and its record may come later. Between the two it is as it was when it was last
//!   listed: without it, sums would fall.
//! - A thread that executes another program takes over the number and the birth of its process; see [`TaskKey`].
//! - Some counts have 32 bits and wrap around when those are full.
//! - A reading in which a counter fell is older than the one before. It is left out, and the next one has all that is missing in it.

use crate::sources::counts::{ClassSums, TaskCounts, TaskKey};
use std::collections::{BTreeMap, HashSet};
use swtch_trace::growth::Growth;

/// Where ends were lost, a task that the kernel has not listed for so long has ended, ns.
const GIVEN_UP_NS: u64 = 10_000_000_000;

/// The place of the wait in [`TaskCounts::sums`].
const WAIT: usize = 3;

/// A task that is counted.
pub(super) struct CountedTask {
    /// As it was when the kernel last listed it.
    pub(super) now: TaskCounts,
    /// In a watch: as it was at the list before.
    pub(super) before: Option<Box<TaskCounts>>,
    /// The kernel's sums before it was counted.
    base: [u64; 6],
    /// Time stopped by a quota that is not yet part of a wait: the two are not read at one moment.
    quota_left_ns: u64,
    /// The last list that it was in, and since when it is in none, ns.
    round: u64,
    unlisted_ns: Option<u64>,
}

/// What a watch wants to know of the readings beyond the tasks' own sums.
#[derive(Default)]
pub(super) struct Changes {
    /// Waits of all tasks that were seen, by class, since the watch began, and how many waits there were.
    pub(super) waits: ClassSums,
    pub(super) arrivals: u64,
    /// The part of the waits in which a quota stopped the tasks, ns, by the number of their cgroup; nothing of groups without any.
    pub(super) quota_ns: BTreeMap<u64, u64>,
    /// On how many CPUs the tasks of each cgroup with a quota waited at a time, by the last list.
    sharers: BTreeMap<u64, u64>,
    /// Readings in which a counter fell.
    pub(super) backwards: u64,
    /// A task that waited for longer than it was watched.
    pub(super) too_long: Option<String>,
}

/// The tasks, by what identifies them.
pub(super) struct CountedTasks {
    tasks: BTreeMap<TaskKey, CountedTask>,
    round: u64,
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
            round: 0,
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
        if let Some(changes) = &mut self.changes {
            changes.sharers = sharers(&self.tasks, &listed, self.cpus);
        }
        for mut task in listed {
            let key = task.key();
            self.rename(&task);
            let changes = self.changes.as_mut();
            if let Some(known) = self.tasks.get_mut(&key) {
                known.read(task, round, changes);
                continue;
            }
            let is_born = task.start_ns >= self.since_ns && !self.adopted.remove(&task.tid);
            let base = if is_born { [0; 6] } else { task.sums().map(|sum| *sum) };
            if !is_born {
                task.first_ns = task.last_ns;
            }
            take_off(&mut task, &base);
            let quota_left_ns = changes.map_or(0, |changes| changes.note(None, &mut task).1);
            let new = CountedTask { now: task, before: None, base, quota_left_ns, round, unlisted_ns: None };
            self.tasks.insert(key, new);
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

/// For each cgroup with a quota, on how many CPUs its tasks waited at a time. It is at most as many as there are of
/// either.
fn sharers(tasks: &BTreeMap<TaskKey, CountedTask>, listed: &[TaskCounts], cpus: u64) -> BTreeMap<u64, u64> {
    let mut sharers: BTreeMap<u64, u64> = BTreeMap::new();
    for task in listed.iter().filter(|task| task.group_throttled_ns > 0) {
        let known = tasks.get(&task.key());
        if known.is_some_and(|known| task.wait_ns > known.now.wait_ns + known.base[WAIT]) {
            let count = sharers.entry(task.group).or_default();
            *count = (*count + 1).min(cpus);
        }
    }
    sharers
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

impl Changes {
    /// Notes what a task did since it was last read, of one that exists nothing where a counter fell. Counts of 32 bits go on in `now` where
    /// they wrapped around. Returns whether a counter fell, and the time stopped by a quota that is not yet part of a wait.
    fn note(&mut self, known: Option<&CountedTask>, now: &mut TaskCounts) -> (bool, u64) {
        let none = TaskCounts::default();
        let before = known.map_or(&none, |known| &known.now);
        let growth = Growth::default();
        if let Some(seen) = now.seen.as_mut() {
            for (now, before) in seen.migrations.iter_mut().zip(before.seen.migrations) {
                *now = before + growth.of_32_bits(before as u32, *now as u32);
            }
        }
        for (now, before) in now.counters().into_iter().zip(before.counters()) {
            growth.of(before, now);
        }
        let mut waits = ClassSums::default();
        if !now.seen.is_nothing() {
            waits.grow(before.seen.waits.counts(), now.seen.waits.counts(), &growth);
        }
        let fell = growth.fell() > 0;
        self.backwards += u64::from(fell);
        if fell && !now.ended {
            return (true, 0);
        }
        let wait_ns = now.wait_ns.saturating_sub(before.wait_ns);
        if before.arrivals > 0 {
            self.judge(now, wait_ns);
        }
        if !now.seen.is_nothing() {
            self.waits.add(&waits);
        }
        self.arrivals += now.arrivals.saturating_sub(before.arrivals);
        let left_ns = known.map_or(0, |known| known.quota_left_ns);
        // A task that changed its CPU was stopped on several: then it is the part of each that waited in its cgroup. That of an ended task is gone.
        let (queue, throttled_ns) = now.throttled;
        let stopped_ns = left_ns
            + match known {
                None => 0,
                Some(_) if now.moves == before.moves && queue == before.throttled.0 => {
                    throttled_ns.saturating_sub(before.throttled.1)
                }
                Some(_) => {
                    let sharers = self.sharers.get(&now.group).copied().unwrap_or(1);
                    now.group_throttled_ns.saturating_sub(before.group_throttled_ns) / sharers
                }
            };
        let part_ns = stopped_ns.min(wait_ns);
        now.quota_ns = before.quota_ns + part_ns;
        if part_ns > 0 {
            *self.quota_ns.entry(now.group).or_default() += part_ns;
        }
        // A wait that lasts is not yet among the waits. Of a task that slept meanwhile, the rest was not a wait.
        (fell, if now.waiting { stopped_ns - part_ns } else { 0 })
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
    use crate::sources::counts::SeenOfTask;

    fn task(pid: u32, tid: u32, first_ns: u64, voluntary: u64) -> TaskCounts {
        let address = u64::from(tid) << 10;
        let start_ns = first_ns;
        TaskCounts { tid, pid, address, start_ns, voluntary, run_ns: 10 * voluntary, ..TaskCounts::default() }
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
        let mut tasks = CountedTasks::new(false, 0, 2);
        let leaving = || task(2, 2, 20, 5);
        assert!(tasks.list(vec![task(1, 1, 10, 3), leaving()], 0, false).is_empty());
        // However long it waits: its end will be counted.
        for round in 1..5 {
            assert!(tasks.list(vec![task(1, 1, 10, 3 + round)], round * GIVEN_UP_NS, false).is_empty());
            assert_eq!(sum(&tasks), 8 + round);
        }
        assert_eq!(tasks.end(&mut task(2, 2, 20, 6)), (true, Some(leaving())));
        assert_eq!(sum(&tasks), 7);
        tasks.list(vec![task(1, 1, 10, 7)], 5 * GIVEN_UP_NS, false);
        assert_eq!((tasks.len(), sum(&tasks)), (1, 7));
    }

    #[test]
    fn a_thread_that_executes_another_program_is_counted_once() {
        let mut tasks = CountedTasks::new(true, 0, 2);
        tasks.list(vec![task(1, 1, 10, 3), task(1, 7, 17, 4)], 0, false);
        // The first thread has ended with the other's number, which has its number and its birth.
        let mut first = TaskCounts { tid: 7, ..task(1, 1, 10, 3) };
        assert_eq!(tasks.end(&mut first).1.unwrap().voluntary, 3);
        let other = |voluntary| TaskCounts { tid: 1, start_ns: 10, ..task(1, 7, 17, voluntary) };
        tasks.list(vec![other(5)], 1, false);
        assert_eq!((tasks.len(), sum(&tasks), since(&tasks)), (1, 5, 1));
        // A later thread at the same place is another task.
        tasks.list(vec![other(5), task(1, 7, 30, 2)], 2, false);
        assert_eq!((tasks.len(), sum(&tasks)), (2, 7));
        assert_eq!(tasks.end(&mut other(6)).1.unwrap().voluntary, 5);
        assert_eq!(tasks.len(), 1);
    }

    #[test]
    fn where_ends_were_lost_a_task_is_given_up_once_and_after_a_time() {
        let mut tasks = CountedTasks::new(false, 0, 2);
        tasks.list(vec![task(2, 2, 20, 5)], 0, true);
        assert!(tasks.list(Vec::new(), 100, true).is_empty());
        assert!(tasks.list(Vec::new(), GIVEN_UP_NS + 99, true).is_empty());
        assert_eq!(tasks.list(Vec::new(), GIVEN_UP_NS + 100, true), [task(2, 2, 20, 5)]);
        assert_eq!(tasks.len(), 0);
        assert!(tasks.list(Vec::new(), 3 * GIVEN_UP_NS, true).is_empty());
    }

    #[test]
    fn what_a_task_did_counts_once_however_it_is_told() {
        let mut tasks = CountedTasks::new(true, 0, 2);
        tasks.list(vec![task(1, 1, 1, 10), task(2, 2, 2, 5)], 0, false);
        assert_eq!(since(&tasks), 15);
        tasks.list(vec![task(1, 1, 1, 12), task(2, 2, 2, 5)], 1, false);
        assert_eq!(since(&tasks), 2);
        // It ends between two lists, and is missing in the next.
        assert_eq!(tasks.end(&mut task(2, 2, 2, 9)).1.unwrap().voluntary, 5);
        tasks.list(vec![task(1, 1, 1, 12)], 2, false);
        assert_eq!(since(&tasks), 0);
        // It was never listed.
        assert_eq!(tasks.end(&mut task(3, 3, 3, 7)), (true, None));
        // It is not there any more, and nothing is counted twice.
        tasks.list(vec![], 3, false);
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
        tasks.list(vec![at(100, 7)], 0, false);
        tasks.list(vec![at(90, 5)], 1, false);
        assert_eq!((since(&tasks), tasks.changes().unwrap().backwards), (0, 1));
        tasks.list(vec![at(110, 8)], 2, false);
        let found = tasks.iter().next().unwrap();
        let before = found.before.as_ref().unwrap();
        assert_eq!((found.now.voluntary - before.voluntary, found.now.run_ns - before.run_ns), (10, 100));
        assert_eq!(
            (before.seen.migrations[2], found.now.seen.migrations[2]),
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
            tasks.list(vec![at(voluntary, migrations)], 3, false);
        }
        assert_eq!(tasks.iter().next().unwrap().now.seen.migrations[2], full + 5);
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
            tasks.list(vec![task], 0, false);
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
        tasks.list(vec![before(1), before(2), before(3)], 0, false);
        // The second stayed; the third slept.
        let third = at(3, 0, 1, (78, 2000), 5060);
        tasks.list(vec![at(1, 100, 1, (78, 2000), 5060), at(2, 100, 0, (77, 1010), 5060), third], 1, false);
        assert_eq!(tasks.changes().unwrap().quota_ns, [(9, 30 + 10)].into());
    }

    #[test]
    fn what_a_task_did_before_it_was_counted_is_left_out() {
        let mut tasks = CountedTasks::new(false, 100, 2);
        // The first was there, the second was created since, the third came from elsewhere, the fourth had ended before all began.
        tasks.adopt(&[3]);
        tasks.list(vec![task(1, 1, 10, 50), task(2, 2, 110, 5), task(3, 3, 120, 70)], 0, false);
        assert_eq!(sum(&tasks), 5);
        tasks.list(vec![task(1, 1, 10, 52), task(2, 2, 110, 6), task(3, 3, 120, 73)], 1, false);
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
        tasks.list(vec![at(0, 0)], 0, false);
        tasks.list(vec![at(1 << 40, 1)], 1, false);
        assert_eq!(tasks.changes().unwrap().too_long, None);
        tasks.list(vec![at((1 << 40) + 5_000_000_000, 2)], 2, false);
        assert_eq!(tasks.changes().unwrap().too_long, None);
        tasks.list(vec![at(1 << 41, 3)], 3, false);
        assert!(tasks.changes().unwrap().too_long.as_ref().unwrap().contains("task 1 waited"));
    }
}
