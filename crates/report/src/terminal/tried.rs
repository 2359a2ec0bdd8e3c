//! Settings that were tried, as text.

use super::paragraph;
use crate::compared::{circumstances, digits};
use crate::tried::{answer, goal, place, prediction_note};
use swtch_decide::remedies::TriedSettings;
use swtch_units::TextTable;

/// What to keep first, then what was predicted and measured of each setting, then what was not tried.
pub fn tried(found: &TriedSettings) -> String {
    let mut text = paragraph("", &answer(found), 2);
    text.push_str(&format!("\n  {}\n\n", found.keep));
    text.push_str(&candidates(found));
    let lines = found.candidates.iter().filter_map(prediction_note);
    text.extend(lines.map(|line| paragraph("", &line, 2)));
    if !found.advice.is_empty() {
        text.push_str("\nIn the recording:\n");
        let lines = found.advice.iter().map(|one| format!("{}: {}", one.what, one.evidence));
        text.extend(lines.map(|line| paragraph("  ", &line, 4)));
    }
    if !found.not_tried.is_empty() {
        text.push_str("\nNot tried:\n");
        let lines = found.not_tried.iter().map(|one| format!("{}: {}", one.what, one.why));
        text.extend(lines.map(|line| paragraph("  ", &line, 4)));
    }
    text.push('\n');
    let lines = circumstances(&found.comparison).into_iter().chain(place(found));
    text.extend(lines.map(|line| paragraph("", &line, 2)));
    text
}

fn candidates(found: &TriedSettings) -> String {
    let mut table =
        TextTable::new(["setting", "predicted", "measured", "95 % interval", "", "because"]).left([4, 5]);
    for one in &found.candidates {
        let or_none = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), digits);
        let interval = match (one.ci_low, one.ci_high) {
            (Some(low), Some(high)) => format!("{} to {}", digits(low), digits(high)),
            _ => "n/a".to_owned(),
        };
        table.row([
            one.what.clone(),
            or_none(one.predicted_ratio),
            or_none(one.measured_ratio),
            interval,
            one.verdict.name().to_owned(),
            one.because.clone().unwrap_or_default(),
        ]);
    }
    let heading = format!("The {} with each setting over that without", goal(found.goal));
    table.under(&heading)
}
