//! Settings that were tried, as text.

use super::paragraph;
use crate::compared::{circumstances, digits};
use swtch_decide::remedies::{Goal, TriedCandidate, TriedSettings};
use swtch_decide::{Change, Verdict};
use swtch_units::TextTable;

/// What to keep first, then what was predicted and measured of each setting, then what was not tried.
pub fn tried(found: &TriedSettings) -> String {
    let mut text = paragraph("", &answer(found), 2);
    text.push_str(&format!("\n  {}\n\n", found.keep));
    text.push_str(&candidates(found));
    for one in &found.candidates {
        if let Some(line) = wrong_prediction(one) {
            text.push_str(&paragraph("", &line, 2));
        }
    }
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
    text.extend(circumstances(&found.comparison).iter().map(|line| paragraph("", line, 2)));
    text
}

fn answer(found: &TriedSettings) -> String {
    let Some(kept) = found.kept() else {
        return format!(
            "No setting that was tried makes the {} smaller; keep the command as it is:",
            goal(found.goal)
        );
    };
    let place = found.candidates.iter().position(|one| one.what == kept.what).map_or(0, |place| place + 1);
    let changes = found.comparison.runs.get(place).map(|run| run.changes.as_slice()).unwrap_or_default();
    let shown = changes.iter().filter(|change| change.decides() && change.verdict != Verdict::Unclear);
    let words: Vec<String> =
        shown.filter(|change| change.verdict != Verdict::Same).map(Change::words).collect();
    format!("Keep {}: {}.", kept.what, words.join(", "))
}

fn goal(goal: Goal) -> &'static str {
    match goal {
        Goal::Time => "time from start to end",
        Goal::CpuTime => "CPU time",
        Goal::Switches => "number of context switches",
    }
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

fn wrong_prediction(one: &TriedCandidate) -> Option<String> {
    let ratio = one.predicted_ratio.filter(|_| one.prediction_holds == Some(false))?;
    Some(format!(
        "The prediction of {} for {} was wrong; it came from {}.",
        digits(ratio),
        one.what,
        one.predicted_by
    ))
}
