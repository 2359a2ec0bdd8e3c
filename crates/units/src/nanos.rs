use std::fmt;
use std::time::Duration;

/// A whole number of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(u64);

impl Nanos {
    /// A span of `n` nanoseconds.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number of nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl From<Duration> for Nanos {
    /// Saturates after 584 years.
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_ns(self.0 as f64))
    }
}

/// Nanoseconds as a person reads them, three significant digits: `947 ns`, `1.21 µs`, `-4.03 µs`, `18.3 ms`, `2.00 s`.
pub fn format_ns(ns: f64) -> String {
    let size = ns.abs();
    // The thresholds sit where rounding to three digits would carry into the next unit.
    let (scaled, unit) = if size < 999.5 {
        (ns, "ns")
    } else if size < 999.5e3 {
        (ns / 1e3, "µs")
    } else if size < 999.5e6 {
        (ns / 1e6, "ms")
    } else {
        (ns / 1e9, "s")
    };
    let digits = match scaled.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

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
