use std::fmt;
use std::str::FromStr;

/// A size in bytes. Written and read with binary suffixes: `64K`, `1 MiB`, `512`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// A size of `n` bytes.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseBytesError {
    /// The text holds no number, or the number has a sign or too many digits.
    #[error("'{0}' is not a size; write bytes, or 64K, 1M, 2GiB")]
    NotANumber(String),
    /// The suffix is not one of B, K, M, G, T (with or without `iB`).
    #[error("'{0}' has an unknown suffix; sizes end in B, K, M, G or T (powers of 1024)")]
    UnknownSuffix(String),
    /// The size does not fit in 64 bits.
    #[error("'{0}' is larger than any memory")]
    TooLarge(String),
}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    /// Reads `4096`, `64K`, `64KiB`, `64 kb`, `1M`: every suffix is a power of 1024.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let (number, suffix) = trimmed.split_at(digits);
        let number: u64 = number.parse().map_err(|_| ParseBytesError::NotANumber(text.to_owned()))?;
        let shift = match suffix.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(ParseBytesError::UnknownSuffix(text.to_owned())),
        };
        number.checked_mul(1 << shift).map(Self).ok_or_else(|| ParseBytesError::TooLarge(text.to_owned()))
    }
}

impl fmt::Display for Bytes {
    /// Whole units where they divide (`48 KiB`), otherwise one decimal (`1.5 MiB`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        for (shift, name) in UNITS {
            let unit = 1u64 << shift;
            if self.0 >= unit {
                if self.0.is_multiple_of(unit) {
                    return write!(f, "{} {name}", self.0 / unit);
                }
                return write!(f, "{:.1} {name}", self.0 as f64 / unit as f64);
            }
        }
        write!(f, "{} B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        for (text, bytes) in
            [("0", 0), ("512", 512), ("64K", 65536), ("64 KiB", 65536), ("1m", 1 << 20), ("2GiB", 2 << 30)]
        {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes::new(bytes)), "{text}");
        }
    }

    #[test]
    fn names_what_is_wrong() {
        assert!(matches!("".parse::<Bytes>(), Err(ParseBytesError::NotANumber(_))));
        assert!(matches!("-1".parse::<Bytes>(), Err(ParseBytesError::NotANumber(_))));
        assert!(matches!("64X".parse::<Bytes>(), Err(ParseBytesError::UnknownSuffix(_))));
        assert!(matches!("99999999T".parse::<Bytes>(), Err(ParseBytesError::TooLarge(_))));
    }

    #[test]
    fn shows_the_largest_unit_that_fits() {
        let shown: Vec<String> =
            [0, 1000, 1024, 49152, 1 << 20, 3 << 19, 1 << 40].map(|n| Bytes::new(n).to_string()).into();
        assert_eq!(shown, ["0 B", "1000 B", "1 KiB", "48 KiB", "1 MiB", "1.5 MiB", "1 TiB"]);
    }
}
