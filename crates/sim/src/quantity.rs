//! Times and sizes as people write them.

use serde::de::{Deserializer, Error, Unexpected, Visitor};
use std::fmt;
use swtch_units::{Bytes, parse_ns};

/// `2ms`, `1.5 s`, `250us`, `40ns`, `1min`, in ns.
pub(crate) fn time_ns(text: &str) -> Result<u64, String> {
    parse_ns(text).map_err(|error| error.to_string())
}

/// `100`, `64K`, `2MB` (of 1024), in bytes.
pub(crate) fn size_bytes(text: &str) -> Result<u64, String> {
    text.parse::<Bytes>().map(Bytes::get).map_err(|error| error.to_string())
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
