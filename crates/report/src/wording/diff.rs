//! A difference in words: the same ones in the terminal and on the page.

use swtch_decide::Diff;

/// What the figures of a difference are.
pub(crate) fn figures(diff: &Diff) -> String {
    let amounts = match diff.amounts_per.as_deref() {
        Some("second") => "amounts a second, because what was recorded goes on",
        Some(_) => "amounts of a run, because what was recorded ends",
        None => "medians",
    };
    let runs = |count: usize| if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
    format!("Figures: {amounts}; {} old, {} new", runs(diff.old.runs), runs(diff.new.runs))
}

/// Both ends of an interval.
pub(crate) fn within(low: Option<f64>, high: Option<f64>, show: impl Fn(f64) -> String) -> Option<String> {
    low.zip(high).map(|(low, high)| format!("{} to {}", show(low), show(high)))
}

/// A difference with its sign.
pub(crate) fn signed(unit: &str, value: f64) -> String {
    let sign = if value < 0.0 { '-' } else { '+' };
    format!("{sign}{}", swtch_decide::show(unit, value.abs()))
}
