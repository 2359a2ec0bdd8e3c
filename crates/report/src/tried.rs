//! Tried settings in words: for the terminal and the page.

use crate::compared::digits;
use swtch_decide::remedies::{Goal, TriedCandidate, TriedSettings};
use swtch_decide::{Change, Verdict};

/// What to keep, and what it changes.
pub(crate) fn answer(found: &TriedSettings) -> String {
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

/// The goal's figure in words.
pub(crate) fn goal(goal: Goal) -> &'static str {
    match goal {
        Goal::Time => "time from start to end",
        Goal::CpuTime => "CPU time",
        Goal::Switches => "number of context switches",
    }
}

/// Where the figures are of a virtual machine.
pub(crate) fn place(found: &TriedSettings) -> Option<String> {
    let how = match found.vm.as_deref()? {
        "kvm" => "",
        _ => ", whose CPUs are emulated",
    };
    Some(format!(
        "In a virtual machine{how}: the times and the cgroups are that machine's, and so is the choice."
    ))
}

/// Why nothing is predicted of a setting, or that what was predicted was wrong.
pub(crate) fn prediction_note(one: &TriedCandidate) -> Option<String> {
    let Some(ratio) = one.predicted_ratio else {
        return Some(format!("{}: {}.", one.what, one.predicted_by));
    };
    (one.prediction_holds == Some(false)).then(|| {
        let (ratio, by) = (digits(ratio), &one.predicted_by);
        format!("The prediction of {ratio} for {} was wrong; it came from {by}.", one.what)
    })
}
