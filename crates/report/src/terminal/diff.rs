//! What differs between two sides, as text.

use super::paragraph;
use crate::wording::diff::{figures, signed, within};
use swtch_decide::{Diff, Difference, LimitResult};
use swtch_units::TextTable;

/// The verdict first, then every figure, then the tasks, pairs and functions that differ, then what else does.
pub fn diff(diff: &Diff) -> String {
    let mut text = paragraph("", &diff.answer, 0);
    text.extend(diff.limits.iter().map(|limit| paragraph("", &outcome(limit), 2)));
    let mut table = TextTable::new(["figure", "old", "new", "ratio", "95 % interval", ""]).left([5]);
    for change in &diff.changes {
        let ratio = |value: f64| format!("{value:.3}");
        table.row([
            change.metric.clone(),
            change.show(change.old),
            change.show(change.new),
            change.ratio.map_or_else(|| "-".to_owned(), ratio),
            within(change.ci_low, change.ci_high, ratio).unwrap_or_else(|| "-".to_owned()),
            change.verdict.name().to_owned(),
        ]);
    }
    text.push('\n');
    text.push_str(&table.under(&figures(diff)));
    let mut table =
        TextTable::new(["task", "by", "in", "figure", "old", "new", "difference", "95 % interval"]);
    table = table.left([1, 2, 3]);
    diff.who.iter().for_each(|row| table.row(who(row)));
    if !diff.who.is_empty() {
        text.push('\n');
        text.push_str(&table.under("Tasks, pairs and functions that differ most"));
    }
    if !diff.circumstances.is_empty() {
        text.push_str("\nDifferent circumstances, which may explain any change:\n");
        text.extend(diff.circumstances.iter().map(|line| paragraph("  ", line, 4)));
    }
    if !diff.notes.is_empty() {
        text.push('\n');
        text.extend(diff.notes.iter().map(|note| paragraph("", &format!("Note: {note}"), 2)));
    }
    text
}

fn outcome(limit: &LimitResult) -> String {
    let holds = if limit.holds { "holds, so the exit status is 3" } else { "does not hold" };
    format!("--fail-if '{}' {holds}: {}.", limit.limit, limit.change.words())
}

fn who(row: &Difference) -> [String; 8] {
    let show = |value| swtch_decide::show(&row.unit, value);
    let signed = |value| signed(&row.unit, value);
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    [
        row.task.clone(),
        or_dash(&row.peer),
        or_dash(&row.function),
        row.metric.clone(),
        show(row.old),
        show(row.new),
        signed(row.difference),
        within(row.ci_low, row.ci_high, signed).unwrap_or_else(|| "-".to_owned()),
    ]
}
