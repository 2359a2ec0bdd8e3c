//! Every task and what it paid, the dearest first.

use std::collections::HashMap;

use swtch_cost::{Range, TaskBill};
use swtch_trace::model::Field;
use swtch_trace::tables::TaskRow;
use swtch_trace::{fields, figures};

use super::super::page::{Block, Cell, Section, Table};
use super::super::text;
use super::{NamedTrace, Traces, answer};

/// Rows of the table; the rest is summed below it.
const MOST: usize = 200;

const HEAD: [&str; 17] = [
    "Process",
    "Thread",
    "CPU time",
    "Voluntary",
    "Involuntary",
    "Wake-ups",
    "Waited in all",
    "Wait p50",
    "p90",
    "p99",
    "Longest wait",
    "Slice p50",
    "Longest slice",
    "Migrations",
    "Working set",
    "Cost of switches",
    "Refilling caches",
];

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let mut blocks = vec![Block::paragraph(
        "The tasks whose switches cost most come first. A wait is time in which a task was ready and had no CPU; a slice is time \
         on a CPU without a switch; the working set is the memory used in one, at most. Refilling caches is a range from nothing to the most it can be.",
    )];
    for (i, named) in subjects.iter() {
        if named.trace.tasks.iter().any(|task| task.in_scope) {
            blocks.push(Block::Table(table(named, &subjects.prefixed(i, "Tasks"))));
        }
    }
    let has = |named: &NamedTrace| named.trace.tasks.iter().any(|task| task.in_scope);
    blocks.extend(subjects.lacking("tasks", |field| field.is_of(&[fields::TASKS]), has).map(Block::Notice));
    for (i, named) in subjects.iter() {
        let reasons = subjects.reasons(std::iter::once(i), |field| field.is_of(&IN_THE_TABLE));
        if has(named) && !reasons.is_empty() {
            let text = subjects.prefixed(i, "Not known of these tasks:");
            blocks.push(Block::Notice(super::Notice { text, items: reasons }));
        }
    }
    Section { id: "tasks", title: "Tasks", blocks }
}

/// Tasks that are not in the table, and its columns.
const IN_THE_TABLE: [Field; 7] = [
    fields::TASKS_SHORT_LIVED,
    fields::TASKS_WAKEUPS,
    fields::TASKS_WAIT_NS,
    fields::TASKS_WAIT_P50_NS,
    fields::TASKS_MIGRATIONS,
    fields::TASKS_SWITCH_COST_NS,
    fields::TASKS_WORKING_SET_BYTES,
];

fn table(named: &NamedTrace, title: &str) -> Table {
    let bills: HashMap<u32, &TaskBill> = named.bill.tasks.iter().map(|bill| (bill.tid, bill)).collect();
    let mut tasks: Vec<(&TaskRow, Option<&TaskBill>)> = named
        .trace
        .tasks
        .iter()
        .filter(|task| task.in_scope)
        .map(|task| (task, bills.get(&task.tid).copied()))
        .collect();
    let cost = |bill: Option<&TaskBill>| {
        let high = |range: Option<Range>| range.map_or(0.0, |range| range.high);
        bill.map_or(0.0, |bill| high(bill.direct_ns) + high(bill.indirect_ns))
    };
    // Where nothing has a price, those that switch most come first.
    tasks.sort_by(|(a, bill_a), (b, bill_b)| {
        cost(*bill_b).total_cmp(&cost(*bill_a)).then(switches(b).cmp(&switches(a))).then(a.tid.cmp(&b.tid))
    });
    let rest = tasks.split_off(tasks.len().min(MOST));
    let caption = if rest.is_empty() {
        format!("{title}: {}", text::count(tasks.len() as u64))
    } else {
        format!("{title}: the {} dearest of {}", tasks.len(), text::count((tasks.len() + rest.len()) as u64))
    };
    let mut table = Table::new(caption, &["Task"]);
    table.head.extend(HEAD.iter().map(|&title| Cell::text(title)));
    table.sortable = true;
    for (task, bill) in &tasks {
        table.row(&task.comm, cells(named, task, *bill));
    }
    if !rest.is_empty() {
        let head = format!("{} more tasks", text::count(rest.len() as u64));
        table.sum(head, sums(named, &rest));
    }
    table
}

fn switches(task: &TaskRow) -> u64 {
    task.voluntary + task.involuntary
}

fn migrations(task: &TaskRow) -> Option<u64> {
    [task.migrations_same_l2, task.migrations_same_l3, task.migrations_across].into_iter().sum()
}

fn dash() -> Cell {
    Cell::number("–")
}

fn count(value: u64) -> Cell {
    Cell::sorted(text::count(value), value as f64)
}

fn bytes(value: u64) -> Cell {
    Cell::sorted(text::bytes(value), value as f64)
}

fn time(value: u64) -> Cell {
    Cell::sorted(text::ns(value as f64), value as f64)
}

fn cells(named: &NamedTrace, task: &TaskRow, bill: Option<&TaskBill>) -> Vec<Cell> {
    let known = |value: Option<u64>| value.map_or_else(dash, time);
    // A zero that nobody counted is a gap.
    let lacks = |field: Field| named.trace.header.lacks(&field);
    vec![
        Cell::sorted(task.pid.to_string(), f64::from(task.pid)),
        Cell::sorted(task.tid.to_string(), f64::from(task.tid)),
        time(figures::cpu_ns(task)),
        count(task.voluntary),
        count(task.involuntary),
        if !lacks(fields::TASKS_WAKEUPS) { count(task.wakeups) } else { dash() },
        if !lacks(fields::TASKS_WAIT_NS) { time(task.wait_ns) } else { dash() },
        known(task.wait_p50_ns),
        known(task.wait_p90_ns),
        known(task.wait_p99_ns),
        known(task.wait_max_ns),
        known(task.slice_p50_ns),
        known(task.slice_max_ns),
        migrations(task).map_or_else(dash, count),
        task.working_set_bytes.map_or_else(dash, bytes),
        priced(bill.and_then(|bill| bill.direct_ns)),
        priced(bill.and_then(|bill| bill.indirect_ns)),
    ]
}

fn priced(range: Option<Range>) -> Cell {
    range.map_or_else(dash, |range| Cell::sorted(answer::range(range), range.high))
}

/// Sums of what can be summed; percentiles cannot.
fn sums(named: &NamedTrace, rest: &[(&TaskRow, Option<&TaskBill>)]) -> Vec<Cell> {
    let sum = |of: fn(&TaskRow) -> u64| rest.iter().map(|(task, _)| of(task)).sum::<u64>();
    let bills = |of: fn(&TaskBill) -> Option<Range>| {
        let parts: Option<Vec<Range>> = rest.iter().map(|(_, bill)| bill.and_then(of)).collect();
        parts.map(|parts| parts.into_iter().fold(Range::default(), Range::plus))
    };
    let moves: Option<u64> = rest.iter().map(|(task, _)| migrations(task)).sum();
    let lacks = |field: Field| named.trace.header.lacks(&field);
    let longest = |of: fn(&TaskRow) -> Option<u64>| {
        rest.iter().filter_map(|(task, _)| of(task)).max().map_or_else(dash, time)
    };
    vec![
        dash(),
        dash(),
        time(sum(figures::cpu_ns)),
        count(sum(|task| task.voluntary)),
        count(sum(|task| task.involuntary)),
        if !lacks(fields::TASKS_WAKEUPS) { count(sum(|task| task.wakeups)) } else { dash() },
        if !lacks(fields::TASKS_WAIT_NS) { time(sum(|task| task.wait_ns)) } else { dash() },
        dash(),
        dash(),
        dash(),
        longest(|task| task.wait_max_ns),
        dash(),
        longest(|task| task.slice_max_ns),
        moves.map_or_else(dash, count),
        dash(),
        priced(bills(|bill| bill.direct_ns)),
        priced(bills(|bill| bill.indirect_ns)),
    ]
}
