//! Times as people write them, and as they read them.

use std::time::Duration;

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Why a text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseTimeError {
    /// It has no number, no unit, or a unit that is not known.
    #[error("'{0}' is not a time; write 20ms, 1.5s, 250us or 5m")]
    NotATime(String),
    /// Its nanoseconds do not fit in 64 bits.
    #[error("'{0}' is longer than 584 years")]
    TooLong(String),
}

/// Reads `2ms`, `1.5 s`, `250us`, `40ns`, `5m` or `5min`, `1h`, in ns.
///
/// # Errors
/// When it has no unit, another unit, a sign, or does not fit in 64 bits.
///
/// ```
/// assert_eq!(swtch_units::parse_ns("0.1s"), Ok(100_000_000));
/// assert!(swtch_units::parse_ns("5").is_err());
/// ```
pub fn parse_ns(text: &str) -> Result<u64, ParseTimeError> {
    let parts = parts(text.trim()).ok_or_else(|| ParseTimeError::NotATime(text.to_owned()))?;
    sum(parts).ok_or_else(|| ParseTimeError::TooLong(text.to_owned()))
}

/// Reads a time with its unit, as [`parse_ns`] does, or in seconds.
///
/// # Errors
/// As [`parse_ns`], and for seconds below zero.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(swtch_units::parse_duration("1.5"), swtch_units::parse_duration("1500ms"));
/// assert_eq!(swtch_units::parse_duration("2m"), Ok(Duration::from_secs(120)));
/// assert!(swtch_units::parse_duration("-1").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, ParseTimeError> {
    match text.trim().parse() {
        Ok(seconds) => {
            Duration::try_from_secs_f64(seconds).map_err(|_| ParseTimeError::NotATime(text.to_owned()))
        }
        Err(_) => parse_ns(text).map(Duration::from_nanos),
    }
}

/// The digits before and after the point, and the nanoseconds of the unit.
fn parts(text: &str) -> Option<(&str, &str, u64)> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = (text[..split].trim_end(), &text[split..]);
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    (whole.starts_with(|c: char| c.is_ascii_digit()) && digits(whole) && digits(fraction))
        .then_some((whole, fraction, *unit))
}

/// Digit by digit, so that `0.1s` is 100,000,000 ns to the last one.
fn sum((whole, fraction, unit): (&str, &str, u64)) -> Option<u64> {
    let mut value = whole.replace('_', "").parse::<u64>().ok()?.checked_mul(unit)?;
    let mut place = unit;
    for digit in fraction.bytes().filter(|digit| *digit != b'_') {
        place /= 10;
        value = value.checked_add(u64::from(digit - b'0') * place)?;
    }
    Some(value)
}

/// Nanoseconds as a person reads them, three significant digits: `947 ns`, `1.21 µs`, `-4.03 µs`, `18.3 ms`, `2.00 s`.
pub fn format_ns(ns: f64) -> String {
    let size = ns.abs();
    // The thresholds sit where rounding to three digits would carry into the next unit.
    let (scaled, unit) = match size {
        size if size < 999.5 => (ns, "ns"),
        size if size < 999.5e3 => (ns / 1e3, "µs"),
        size if size < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = match scaled.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$} {unit}")
}

/// Year, month and day, hour, minute and second (UTC) of a moment in seconds since 1970.
///
/// ```
/// assert_eq!(swtch_units::utc(951_782_400), [2000, 2, 29, 0, 0, 0]);
/// ```
pub fn utc(unix_s: u64) -> [u64; 6] {
    let (days, second) = (unix_s / 86400, unix_s % 86400);
    // Days to civil date by 400-year eras, the year beginning in March so that the leap day comes last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = (month + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    [year, month, day, second / 3600, second % 3600 / 60, second % 60]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_last_nanosecond() {
        for (text, ns) in [
            ("2ms", 2_000_000),
            ("0.1s", 100_000_000),
            ("1.5 us", 1_500),
            ("40ns", 40),
            ("1min", 60_000_000_000),
            ("2m", 120_000_000_000),
            ("1h", 3_600_000_000_000),
        ] {
            assert_eq!(parse_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "ms", "-1ms", "1", "1 day", "1.2.3s", "_s", ".5s", "1e3ns", "nan s"] {
            assert!(parse_ns(text).is_err(), "{text}");
        }
        for text in ["99999999999h", "18446744073709549568s", "99999999999999999999ns"] {
            assert_eq!(parse_ns(text), Err(ParseTimeError::TooLong(text.to_owned())), "{text}");
        }
        assert!(parse_ns("-1ms").unwrap_err().to_string().contains("'-1ms' is not a time; write 20ms"));
    }

    #[test]
    fn three_digits_and_a_unit() {
        let shown: Vec<String> =
            [0.0, 1.0, 42.42, 947.2, 999.6, 1210.0, 45_600.0, 999_600.0, 18.3e6, 2e9, -4030.0]
                .map(format_ns)
                .into();
        assert_eq!(
            shown,
            [
                "0.00 ns",
                "1.00 ns",
                "42.4 ns",
                "947 ns",
                "1.00 µs",
                "1.21 µs",
                "45.6 µs",
                "1.00 ms",
                "18.3 ms",
                "2.00 s",
                "-4.03 µs"
            ]
        );
    }
}
