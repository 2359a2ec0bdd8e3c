//! Durations as people type them.

use std::time::Duration;

/// Reads `60s`, `1.5s`, `20ms`, `100us`, `2m`.
///
/// # Errors
/// When it is something else, or nothing at all is left of it.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(swtch_scx::parse_duration("20ms"), Ok(Duration::from_millis(20)));
/// assert!(swtch_scx::parse_duration("20").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a duration; write it as 60s, 20ms, 100us or 2m");
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let duration = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
    if duration.is_zero() { Err(wrong()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_durations_and_nothing_else_is() {
        for (text, ns) in [("100us", 100_000), ("1.5s", 1_500_000_000), ("2m", 120_000_000_000), ("7ns", 7)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
        for text in ["", "5", "s", "5 parsecs", "-1s", "0s", "nan s", "1e400s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
