//! Cgroups, and what the tasks of each did.

use std::cmp::Reverse;

use swtch_trace::tables::{CgroupRow, Merge};

use super::Traces;
use crate::html::prelude::*;

/// Cgroups in a table; the rest is summed below it.
const MOST: usize = 200;

/// The section; nothing where every task is in the same group.
pub(super) fn section(subjects: Traces<'_>) -> Option<Section> {
    let intro = "Each cgroup has the sums of its own tasks, without those of cgroups below it. A dash under “throttled” is a cgroup \
                 without a quota. The waits of a throttled cgroup include the time for which its quota stopped its tasks.";
    let several = subjects.iter().filter(|one| one.of.trace.cgroups.len() > 1);
    Section::new("cgroups", "Cgroups", intro)
        .put(several.map(|one| table(&one.of.trace.cgroups, &one.prefixed("Cgroups"))))
        .unless_empty()
}

fn table(cgroups: &[CgroupRow], title: &str) -> Table {
    let mut rows: Vec<&CgroupRow> = cgroups.iter().collect();
    rows.sort_by_key(|row| Reverse(row.voluntary + row.involuntary));
    let rest = rows.split_off(rows.len().min(MOST));
    let sums = rest.first().map(|first| {
        let mut sums = (*first).clone();
        rest[1..].iter().for_each(|row| sums.merge(row));
        sums.path.clear();
        // A group without a quota was never throttled.
        sums.throttled_ns = rest.iter().filter_map(|row| row.throttled_ns).reduce(|sum, ns| sum + ns);
        TableRow::new(format!("{} more cgroups", text::count(rest.len() as u64)), cells(&sums))
    });
    let rows = rows.into_iter().map(|row| TableRow::new(row.shown_name(), cells(row)));
    Table::new(title, "Cgroup", rows).sortable().sums(sums)
}

fn cells(row: &CgroupRow) -> Vec<Cell> {
    vec![
        Cell::count("Threads", row.tasks),
        Cell::time("Run time", row.run_ns),
        Cell::time("Waited in all", row.wait_ns),
        Cell::count("Voluntary", row.voluntary),
        Cell::count("Involuntary", row.involuntary),
        Cell::time("Throttled", row.throttled_ns),
        Cell::text("Path", if row.path.starts_with('/') { &row.path } else { "" }),
    ]
}
