//! Tasks by number and moment: the kernel uses numbers again.

use std::collections::HashMap;
use swtch_trace::tables::TaskRow;

/// Names of tasks.
#[derive(Debug)]
pub(super) struct Names<'a> {
    tasks: HashMap<u32, Vec<&'a TaskRow>>,
}

impl<'a> Names<'a> {
    pub(super) fn of(rows: &'a [TaskRow]) -> Self {
        let mut tasks: HashMap<u32, Vec<&TaskRow>> = HashMap::new();
        for row in rows {
            tasks.entry(row.tid).or_default().push(row);
        }
        for rows in tasks.values_mut() {
            rows.sort_by_key(|row| row.first_ns);
        }
        Self { tasks }
    }

    /// The task that had this number at a moment.
    pub(super) fn task(&self, tid: u32, at_ns: u64) -> Option<&'a TaskRow> {
        let rows = self.tasks.get(&tid)?;
        let begun = rows.partition_point(|row| row.first_ns <= at_ns);
        rows.get(begun.saturating_sub(1)).copied()
    }
}
