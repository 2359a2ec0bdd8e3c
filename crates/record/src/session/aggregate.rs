//! Ended tasks that are too many for rows of their own: aggregates of many tasks.

use super::group_names::OTHERS;
use std::collections::BTreeMap;
use swtch_trace::tables::TaskRow;

/// The most rows. Beyond that, tasks of one name share a row, whatever their cgroup.
const MOST: usize = 20_000;

/// The tasks of one cgroup and name in one row, without a number.
#[derive(Debug, Default)]
pub(super) struct Aggregates(BTreeMap<(u64, String), (Option<TaskRow>, u64)>);

impl Aggregates {
    /// Adds a task's figures to those of others of its cgroup and name.
    pub(super) fn add(&mut self, group: u64, row: &TaskRow) {
        let mut key = (group, row.comm.clone());
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            key.0 = OTHERS;
        }
        let (sum, tasks) = self.0.entry(key).or_default();
        *tasks += 1;
        aggregate(sum, row);
    }

    /// The rows, with the numbers of their cgroups.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, &TaskRow)> {
        self.0.iter().filter_map(|((group, _), (row, _))| Some((*group, row.as_ref()?)))
    }

    /// How many tasks there are beyond the rows, by cgroup.
    pub(super) fn more_tasks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|((group, _), (_, tasks))| (*group, tasks - 1))
    }
}

/// Adds a task's figures to those of many, which have no number.
fn aggregate(sum: &mut Option<TaskRow>, row: &TaskRow) {
    match sum {
        Some(sum) => sum.aggregate(row),
        None => *sum = Some(row.nameless()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(comm: &str, voluntary: u64) -> TaskRow {
        TaskRow { tid: 9, comm: comm.into(), voluntary, wait_max_ns: Some(voluntary), ..TaskRow::default() }
    }

    #[test]
    fn tasks_of_one_name_stay_in_their_groups() {
        let mut aggregates = Aggregates::default();
        for (group, comm, voluntary) in [(1, "sh", 5), (2, "sh", 6), (1, "sh", 7), (1, "cc", 8)] {
            aggregates.add(group, &row(comm, voluntary));
        }
        let rows: Vec<(u64, &str, u64, u32)> = aggregates
            .rows()
            .map(|(group, row)| (group, row.comm.as_str(), row.voluntary, row.tid))
            .collect();
        assert_eq!(rows, [(1, "cc", 8, 0), (1, "sh", 12, 0), (2, "sh", 6, 0)]);
        assert_eq!(aggregates.more_tasks().collect::<Vec<_>>(), [(1, 0), (1, 1), (2, 0)]);
    }

    #[test]
    fn of_very_many_groups_those_of_one_name_share_a_row() {
        let mut aggregates = Aggregates::default();
        let groups = 1..=MOST as u64 + 100;
        groups.clone().for_each(|group| aggregates.add(group, &row("job", 1)));
        assert_eq!(aggregates.rows().count(), MOST + 1);
        assert_eq!(aggregates.rows().map(|(_, row)| row.voluntary).sum::<u64>(), groups.count() as u64);
    }

    #[test]
    fn a_cost_that_is_not_known_of_one_task_is_not_known_of_all() {
        let mut sum = None;
        let cost = |switch_cost_ns| TaskRow { switch_cost_ns, wait_p50_ns: Some(3), ..row("sh", 1) };
        for (ns, expected) in [(Some(7), Some(7)), (Some(0), Some(7)), (None, None), (Some(1), None)] {
            aggregate(&mut sum, &cost(ns));
            assert_eq!(sum.as_ref().unwrap().switch_cost_ns, expected);
        }
        let sum = sum.unwrap();
        assert_eq!((sum.voluntary, sum.wait_p50_ns, sum.wait_max_ns), (4, None, Some(1)));
    }
}
