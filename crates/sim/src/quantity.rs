//! Times and sizes as people write them.

use serde::de::{Deserializer, Error, Unexpected, Visitor};
use std::fmt;

const TIMES: [(&str, u64); 5] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];
const SIZES: [(&str, u64); 8] = [
    ("B", 1),
    ("KB", 1 << 10),
    ("MB", 1 << 20),
    ("GB", 1 << 30),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
];

/// `2ms`, `1.5 s`, `250us`, `40ns`, `1min`, in ns.
pub(crate) fn time_ns(text: &str) -> Result<u64, String> {
    quantity(text, &TIMES)
        .ok_or_else(|| format!("\"{text}\" is not a time; expected one such as 2ms, 1.5s, 250us"))
}

/// `100`, `64K`, `2MB` (of 1024), in bytes.
pub(crate) fn size_bytes(text: &str) -> Result<u64, String> {
    let plain = text.trim().parse().ok();
    let given = plain.or_else(|| quantity(text, &SIZES));
    given.ok_or_else(|| format!("\"{text}\" is not a size; expected one such as 100, 64K, 2MB"))
}

/// A decimal number and a unit. Digit by digit, so that `0.1s` is 100,000,000 ns to the last one.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = (text[..split].trim_end(), &text[split..]);
    let (_, unit) = units.iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let mut value = whole.replace('_', "").parse::<u64>().ok()?.checked_mul(*unit)?;
    let mut place = *unit;
    for digit in fraction.bytes() {
        place /= 10;
        value = value.checked_add(u64::from(digit - b'0') * place)?;
    }
    Some(value)
}

/// A time in a file: whole nanoseconds, or text with a unit.
pub(crate) fn ns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer
        .deserialize_any(Quantity { expected: "a time such as \"2ms\", or whole nanoseconds", read: time_ns })
}

/// The same where it may be absent.
pub(crate) fn some_ns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    ns(deserializer).map(Some)
}

/// A size in a file: bytes, or text with a unit.
pub(crate) fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(Quantity { expected: "a size such as \"64K\", or bytes", read: size_bytes })
}

struct Quantity {
    expected: &'static str,
    read: fn(&str) -> Result<u64, String>,
}

impl Visitor<'_> for Quantity {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.expected)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        u64::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        (self.read)(text).map_err(E::custom)
    }
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
        ] {
            assert_eq!(time_ns(text), Ok(ns), "{text}");
        }
        for text in ["", "ms", "-1ms", "1", "1h", "1.2.3s", "99999999999s", ".5s", "1e3ns"] {
            assert!(time_ns(text).is_err(), "{text}");
        }
        assert!(time_ns("-1ms").unwrap_err().contains("\"-1ms\" is not a time; expected"));
    }

    #[test]
    fn sizes_count_by_1024() {
        assert_eq!(size_bytes("100"), Ok(100));
        assert_eq!(size_bytes("64K"), Ok(65_536));
        assert_eq!(size_bytes("2MB"), Ok(2 << 20));
        assert!(size_bytes("2 apples").is_err());
    }
}
