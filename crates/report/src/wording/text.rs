//! Figures as people read them.

use swtch_profile::model::Estimate;
pub(crate) use swtch_units::shortened;
use swtch_units::{Bytes, format_ns};

/// What stands for a figure that is not known.
pub(crate) const DASH: &str = "–";
/// The same in tables on a terminal.
pub(crate) const NONE: &str = "-";
/// A figure in words, or a dash where it is not known.
pub(crate) fn or_dash<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| DASH.to_owned(), words)
}

/// Between a number and its unit, so that a line never breaks there.
pub(crate) const NO_BREAK: char = '\u{a0}';

/// `1.21 µs`, with a real minus sign and a space that does not break.
pub(crate) fn ns(value: f64) -> String {
    typeset(&format_ns(value))
}

fn typeset(text: &str) -> String {
    text.replace(' ', &NO_BREAK.to_string()).replace('-', "−")
}

/// Both ends of an interval: `1.20 to 1.22 µs`, or `980 ns to 1.02 µs`.
pub(crate) fn ns_range(low: f64, high: f64) -> String {
    range(&ns(low), &ns(high), NO_BREAK)
}

/// From one figure to another, a unit that both have once.
pub(crate) fn range(low: &str, high: &str, blank: char) -> String {
    match (low.split_once(blank), high.split_once(blank)) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// `1.21 µs ± 0.01`: the wider half of the interval, in the median's unit.
pub(crate) fn ns_plus_minus(estimate: &Estimate) -> String {
    let median = ns(estimate.median);
    let half = (estimate.ci_high - estimate.median).max(estimate.median - estimate.ci_low);
    let scale = match median.rsplit(NO_BREAK).next() {
        Some("ns") => 1.0,
        Some("µs") => 1e3,
        Some("ms") => 1e6,
        _ => 1e9,
    };
    let digits = median
        .split_once(NO_BREAK)
        .and_then(|(number, _)| number.split_once('.'))
        .map_or(0, |(_, decimals)| decimals.len());
    let smallest = 10f64.powi(-(digits as i32));
    if half / scale < smallest / 2.0 {
        return format!("{median} ±{NO_BREAK}less than {smallest:.digits$}");
    }
    format!("{median} ±{NO_BREAK}{:.digits$}", half / scale)
}

/// A tick of a time axis: `500 ns`, `1 µs`, `0.2 ns`.
pub(crate) fn ns_tick(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v < 999.0 => (v, "ns"),
        v if v < 999e3 => (v / 1e3, "µs"),
        v if v < 999e6 => (v / 1e6, "ms"),
        v => (v / 1e9, "s"),
    };
    // Rounding removes what powers of ten leave behind (0.30000000000000004).
    format!("{}{NO_BREAK}{unit}", (scaled * 1e6).round() / 1e6)
}

/// `48 KiB`.
pub(crate) fn bytes(value: u64) -> String {
    typeset(&Bytes::new(value).to_string())
}

/// `2.1 %`.
pub(crate) fn percent(share: f64) -> String {
    let digits = usize::from(share.abs() < 0.0995);
    let small = share > 0.0 && share < 0.0005;
    if small {
        format!("<{NO_BREAK}0.1{NO_BREAK}%")
    } else {
        format!("{:.digits$}{NO_BREAK}%", share * 100.0)
    }
}

/// A relative error, with its sign: `+0.3 %`, `−1.2 %`.
pub(crate) fn percent_signed(share: f64) -> String {
    let size = format!("{:.1}", share.abs() * 100.0);
    let sign = match share {
        _ if size == "0.0" => "",
        share if share < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{size}{NO_BREAK}%")
}

/// A tick of an axis of shares: `0 %`, `2 %`, `0.5 %`.
pub(crate) fn percent_tick(share: f64) -> String {
    // Rounding removes what powers of ten leave behind.
    format!("{}{NO_BREAK}%", (share * 1e6).round() / 1e4)
}

/// `12,345`.
pub(crate) fn count(value: u64) -> String {
    swtch_units::grouped(&value.to_string())
}

/// `950`, `1.2k`, `34k`, `5.6M`: for axes and cells.
pub(crate) fn compact(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v < 999.5 => (value, ""),
        v if v < 999.5e3 => (value / 1e3, "k"),
        v if v < 999.5e6 => (value / 1e6, "M"),
        _ => (value / 1e9, "G"),
    };
    let text = format!("{scaled:.0$}", usize::from(scaled.abs() < 9.95));
    format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// A frequency or a mean, without digits that mean nothing: `0.25`, `3.1`, `12,345`.
pub(crate) fn amount(value: f64) -> String {
    match value.abs() {
        v if v < 0.005 => "0".to_owned(),
        v if v < 0.995 => format!("{value:.2}"),
        v if v < 9.95 => format!("{value:.1}"),
        _ => count(value.round().max(0.0) as u64),
    }
}

/// Money in three digits: `$0.0231`, `$4.20`, `$12,300`.
pub(crate) fn dollars(value: f64) -> String {
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    if size >= 999.5 {
        // The last digits of a large sum would pretend to be exact.
        let step = 10f64.powf(size.log10().floor() - 2.0);
        return format!("{sign}${}", count(((size / step).round() * step).round() as u64));
    }
    format!("{sign}${}", three_digits(size))
}

/// Money in three digits, however little it is; cents are written whole.
pub(crate) fn three_digits(value: f64) -> String {
    let digits = if value > 0.0 { (2.0 - value.log10().floor()).clamp(0.0, 12.0) as usize } else { 0 };
    format!("{value:.*}", if value >= 1.0 { digits.min(2) } else { digits })
}

/// A tick of an axis of money: `$0.02`, `$5`, `$20k`.
pub(crate) fn dollars_tick(value: f64) -> String {
    if value >= 999.5 {
        return format!("${}", compact(value));
    }
    // Rounding removes what powers of ten leave behind.
    let digits = (-value.log10().floor()).clamp(0.0, 12.0) as usize;
    format!("${value:.digits$}")
}

/// How many times as much: `12×`, `1.3×`.
pub(crate) fn times(ratio: f64) -> String {
    let digits = match ratio.abs() {
        r if r < 1.995 => 2,
        r if r < 9.95 => 1,
        _ => 0,
    };
    format!("{ratio:.digits$}×")
}

/// A tick of an axis of ratios: `0.5×`, `20×`.
pub(crate) fn times_tick(ratio: f64) -> String {
    format!("{}×", (ratio * 1e6).round() / 1e6)
}

/// A moment of a run: `0.35 s`, `2 min 5.0 s`.
pub(crate) fn moment(ns: f64) -> String {
    let seconds = ns / 1e9;
    if seconds < 60.0 {
        return format!("{seconds:.2}{NO_BREAK}s");
    }
    let minutes = (seconds / 60.0).floor();
    format!("{minutes:.0}{NO_BREAK}min {:.1}{NO_BREAK}s", seconds - 60.0 * minutes)
}

/// A text made for a terminal, with typographic apostrophes and with spaces before units that do not break a line.
pub(crate) fn flowing(text: &str) -> String {
    // A space at the end, so that a unit there is one, too.
    let mut text = format!("{} ", text.trim_end().replace('\n', " ").replace('\'', "’"));
    for unit in ["ns", "µs", "ms", "s", "%"] {
        for end in [" ", ",", ".", ";", ")", ":"] {
            text = text.replace(&format!(" {unit}{end}"), &format!("{NO_BREAK}{unit}{end}"));
        }
    }
    text.trim_end().to_owned()
}

/// `21 November 2025, 04:02 UTC`.
pub(crate) fn date(unix_s: u64) -> String {
    const MONTHS: &str =
        "January February March April May June July August September October November December";
    let [year, month, day, hour, minute, _] = swtch_units::utc(unix_s);
    let name = MONTHS.split(' ').nth(month as usize - 1).unwrap_or_default();
    format!("{day} {name} {year}, {hour:02}:{minute:02} UTC")
}

/// `47 s`, `3 min 20 s`.
pub(crate) fn seconds(value: f64) -> String {
    if value < 9.95 {
        return format!("{value:.1}{NO_BREAK}s");
    }
    let whole = value.round().max(0.0) as u64;
    if whole < 60 {
        format!("{whole}{NO_BREAK}s")
    } else {
        format!("{}{NO_BREAK}min {}{NO_BREAK}s", whole / 60, whole % 60)
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// A text with its first letter raised.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_name_a_shared_unit_once() {
        assert_eq!(ns_range(1200.0, 1220.0), "1.20 to 1.22\u{a0}µs");
        assert_eq!(ns_range(980.0, 1020.0), "980\u{a0}ns to 1.02\u{a0}µs");
        assert_eq!(ns_range(-4030.0, 2000.0), "−4.03 to 2.00\u{a0}µs");
    }

    #[test]
    fn dates_are_right_across_leap_years() {
        assert_eq!(date(0), "1 January 1970, 00:00 UTC");
        assert_eq!(date(951_827_696), "29 February 2000, 12:34 UTC");
        assert_eq!(date(1_763_697_720), "21 November 2025, 04:02 UTC");
        assert_eq!(date(1_735_689_599), "31 December 2024, 23:59 UTC");
    }

    #[test]
    fn counts_shares_and_times_are_short() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(
            [0.0, 0.0001, 0.021, 0.5].map(percent),
            ["0.0\u{a0}%", "<\u{a0}0.1\u{a0}%", "2.1\u{a0}%", "50\u{a0}%"]
        );
        assert_eq!([4.23, 47.2, 200.0].map(seconds), ["4.2\u{a0}s", "47\u{a0}s", "3\u{a0}min 20\u{a0}s"]);
        assert_eq!(
            [0.2, 500.0, 1e3, 2e6].map(ns_tick),
            ["0.2\u{a0}ns", "500\u{a0}ns", "1\u{a0}µs", "2\u{a0}ms"]
        );
    }

    #[test]
    fn amounts_are_as_long_as_they_are_exact() {
        assert_eq!(
            [0.0, 950.0, 1234.0, 34_000.0, 5.6e6, 999_600.0].map(compact),
            ["0", "950", "1.2k", "34k", "5.6M", "1M"]
        );
        assert_eq!([0.0, 0.254, 3.12, 12_345.4].map(amount), ["0", "0.25", "3.1", "12,345"]);
        assert_eq!([350e6, 125e9].map(moment), ["0.35\u{a0}s", "2\u{a0}min 5.0\u{a0}s"]);
        assert_eq!(flowing("took 3.10 %:\n1.2 µs each.\n"), "took 3.10\u{a0}%: 1.2\u{a0}µs each.");
    }

    #[test]
    fn money_and_ratios_have_three_digits_at_most() {
        assert_eq!(
            [0.0, 0.000_023_14, 0.0231, 0.5, 4.2, 128.34, 12_345.6, -0.021].map(dollars),
            ["$0", "$0.0000231", "$0.0231", "$0.500", "$4.20", "$128", "$12,300", "−$0.0210"]
        );
        assert_eq!(
            [0.02, 0.1, 5.0, 200.0, 20_000.0].map(dollars_tick),
            ["$0.02", "$0.1", "$5", "$200", "$20k"]
        );
        assert_eq!([1.0, 1.254, 2.04, 12.3].map(times), ["1.00×", "1.25×", "2.0×", "12×"]);
        assert_eq!(
            [0.0034, -0.0121, -0.0001].map(percent_signed),
            ["+0.3\u{a0}%", "−1.2\u{a0}%", "0.0\u{a0}%"]
        );
        assert_eq!([0.5, 20.0].map(times_tick), ["0.5×", "20×"]);
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shortened("überlang", 5), "über…");
        assert_eq!(shortened("kurz", 5), "kurz");
    }
}
