//! What changes from list to list, for a watch.

use super::{CountedTask, WAIT};
use crate::sources::counts::{ClassSums, TaskCounts, TaskKey};
use std::collections::BTreeMap;
use swtch_trace::growth::Growth;

/// The waits of a cgroup's tasks: those that were seen, by class, and how many there were.
#[derive(Clone, Default)]
pub(crate) struct GroupWaits {
    pub(crate) seen: ClassSums,
    pub(crate) arrivals: u64,
}

/// What a watch wants to know of the readings beyond the tasks' own sums.
#[derive(Default)]
pub(crate) struct Changes {
    /// Waits of all tasks that were seen, by class, since the watch began, and how many waits there were.
    pub(crate) waits: ClassSums,
    pub(crate) arrivals: u64,
    /// The same since the last snapshot, by the number of the tasks' cgroup.
    pub(crate) group_waits: BTreeMap<u64, GroupWaits>,
    /// The part of the waits in which a quota stopped the tasks, ns, by the number of their cgroup; nothing of groups without any.
    pub(crate) quota_ns: BTreeMap<u64, u64>,
    /// On how many CPUs the tasks of each cgroup with a quota waited at a time, by the last list.
    pub(super) sharers: BTreeMap<u64, u64>,
    /// Readings in which a counter fell.
    pub(crate) backwards: u64,
    /// A task that waited for longer than it was watched.
    pub(crate) too_long: Option<String>,
}

impl Changes {
    /// Notes what a task did since it was last read, of one that exists nothing where a counter fell. Counts of 32 bits go on in `now` where
    /// they wrapped around. Returns whether a counter fell, and the time stopped by a quota that is not yet part of a wait.
    pub(super) fn note(&mut self, known: Option<&CountedTask>, now: &mut TaskCounts) -> (bool, u64) {
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
        let arrivals = now.arrivals.saturating_sub(before.arrivals);
        self.arrivals += arrivals;
        if arrivals > 0 {
            let of_group = self.group_waits.entry(now.group).or_default();
            of_group.arrivals += arrivals;
            of_group.seen.add(&waits);
        }
        self.waits.add(&waits);
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

/// For each cgroup with a quota, on how many CPUs its tasks waited at a time. It is at most as many as there are of
/// either.
pub(super) fn sharers(
    tasks: &BTreeMap<TaskKey, CountedTask>,
    listed: &[TaskCounts],
    cpus: u64,
) -> BTreeMap<u64, u64> {
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
