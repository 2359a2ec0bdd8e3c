//! Ended tasks that are too many for rows of their own.

use super::group_names::OTHERS;
use std::collections::BTreeMap;
use swtch_trace::tables::TaskRow;

/// So many rows at most; then tasks of one name share one, whatever their control group.
const MOST: usize = 20_000;

/// The tasks of one control group and name in one row, without a number.
#[derive(Debug, Default)]
pub(super) struct Folded(BTreeMap<(u64, String), Shared>);

#[derive(Debug, Default)]
struct Shared {
    row: TaskRow,
    tasks: u64,
}

impl Folded {
    /// Adds a task's figures to those of others of its control group and name.
    pub(super) fn add(&mut self, group: u64, row: &TaskRow) {
        let mut key = (group, row.comm.clone());
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            key.0 = OTHERS;
        }
        let shared = self.0.entry(key).or_default();
        shared.tasks += 1;
        if shared.tasks == 1 {
            shared.row = TaskRow { tid: 0, pid: 0, parent_pid: None, ..row.clone() };
        } else {
            fold(&mut shared.row, row);
        }
    }

    /// The rows, with the numbers of their control groups.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, &TaskRow)> {
        self.0.iter().map(|((group, _), shared)| (*group, &shared.row))
    }

    /// How many tasks there are beyond the rows, by control group.
    pub(super) fn more_tasks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|((group, _), shared)| (*group, shared.tasks - 1))
    }
}

/// Adds a row to the sum of others.
pub(super) fn fold(sum: &mut TaskRow, row: &TaskRow) {
    let add = |sum: &mut Option<u64>, more: Option<u64>| *sum = sum.zip(more).map(|(a, b)| a + b);
    sum.voluntary += row.voluntary;
    sum.involuntary += row.involuntary;
    sum.wakeups += row.wakeups;
    sum.run_ns += row.run_ns;
    sum.wait_ns += row.wait_ns;
    sum.waits += row.waits;
    sum.last_ns = sum.last_ns.max(row.last_ns);
    add(&mut sum.migrations_same_l2, row.migrations_same_l2);
    add(&mut sum.migrations_same_l3, row.migrations_same_l3);
    add(&mut sum.migrations_across, row.migrations_across);
    add(&mut sum.displaced, row.displaced);
    add(&mut sum.switch_cost_ns, row.switch_cost_ns);
    add(&mut sum.process_switches, row.process_switches);
    add(&mut sum.thread_switches, row.thread_switches);
    sum.wait_max_ns = sum.wait_max_ns.max(row.wait_max_ns);
    sum.slice_max_ns = sum.slice_max_ns.max(row.slice_max_ns);
    // Quantiles of several tasks cannot be made of theirs.
    (sum.wait_p50_ns, sum.wait_p90_ns, sum.wait_p99_ns, sum.slice_p50_ns) = (None, None, None, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(comm: &str, voluntary: u64) -> TaskRow {
        TaskRow { tid: 9, comm: comm.into(), voluntary, wait_max_ns: Some(voluntary), ..TaskRow::default() }
    }

    #[test]
    fn tasks_of_one_name_stay_in_their_groups() {
        let mut folded = Folded::default();
        for (group, comm, voluntary) in [(1, "sh", 5), (2, "sh", 6), (1, "sh", 7), (1, "cc", 8)] {
            folded.add(group, &row(comm, voluntary));
        }
        let rows: Vec<(u64, &str, u64, u32)> =
            folded.rows().map(|(group, row)| (group, row.comm.as_str(), row.voluntary, row.tid)).collect();
        assert_eq!(rows, [(1, "cc", 8, 0), (1, "sh", 12, 0), (2, "sh", 6, 0)]);
        assert_eq!(folded.more_tasks().collect::<Vec<_>>(), [(1, 0), (1, 1), (2, 0)]);
    }

    #[test]
    fn of_very_many_groups_those_of_one_name_share_a_row() {
        let mut folded = Folded::default();
        let groups = 1..=MOST as u64 + 100;
        groups.clone().for_each(|group| folded.add(group, &row("job", 1)));
        assert_eq!(folded.rows().count(), MOST + 1);
        assert_eq!(folded.rows().map(|(_, row)| row.voluntary).sum::<u64>(), groups.count() as u64);
    }
}
