//! Control groups, and what the tasks of each did.

use swtch_trace::tables::{CgroupRow, Merge};

use super::super::page::{Cell, Section, Table};
use super::super::text;
use super::{NamedTrace, Traces};

/// Control groups in a table; the rest is summed below it.
const MOST: usize = 200;

/// The section; nothing where every task is in the same group.
pub(super) fn section(subjects: Traces<'_>) -> Option<Section> {
    let several = |named: &NamedTrace| named.trace.cgroups.len() > 1;
    if !subjects.iter().any(|(_, named)| several(named)) {
        return None;
    }
    let intro = "Each control group has the sums of its own tasks; those of groups below it are not in them. A dash under “throttled” is a group \
                 without a quota. The waits of a throttled group include the time for which its quota stopped its tasks.";
    let mut section = Section::new("control-groups", "Control groups", intro);
    for (i, named) in subjects.iter().filter(|(_, named)| several(named)) {
        section.put([table(named, &subjects.prefixed(i, "Control groups"))]);
    }
    Some(section)
}

fn table(named: &NamedTrace, title: &str) -> Table {
    let mut rows: Vec<_> = named.trace.cgroups.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.voluntary + row.involuntary));
    let rest = rows.split_off(rows.len().min(MOST));
    let mut table = Table::new(title, "Control group").sortable();
    for row in rows {
        table.row(&row.path, cells(row));
    }
    if !rest.is_empty() {
        let mut sums = rest[0].clone();
        rest[1..].iter().for_each(|row| sums.merge(row));
        // A group without a quota was never throttled.
        sums.throttled_ns = rest.iter().filter_map(|row| row.throttled_ns).reduce(|sum, ns| sum + ns);
        table.sum(format!("{} more control groups", text::count(rest.len() as u64)), cells(&sums));
    }
    table
}

fn cells(row: &CgroupRow) -> Vec<Cell> {
    vec![
        Cell::count("Threads", row.tasks),
        Cell::time("Run time", row.run_ns),
        Cell::time("Waited in all", row.wait_ns),
        Cell::count("Voluntary", row.voluntary),
        Cell::count("Involuntary", row.involuntary),
        Cell::time("Throttled", row.throttled_ns),
    ]
}
