//! What differs between two sides, as text.

use super::paragraph;
use crate::wording::caveats;
use crate::wording::diff::{figures, signed, within};
use swtch_decide::{Change, Diff, Difference, LimitResult};
use swtch_units::TextTable;

/// The verdict first, then every figure, then the tasks, pairs and functions that differ, then what else does.
pub fn diff(diff: &Diff) -> String {
    let mut text = paragraph("", &diff.answer, 0);
    for (side, name) in [(&diff.old, "the old Profile"), (&diff.new, "the new Profile")] {
        text.push_str(&caveats::notes(&side.caveats, "Note:", name));
    }
    text.extend(diff.limits.iter().map(|limit| paragraph("", &outcome(limit), 2)));
    let mut table = TextTable::new(["figure", "old", "new", "ratio", "95 % interval", ""]).left([5]);
    for change in &diff.changes {
        let decimals = change.ratio_decimals();
        let ratio = |value: f64| format!("{value:.decimals$}");
        table.row([
            figure(&change.metric),
            change.show(change.old),
            change.show(change.new),
            change.ratio.map_or_else(|| "-".to_owned(), ratio),
            within(change.ci_low, change.ci_high, ratio).unwrap_or_else(|| "-".to_owned()),
            change.verdict.name().to_owned(),
        ]);
    }
    text.push('\n');
    text.push_str(&table.under(&figures(diff)));
    text.push_str(&undecided(&diff.changes));
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

/// A figure's name without what most of a Profile share, so that the longest leaves room for its numbers.
fn figure(name: &str) -> String {
    let name = name.strip_prefix("switch, ").unwrap_or(name);
    let name = name.strip_suffix(", normal").unwrap_or(name);
    let name = name.replace(" (performance core)", " (P)").replace(" (efficiency core)", " (E)");
    name.replace("other-core-kind", "other-kind")
}

/// The figures of which nothing can be decided, and why; nothing where that is so of all, which the verdict says.
fn undecided(changes: &[Change]) -> String {
    let found: Vec<&Change> = changes.iter().filter(|change| change.p_holm.is_none()).collect();
    if found.len() == changes.len() {
        return String::new();
    }
    let reasons = found.iter().filter_map(|change| {
        let reason = change.reason.as_ref()?;
        Some(paragraph("  ", &format!("{}: {reason}", figure(&change.metric)), 4))
    });
    let lines: String = reasons.collect();
    if lines.is_empty() { lines } else { format!("\nCannot be decided:\n{lines}") }
}

fn outcome(limit: &LimitResult) -> String {
    let holds = if limit.holds { "holds, so the exit status is 3" } else { "does not hold" };
    match &limit.change {
        Some(change) => format!("--fail-if '{}' {holds}: {}.", limit.limit, change.words()),
        None => format!("--fail-if {} {holds}.", limit.limit),
    }
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
