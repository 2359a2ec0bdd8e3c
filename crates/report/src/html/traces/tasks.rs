//! Every task and what it paid, the dearest first.

use std::collections::HashMap;

use swtch_cost::{Range, TaskBill};
use swtch_trace::model::Field;
use swtch_trace::tables::{Merge, TaskRow};
use swtch_trace::{fields, figures};

use super::{PricedTrace, Traces, answer};
use crate::html::prelude::*;

/// Rows of the table; the rest is summed below it.
const MOST: usize = 200;

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let intro = "The tasks whose switches cost most come first. A wait is time in which a task was ready \
         and had no CPU. A slice is time on a CPU without a switch. The working set is the memory used in \
         one, at most. Refilling caches is a range from nothing to the most it can be.";
    let has = |priced: &PricedTrace| priced.trace.tasks.iter().any(|task| task.in_scope);
    Section::new("tasks", "Tasks", intro)
        .put(subjects.iter().map(|one| table(one.of, &one.prefixed("Tasks"))))
        .put(subjects.lacking("tasks", &[fields::TASKS], has))
        .put(subjects.iter().filter(|one| has(one.of)).filter_map(|one| {
            let reasons = one.reasons(&IN_THE_TABLE);
            (!reasons.is_empty()).then(|| Notice::new(one.prefixed("Not known of these tasks:"), reasons))
        }))
}

/// A task and its bill.
type TaskOf<'a> = (&'a TaskRow, Option<&'a TaskBill>);

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

fn table(priced: &PricedTrace, title: &str) -> Table {
    let bills: HashMap<u32, &TaskBill> = priced.bill.tasks.iter().map(|bill| (bill.tid, bill)).collect();
    let tasks = priced.trace.tasks.iter().filter(|task| task.in_scope);
    let mut tasks: Vec<TaskOf<'_>> = tasks.map(|task| (task, bills.get(&task.tid).copied())).collect();
    let cost = |bill: Option<&TaskBill>| {
        let high = |range: Option<Range>| range.map_or(0.0, |range| range.high);
        bill.map_or(0.0, |bill| high(bill.direct_ns) + high(bill.indirect_ns))
    };
    // Where nothing has a price, those that switch most come first.
    tasks.sort_by(|(a, bill_a), (b, bill_b)| {
        cost(*bill_b).total_cmp(&cost(*bill_a)).then(switches(b).cmp(&switches(a))).then(a.tid.cmp(&b.tid))
    });
    let rest = tasks.split_off(tasks.len().min(MOST));
    let all = text::count((tasks.len() + rest.len()) as u64);
    let shown = if rest.is_empty() { all } else { format!("the {} costliest of {all}", tasks.len()) };
    let rows = tasks.iter().map(|(task, bill)| TableRow::new(&task.comm, cells(priced, task, *bill)));
    let head = format!("{} more tasks", text::count(rest.len() as u64));
    let sums = rest.first().map(|(first, _)| TableRow::new(head, sums(priced, first, &rest)));
    Table::new(format!("{title}: {shown}"), "Task", rows).sortable().sums(sums)
}

fn switches(task: &TaskRow) -> u64 {
    task.voluntary + task.involuntary
}

fn migrations(task: &TaskRow) -> Option<u64> {
    [task.migrations_same_l2, task.migrations_same_l3, task.migrations_across].into_iter().sum()
}

fn cells(priced: &PricedTrace, task: &TaskRow, bill: Option<&TaskBill>) -> Vec<Cell> {
    let number =
        |title: &'static str, number: u32| Cell::sorted(title, number.to_string(), f64::from(number));
    let cpu_ns = Cell::time("CPU time", figures::cpu_ns(task));
    let mut cells = vec![number("Process", task.pid), number("Thread", task.tid), cpu_ns];
    let (direct_ns, indirect_ns) = bill.map_or((None, None), |bill| (bill.direct_ns, bill.indirect_ns));
    cells.extend(figure_cells(priced, task, direct_ns, indirect_ns));
    cells
}

/// The cells of what a task, or several, did and paid.
fn figure_cells(
    priced: &PricedTrace,
    task: &TaskRow,
    direct_ns: Option<Range>,
    indirect_ns: Option<Range>,
) -> Vec<Cell> {
    // A zero that was not counted is shown as a gap.
    let counted = |field: Field, value: u64| (!priced.trace.header.lacks(&field)).then_some(value);
    vec![
        Cell::count("Voluntary", task.voluntary),
        Cell::count("Involuntary", task.involuntary),
        Cell::count("Wake-ups", counted(fields::TASKS_WAKEUPS, task.wakeups)),
        Cell::time("Waited in all", counted(fields::TASKS_WAIT_NS, task.wait_ns)),
        Cell::time("Wait p50", task.wait_p50_ns),
        Cell::time("p90", task.wait_p90_ns),
        Cell::time("p99", task.wait_p99_ns),
        Cell::time("Longest wait", task.wait_max_ns),
        Cell::time("Slice p50", task.slice_p50_ns),
        Cell::time("Longest slice", task.slice_max_ns),
        Cell::count("Migrations", migrations(task)),
        Cell::bytes("Working set", task.working_set_bytes),
        range_cell("Cost of switches", direct_ns),
        range_cell("Refilling caches", indirect_ns),
    ]
}

fn range_cell(title: &'static str, range: Option<Range>) -> Cell {
    range.map_or_else(|| Cell::dash(title), |range| Cell::sorted(title, answer::range(range), range.high))
}

/// Sums of what can be summed; percentiles cannot.
fn sums(priced: &PricedTrace, first: &TaskRow, rest: &[TaskOf<'_>]) -> Vec<Cell> {
    let mut all = first.clone();
    rest[1..].iter().for_each(|(task, _)| all.merge(task));
    all.working_set_bytes = None;
    let cpu_ns = rest.iter().map(|(task, _)| figures::cpu_ns(task)).sum::<u64>();
    let bills = |of: fn(&TaskBill) -> Option<Range>| {
        let parts: Option<Vec<Range>> = rest.iter().map(|(_, bill)| bill.and_then(of)).collect();
        parts.map(|parts| parts.into_iter().fold(Range::default(), Range::plus))
    };
    let mut cells = vec![Cell::dash("Process"), Cell::dash("Thread"), Cell::time("CPU time", cpu_ns)];
    cells.extend(figure_cells(priced, &all, bills(|bill| bill.direct_ns), bills(|bill| bill.indirect_ns)));
    cells
}
