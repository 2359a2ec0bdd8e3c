//! Sums over the tasks that exist, kept as single tasks change: most of thousands sleep, and no reading visits those.

use crate::sources::counts::TaskCounts;
use std::collections::BTreeMap;
use swtch_trace::accumulate::Sums;

/// The tasks that exist, together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Living {
    /// What they did.
    pub(super) sums: Sums,
    /// How many of them are processes.
    pub(super) processes: u64,
    /// How many are in each cgroup, by its number.
    pub(super) groups: BTreeMap<u64, u64>,
}

impl Living {
    /// A task is there, or is there again after a change.
    pub(super) fn enter(&mut self, task: &TaskCounts) {
        add(&mut self.sums, task);
        self.processes += u64::from(task.tid == task.pid);
        *self.groups.entry(task.group).or_default() += 1;
    }

    /// A task that was there is not, or is about to change.
    pub(super) fn leave(&mut self, task: &TaskCounts) {
        self.sums.voluntary -= task.voluntary;
        self.sums.involuntary -= task.involuntary;
        self.sums.run_ns -= task.run_ns;
        self.sums.migrations.across -= moves(task);
        self.processes -= u64::from(task.tid == task.pid);
        if let Some(tasks) = self.groups.get_mut(&task.group) {
            *tasks -= 1;
            if *tasks == 0 {
                self.groups.remove(&task.group);
            }
        }
    }
}

/// Adds a task's sums. All its moves are in one of the three: their levels are known of all tasks together.
pub(super) fn add(sums: &mut Sums, task: &TaskCounts) {
    sums.voluntary += task.voluntary;
    sums.involuntary += task.involuntary;
    sums.run_ns += task.run_ns;
    sums.migrations.across += moves(task);
}

/// A move that no switch follows is none of the task's.
fn moves(task: &TaskCounts) -> u64 {
    task.moves.min(task.arrivals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_follow_each_task_and_a_group_without_tasks_is_none() {
        let task = |tid, voluntary, group| TaskCounts {
            tid,
            pid: 1,
            voluntary,
            involuntary: 1,
            run_ns: 10 * voluntary,
            moves: 9,
            arrivals: voluntary,
            group,
            ..TaskCounts::default()
        };
        let mut living = Living::default();
        living.enter(&task(1, 5, 7));
        living.enter(&task(2, 6, 7));
        living.leave(&task(2, 6, 7));
        living.enter(&task(2, 11, 8));
        let sums = &living.sums;
        assert_eq!((sums.voluntary, sums.involuntary, sums.run_ns), (16, 2, 160));
        assert_eq!((sums.migrations.across, living.processes), (5 + 9, 1));
        assert_eq!(living.groups, [(7, 1), (8, 1)].into());
        living.leave(&task(1, 5, 7));
        living.leave(&task(2, 11, 8));
        assert_eq!(living, Living::default());
    }
}
