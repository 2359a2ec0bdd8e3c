//! Compared commands as text.

use super::paragraph;
use crate::compared::{FIGURES, answer, circumstances, name, ratio};
use swtch_decide::compare::{CommandComparison, ComparedCommand};
use swtch_units::TextTable;

/// The answer first, then the figures of each command with their intervals, then each against the first, then the circumstances.
pub fn compared(comparison: &CommandComparison) -> String {
    let mut text: String = answer(comparison).iter().map(|sentence| paragraph("", sentence, 2)).collect();
    text.push('\n');
    text.push_str(&figures(&comparison.runs));
    text.push_str(&ratios(&comparison.runs));
    text.push('\n');
    text.extend(circumstances(comparison).iter().map(|line| paragraph("", line, 2)));
    text
}

/// The medians, and below them the ends of their intervals.
fn figures(runs: &[ComparedCommand]) -> String {
    let shown: Vec<_> =
        FIGURES.iter().filter(|figure| runs.iter().any(|run| (figure.of)(run).is_some())).collect();
    let titles = ["", "command"].into_iter().chain(shown.iter().map(|figure| figure.title));
    let mut table = TextTable::new(titles).left([1]);
    for (number, run) in (1..).zip(runs) {
        let cells: Vec<_> = shown.iter().map(|figure| figure.words(run)).collect();
        let medians = cells.iter().map(|cell| cell.as_ref().map_or("n/a", |(median, _)| median).to_owned());
        table.row([number.to_string(), name(run)].into_iter().chain(medians));
        for (place, title) in ["  from", "  to"].into_iter().enumerate().filter(|_| run.count > 1) {
            let ends = cells.iter().map(|cell| match cell {
                Some((_, Some(ends))) => ends[place].clone(),
                _ => String::new(),
            });
            table.row([String::new(), title.to_owned()].into_iter().chain(ends));
        }
    }
    table.under("Medians, and from where to where their 95 % intervals reach")
}

/// Every command against the first.
fn ratios(runs: &[ComparedCommand]) -> String {
    if runs.len() < 2 {
        return String::new();
    }
    let mut table = TextTable::new(["", "figure", "ratio", "95 % interval", ""]).left([1, 4]);
    for (number, run) in (1..).zip(runs).skip(1) {
        for (place, change) in run.changes.iter().enumerate() {
            let title = FIGURES
                .iter()
                .find(|figure| figure.metric == change.metric)
                .map_or("", |figure| figure.title);
            let (ratio, interval) = ratio(change);
            let or_none = |text: Option<String>| text.unwrap_or_else(|| "n/a".to_owned());
            let number = if place == 0 { number.to_string() } else { String::new() };
            let verdict = change.verdict.name().to_owned();
            table.row([number, title.to_owned(), or_none(ratio), or_none(interval), verdict]);
        }
    }
    let heading =
        "Against 1: ratios of medians; verdicts at 95 %, corrected for all figures by Holm's method";
    format!("\n{}", table.under(heading))
}
