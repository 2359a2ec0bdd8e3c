//! Profiles compared: each figure against the first profile's, as [`swtch_profile::compare`] judges them.

use swtch_profile::compare::{Change, Comparison, compare};

use super::Profiles;
use crate::html::prelude::*;

/// The section; nothing for one profile alone.
pub(super) fn section(subjects: Profiles<'_>) -> Option<Section> {
    if !subjects.several() {
        return None;
    }
    let first = &subjects.0[0];
    let intro = format!(
        "Each figure is divided by that of {}: a ratio above 1 is slower. Its 95\u{a0}% interval comes from the differences \
         between fresh processes on the same machine. A figure is slower or faster when its interval excludes 1 after the \
         correction for the number of figures, by Holm's method.",
        first.name
    );
    let mut section = Section::new("comparison", "Side by side", intro);
    for other in &subjects.0[1..] {
        let comparison = compare(&first.document, &other.document);
        section = section
            .say(comparison.summary())
            .put(tables(&first.name, &other.name, &comparison))
            .put(circumstances(&first.name, &other.name, &comparison));
    }
    Some(section)
}

/// Switches and other operations in sight; the many figures of the curves and the ring are collapsed, because the charts show them.
fn tables(first: &str, other: &str, comparison: &Comparison) -> Vec<Block> {
    let curve = |change: &&Change| change.what.starts_with("c2,") || change.what.starts_with("ring of");
    let (many, main): (Vec<&Change>, Vec<&Change>) = comparison.changes.iter().partition(curve);
    let mut blocks = Vec::new();
    if comparison.changes.is_empty() {
        blocks.push(format!("{first} and {other} share no figure.").into());
    }
    blocks.push(table(first, other, "switches and other operations", &main).into());
    let summary = format!("{} figures of the curves and the ring", many.len());
    blocks.extend(Block::folded(summary, table(first, other, "curves and ring", &many)));
    for (whose, only) in [(first, &comparison.only_old), (other, &comparison.only_new)] {
        if !only.is_empty() {
            let items = only.iter().take(MOST_LISTED).cloned();
            let rest = only.len().saturating_sub(MOST_LISTED);
            let more = (rest > 0).then(|| format!("and {rest} more"));
            let figures =
                if only.len() == 1 { "one figure".to_owned() } else { format!("{} figures", only.len()) };
            let text = format!("Only {whose} has {figures}:");
            blocks.push(Notice::new(text, items.chain(more).collect()).into());
        }
    }
    blocks
}

/// Two presets can differ by hundreds of figures; the charts show which.
const MOST_LISTED: usize = 8;

fn table(first: &str, other: &str, what: &str, changes: &[&Change]) -> Table {
    let rows = changes.iter().map(|change| TableRow::new(&change.what, cells(first, other, change)));
    Table::new(format!("{other} against {first}: {what}"), "Figure", rows)
}

fn cells(first: &str, other: &str, change: &Change) -> Vec<Cell> {
    let ratio = |value| ratio(value, change.ratio_decimals());
    let interval = change.ratio_low.zip(change.ratio_high);
    let reason = change.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    vec![
        Cell::number(first.to_owned(), text::ns(change.old_ns)),
        Cell::number(other.to_owned(), text::ns(change.new_ns)),
        Cell::or_dash("Ratio", change.ratio.filter(|_| interval.is_some()).map(ratio)),
        Cell::or_dash(
            "95\u{a0}% interval",
            interval.map(|(low, high)| format!("{} to {}", ratio(low), ratio(high))),
        ),
        Cell::text("Verdict", format!("{}{reason}", change.verdict.words())),
    ]
}

/// With three digits, and with as many decimals as it takes to tell an interval from 1.
fn ratio(value: f64, decimals: usize) -> String {
    let digits = match value {
        v if v < 0.1995 => decimals.max(3),
        v if v < 9.995 => decimals,
        _ => 1,
    };
    format!("{value:.digits$}×")
}

fn circumstances(first: &str, other: &str, comparison: &Comparison) -> Option<Notice> {
    if comparison.circumstances.is_empty() {
        return None;
    }
    let text =
        format!("What else differs from {first} to {other}; any of it may explain a difference above:");
    let items = comparison.circumstances.iter().map(|line| line.replace(" -> ", " → ")).collect();
    Some(Notice::new(text, items))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_three_digits() {
        assert_eq!(
            [0.1042, 0.714, 1.0, 12.34].map(|value| ratio(value, 2)),
            ["0.104×", "0.71×", "1.00×", "12.3×"]
        );
        assert_eq!(ratio(1.0004, 4), "1.0004×");
    }
}
