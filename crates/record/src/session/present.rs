//! The tasks that are counted and have not ended.

use crate::sources::counts::{TaskCounts, TaskKey};
use std::collections::{HashMap, HashSet};

/// Where ends were lost, a task that the kernel has not listed for so long has ended, ns.
const GIVEN_UP_NS: u64 = 10_000_000_000;

/// The tasks as the kernel last listed them, and those that are on their way out. A task that exits is taken off the kernel's list when it is
/// collected, and may then wait for a CPU to leave the last one for good, which is when its end is counted. Between the two it is as it was
/// when it was last listed: without it, sums would fall.
#[derive(Debug, Default)]
pub(super) struct Present {
    tasks: Vec<TaskCounts>,
    /// Tasks that are not listed any more, and since when, ns.
    unlisted: HashMap<TaskKey, u64>,
}

impl Present {
    pub(super) fn tasks(&self) -> &[TaskCounts] {
        &self.tasks
    }

    /// Takes the kernel's list. Returns tasks that have ended without a word of it, which happens only where `ends_were_lost`.
    pub(super) fn list(
        &mut self,
        listed: Vec<TaskCounts>,
        now_ns: u64,
        ends_were_lost: bool,
    ) -> Vec<TaskCounts> {
        let keys: HashSet<TaskKey> = listed.iter().map(TaskCounts::key).collect();
        let before = std::mem::replace(&mut self.tasks, listed);
        let since = std::mem::take(&mut self.unlisted);
        let mut over = Vec::new();
        for task in before.into_iter().filter(|task| !keys.contains(&task.key())) {
            let since_ns = since.get(&task.key()).copied().unwrap_or(now_ns);
            if ends_were_lost && now_ns.saturating_sub(since_ns) >= GIVEN_UP_NS {
                over.push(task);
            } else {
                self.unlisted.insert(task.key(), since_ns);
                self.tasks.push(task);
            }
        }
        over
    }

    /// Takes out tasks whose ends were counted.
    pub(super) fn remove(&mut self, ended: &[TaskCounts]) {
        let gone: HashSet<TaskKey> = ended.iter().map(TaskCounts::key).collect();
        self.tasks.retain(|task| !gone.contains(&task.key()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: u32, tid: u32, first_ns: u64, voluntary: u64) -> TaskCounts {
        TaskCounts { tid, pid, first_ns, voluntary, ..TaskCounts::default() }
    }

    fn sum(present: &Present) -> u64 {
        present.tasks().iter().map(|task| task.voluntary).sum()
    }

    #[test]
    fn a_task_on_its_way_out_stays_until_its_end_is_counted() {
        let mut present = Present::default();
        let leaving = || task(2, 2, 20, 5);
        assert!(present.list(vec![task(1, 1, 10, 3), leaving()], 0, false).is_empty());
        // However long it waits: its end will be counted.
        for round in 1..5 {
            assert!(present.list(vec![task(1, 1, 10, 3 + round)], round * GIVEN_UP_NS, false).is_empty());
            assert_eq!(sum(&present), 8 + round);
        }
        present.remove(&[task(2, 2, 20, 6)]);
        assert_eq!(sum(&present), 7);
        present.list(vec![task(1, 1, 10, 7)], 5 * GIVEN_UP_NS, false);
        assert_eq!(present.tasks(), [task(1, 1, 10, 7)]);
    }

    #[test]
    fn a_thread_that_executes_another_program_is_counted_once() {
        let mut present = Present::default();
        present.list(vec![task(1, 1, 10, 3), task(1, 7, 17, 4)], 0, false);
        // The first thread has ended, and the other has its number.
        present.remove(&[task(1, 1, 10, 3)]);
        present.list(vec![task(1, 1, 17, 5)], 1, false);
        assert_eq!(present.tasks(), [task(1, 1, 17, 5)]);
    }

    #[test]
    fn where_ends_were_lost_a_task_is_given_up_once_and_after_a_time() {
        let mut present = Present::default();
        present.list(vec![task(2, 2, 20, 5)], 0, true);
        assert!(present.list(Vec::new(), 100, true).is_empty());
        assert!(present.list(Vec::new(), GIVEN_UP_NS + 99, true).is_empty());
        assert_eq!(present.list(Vec::new(), GIVEN_UP_NS + 100, true), [task(2, 2, 20, 5)]);
        assert!(present.tasks().is_empty() && present.unlisted.is_empty());
        assert!(present.list(Vec::new(), 3 * GIVEN_UP_NS, true).is_empty());
    }
}
