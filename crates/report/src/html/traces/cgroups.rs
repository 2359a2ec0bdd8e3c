//! Control groups, and what the tasks of each did.

use swtch_trace::tables::CgroupRow;

use super::super::page::{Block, Cell, Section, Table};
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
    let mut blocks = vec![Block::paragraph(
        "Each control group has the sums of its own tasks; those of groups below it are not in them. A dash under “throttled” is a group \
         without a quota. The waits of a throttled group include the time for which its quota stopped its tasks.",
    )];
    for (i, named) in subjects.iter().filter(|(_, named)| several(named)) {
        blocks.push(Block::Table(table(named, &subjects.prefixed(i, "Control groups"))));
    }
    Some(Section { id: "control-groups", title: "Control groups", blocks })
}

fn table(named: &NamedTrace, title: &str) -> Table {
    let columns = ["Threads", "Run time", "Waited in all", "Voluntary", "Involuntary", "Throttled"];
    let mut rows: Vec<_> = named.trace.cgroups.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.voluntary + row.involuntary));
    let rest = rows.split_off(rows.len().min(MOST));
    let mut table = Table::new(title, &["Control group"]);
    table.head.extend(columns.iter().map(|&column| Cell::text(column)));
    table.sortable = true;
    let count = |value: u64| Cell::sorted(text::count(value), value as f64);
    let time = |ns: u64| Cell::sorted(text::ns(ns as f64), ns as f64);
    let throttled = |ns: Option<u64>| ns.map_or_else(|| Cell::number("–"), time);
    for row in rows {
        let (run, wait) = (time(row.run_ns), time(row.wait_ns));
        let switches = (count(row.voluntary), count(row.involuntary));
        let cells = vec![count(row.tasks), run, wait, switches.0, switches.1, throttled(row.throttled_ns)];
        table.row(&row.path, cells);
    }
    if !rest.is_empty() {
        let sum = |of: fn(&CgroupRow) -> u64| rest.iter().map(|row| of(row)).sum::<u64>();
        let cells = vec![
            count(sum(|row| row.tasks)),
            time(sum(|row| row.run_ns)),
            time(sum(|row| row.wait_ns)),
            count(sum(|row| row.voluntary)),
            count(sum(|row| row.involuntary)),
            throttled(rest.iter().filter_map(|row| row.throttled_ns).reduce(|sum, ns| sum + ns)),
        ];
        table.sum(format!("{} more control groups", text::count(rest.len() as u64)), cells);
    }
    table
}
