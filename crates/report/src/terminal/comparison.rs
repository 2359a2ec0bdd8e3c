//! Two Profiles side by side, as text.

use super::paragraph;
use super::table::Table;
use swtch_profile::compare::{Change, Comparison};
use swtch_units::format_ns;

/// What changed: the verdict first, then every figure, then what differs between the circumstances.
pub fn comparison(found: &Comparison) -> String {
    let larger = found.changes.iter().filter(|change| change.larger_than_noise == Some(true)).count();
    let unknown = found.changes.iter().filter(|change| change.larger_than_noise.is_none()).count();
    let mut text = format!(
        "{larger} of {} figures changed by more than the noise between processes",
        found.changes.len()
    );
    if unknown > 0 {
        text.push_str(&format!("; {unknown} cannot be judged (fewer than 3 processes on a side)"));
    }
    text.push_str(".\n\n");
    let mut table = Table::new(&["figure", "old", "new", "ratio", "interval", ""]);
    for change in &found.changes {
        table.row(row(change));
    }
    text.push_str(&table.render(
        "Medians, and the ratio new / old of the medians of fresh processes with its 95 % interval",
        &[1, 2, 3, 4],
    ));
    let lists = [
        ("Only in the old one:", &found.only_old),
        ("Only in the new one:", &found.only_new),
        ("Different circumstances, which may explain any change:", &found.circumstances),
    ];
    for (title, lines) in lists {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}\n"));
            text.extend(lines.iter().map(|line| paragraph("  ", line, 4)));
        }
    }
    text
}

fn row(change: &Change) -> [String; 6] {
    let number = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.2}"));
    let verdict = match (change.larger_than_noise, change.ratio) {
        (Some(true), Some(ratio)) if ratio > 1.0 => "slower",
        (Some(true), _) => "faster",
        (Some(false), _) => "only noise",
        (None, _) => "not judged",
    };
    [
        figure(&change.what),
        format_ns(change.old_ns),
        format_ns(change.new_ns),
        number(change.ratio),
        format!("{} to {}", number(change.ratio_low), number(change.ratio_high)),
        verdict.to_owned(),
    ]
}

/// A figure's name without what most of them share, so that the longest leaves room for its numbers.
fn figure(what: &str) -> String {
    let what = what.strip_prefix("switch, ").unwrap_or(what);
    let what = what.strip_suffix(", normal").unwrap_or(what);
    what.replace(" (performance core)", " (P)").replace(" (efficiency core)", " (E)")
}
