//! Figures in few characters.

use swtch_cost::Range;

/// What is not known. Never a zero.
pub(super) const UNKNOWN: &str = "n/a";

/// A count a second: `0`, `0.4`, `12`, `1,234`, `123k`.
pub(super) fn rate(value: Option<f64>) -> String {
    let Some(value) = value else { return UNKNOWN.to_owned() };
    match value {
        value if value < 0.05 => "0".to_owned(),
        value if value < 9.95 => format!("{value:.1}"),
        value if value < 999_999.5 => grouped(value.round() as u64),
        value if value < 9_999_500.0 => format!("{:.2}M", value / 1e6),
        value => format!("{:.1}M", value / 1e6),
    }
}

fn grouped(value: u64) -> String {
    if value < 1000 { value.to_string() } else { format!("{},{:03}", value / 1000, value % 1000) }
}

/// A share in percent: `0.0`, `0.004`, `0.04`, `3.2`, `100`.
pub(super) fn percent(share: Option<f64>) -> String {
    let Some(share) = share else { return UNKNOWN.to_owned() };
    match 100.0 * share {
        percent if percent < 0.0005 => "0.0".to_owned(),
        percent if percent < 0.0095 => format!("{percent:.3}"),
        percent if percent < 0.095 => format!("{percent:.2}"),
        percent if percent < 99.95 => format!("{percent:.1}"),
        percent => format!("{percent:.0}"),
    }
}

/// Percent of what is known only to lie between two figures: its middle, after a `~`.
pub(super) fn percent_range(range: Option<Range>) -> String {
    middle(range, |value| percent(Some(value)))
}

/// A time in at most six characters: `780ns`, `1.84µs`, `12.3ms`, `4.00s`.
pub(super) fn time(ns: f64) -> String {
    let short = |value: f64, unit: &str| match value {
        value if value < 9.995 => format!("{value:.2}{unit}"),
        value if value < 99.95 => format!("{value:.1}{unit}"),
        value => format!("{value:.0}{unit}"),
    };
    match ns {
        ns if ns < 999.5 => format!("{ns:.0}ns"),
        ns if ns < 999_500.0 => short(ns / 1e3, "µs"),
        ns if ns < 999_500_000.0 => short(ns / 1e6, "ms"),
        ns => short(ns / 1e9, "s"),
    }
}

/// A time that may be missing.
pub(super) fn some_time(ns: Option<u64>, otherwise: &str) -> String {
    ns.map_or_else(|| otherwise.to_owned(), |ns| time(ns as f64))
}

/// A time that is known only to lie between two figures.
pub(super) fn time_range(range: Option<Range>) -> String {
    middle(range, time)
}

fn middle(range: Option<Range>, text: impl Fn(f64) -> String) -> String {
    let Some(range) = range else { return UNKNOWN.to_owned() };
    let known = text(range.middle());
    if text(range.low) == text(range.high) { known } else { format!("~{known}") }
}

/// Names come from tasks, which may call themselves anything: nothing that moves a terminal's cursor gets through.
pub(super) fn printable(text: &str) -> String {
    let harmless = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if harmless(c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_unknown_is_no_zero() {
        let rates = [0.0, 0.04, 0.4, 12.4, 1234.0, 123_456.0, 2_345_678.0, 23_456_789.0]
            .map(|value| rate(Some(value)));
        assert_eq!(rates, ["0", "0", "0.4", "12", "1,234", "123,456", "2.35M", "23.5M"]);
        assert_eq!(
            [None, Some(0.0), Some(0.00004), Some(0.0004), Some(0.0321), Some(1.0), Some(2.5)].map(percent),
            ["n/a", "0.0", "0.004", "0.04", "3.2", "100", "250"]
        );
        let times = [0.0, 780.0, 999.6, 1840.0, 12_300_000.0, 4e9].map(time);
        assert_eq!(times, ["0ns", "780ns", "1.00µs", "1.84µs", "12.3ms", "4.00s"]);
        assert_eq!(time_range(Some(Range { low: 1000.0, high: 1200.0 })), "~1.10µs");
        assert_eq!(percent_range(Some(Range::exactly(0.25))), "25.0");
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(printable("a\x1b[2Jb\u{202e}\n"), "a?[2Jb??");
    }
}
