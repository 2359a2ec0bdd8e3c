//! `NAME=VALUE`.

use std::str::FromStr;

/// A constant of the scheduler and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Constant {
    pub(crate) name: String,
    /// Wide enough for every number of 64 bits, with or without a sign.
    pub(crate) value: i128,
}

impl FromStr for Constant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("'{text}' has no '='; write NAME=VALUE, e.g. slice_ns=1ms"))?;
        let value = number(value).ok_or_else(|| {
            format!("'{value}' is not a number, true, false or a time such as 250us or 5ms")
        })?;
        Ok(Self { name: name.to_owned(), value })
    }
}

fn number(text: &str) -> Option<i128> {
    match text {
        "true" => return Some(1),
        "false" => return Some(0),
        _ => {}
    }
    let digits = text.replace('_', "");
    let plain = match digits.strip_prefix("0x") {
        Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16).ok(),
        None => digits.parse().ok(),
    };
    // A time is in ns, as the kernel's are.
    plain.or_else(|| swtch_units::parse_ns(text).ok().map(i128::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_times_and_truths() {
        let value = |text: &str| format!("x={text}").parse::<Constant>().map(|constant| constant.value);
        assert_eq!(
            ["7", "-1", "0x10", "1_000", "true", "false", "1ms", "2us"].map(|text| value(text).unwrap()),
            [7, -1, 16, 1000, 1, 0, 1_000_000, 2000]
        );
        for bad in ["", "soon", "0x", "1.5"] {
            assert!(value(bad).unwrap_err().contains("is not a number"), "{bad}");
        }
        assert!("slice_ns".parse::<Constant>().unwrap_err().contains("NAME=VALUE"));
    }
}
