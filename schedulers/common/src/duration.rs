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
/// assert!(swtch_scx::parse_duration("20").is_err() && swtch_scx::parse_duration("0s").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    match swtch_units::parse_ns(text) {
        Ok(0) => Err(format!("'{text}' is no time at all; write 20ms, 1.5s, 250us or 5m")),
        Ok(ns) => Ok(Duration::from_nanos(ns)),
        Err(error) => Err(error.to_string()),
    }
}
