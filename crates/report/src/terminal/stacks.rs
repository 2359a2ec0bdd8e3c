//! Which code switches: the functions with most switches.

use super::paragraph;
use crate::stacks::FIELDS;
use crate::wording::text::count as grouped;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use swtch_trace::TraceView;
use swtch_trace::tables::{Merge, StackReason, StackRow};
use swtch_units::{TextTable, format_ns, shortened};

/// Functions shown; the page and `--json` have all stacks.
const SHOWN: usize = 6;
/// Columns of a function's name.
const NAME: usize = 45;

/// The functions with most switches, and what is missing in the stacks; nothing where none were asked for.
pub(super) fn stacks(trace: TraceView<'_>) -> String {
    let mut text = String::new();
    if !trace.stacks.is_empty() {
        text.push_str(&functions(&trace.stacks));
    }
    for missing in &trace.header.unavailable {
        if missing.field.is_of(&FIELDS) {
            text.push_str(&paragraph("", &format!("Stacks: {}.", missing.reason), 2));
        }
    }
    text
}

fn functions(rows: &[StackRow]) -> String {
    let mut sums: BTreeMap<(&str, &str, StackReason), StackRow> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry((&row.function, &row.task, row.reason));
        sum.and_modify(|sum| sum.merge(row)).or_insert_with(|| row.clone());
    }
    let mut sorted: Vec<_> = sums.into_iter().collect();
    // Wake-ups are not switches: they come last.
    sorted.sort_by_key(|((_, _, reason), sum)| (*reason == StackReason::Wake, Reverse(sum.switches)));
    let mut table = TextTable::new(["function", "task", "reason", "switches", "off CPU", "waited", "cost"])
        .left([0, 1, 2]);
    let time = |ns: u64| format_ns(ns as f64);
    for ((function, task, reason), sum) in sorted.iter().take(SHOWN) {
        table.row([
            shortened(function, NAME),
            (*task).to_owned(),
            reason.name().to_owned(),
            grouped(sum.switches),
            time(sum.off_cpu_ns),
            time(sum.wait_ns),
            sum.cost_ns.map_or_else(|| "n/a".to_owned(), time),
        ]);
    }
    let more = sorted.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" ({more} more in the Trace)") } else { String::new() };
    table.under(&format!(
        "Code that switches most{more}; off CPU: until it ran again, waited: of it, ready and no CPU free"
    ))
}
