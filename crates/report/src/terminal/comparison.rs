//! Two Profiles compared, as text.

use super::paragraph;
use crate::wording::caveats;
use swtch_cost::profile_caveats;
use swtch_profile::Profile;
use swtch_profile::compare::{Change, Comparison};
use swtch_units::{TextTable, format_ns};

/// What changed: the verdict first, with what has to be known of either Profile, then every figure, then what differs between the
/// circumstances.
pub fn comparison(old: &Profile, new: &Profile, found: &Comparison) -> String {
    let mut text = paragraph("", &found.summary(), 0);
    for (profile, name) in [(old, "the old Profile"), (new, "the new Profile")] {
        text.push_str(&caveats::notes(&profile_caveats(profile), "Note:", name));
    }
    text.push('\n');
    let mut table = TextTable::new(["figure", "old", "new", "ratio", "interval", ""]).left([5]);
    for change in &found.changes {
        table.row(row(change));
    }
    let heading =
        "Medians, their ratio new / old, and its 95 % interval from the differences between processes";
    text.push_str(&table.under(heading));
    let undecided: Vec<String> = found.changes.iter().filter_map(undecided).collect();
    let lists = [
        ("Cannot be decided:", &undecided),
        ("Only in the old Profile:", &found.only_old),
        ("Only in the new Profile:", &found.only_new),
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
    let decimals = change.ratio_decimals();
    let number =
        |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.decimals$}"));
    let interval = match (change.ratio_low, change.ratio_high) {
        (None, _) | (_, None) => "n/a".to_owned(),
        (low, high) => format!("{} to {}", number(low), number(high)),
    };
    [
        figure(&change.what),
        format_ns(change.old_ns),
        format_ns(change.new_ns),
        number(change.ratio),
        interval,
        change.verdict.words().to_owned(),
    ]
}

/// A figure of which nothing can be decided, and why: a line of its own, as reasons are too long for the table.
fn undecided(change: &Change) -> Option<String> {
    change.reason.as_ref().map(|reason| format!("{}: {reason}", figure(&change.what)))
}

/// A figure's name without what most of them share, so that the longest leaves room for its numbers.
fn figure(what: &str) -> String {
    let what = what.strip_prefix("switch, ").unwrap_or(what);
    let what = what.strip_suffix(", normal").unwrap_or(what);
    let what = what.replace(" (performance core)", " (P)").replace(" (efficiency core)", " (E)");
    what.replace("other-core-kind", "other-kind")
}
