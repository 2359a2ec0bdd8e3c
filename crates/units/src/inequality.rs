//! Inequalities as people write them, `wait.p99 > 20ms`, and the units of their values.

use crate::table::grouped;
use crate::time::{format_ns, parse_ns};

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A time, kept in nanoseconds.
    Time,
    /// A whole number.
    Count,
    /// A number of things for each of others.
    Ratio,
    /// A number a second.
    Rate,
    /// A share of a whole.
    Share,
    /// Time a second of time, summed over tasks: 1 is one CPU.
    Load,
}

impl Unit {
    /// Every unit.
    const ALL: [Self; 6] = [Self::Time, Self::Count, Self::Ratio, Self::Rate, Self::Share, Self::Load];

    /// The unit of that name in documents.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "ns",
            Self::Count => "count",
            Self::Ratio => "ratio",
            Self::Rate => "per-second",
            Self::Share => "share",
            Self::Load => "ns-per-ns",
        }
    }

    /// A value as it is to be written, in words.
    pub fn example(self) -> &'static str {
        match self {
            Self::Time => "a time with its unit, such as 20ms",
            Self::Count => "a number, such as 1200 or 100k",
            Self::Ratio => "a number, such as 3.5",
            Self::Rate => "a number a second, such as 100000 or 100k",
            Self::Share => "a share, such as 30%",
            Self::Load => "a share of one CPU, such as 150%",
        }
    }

    /// Reads a value that is not negative; absent when it is not one of this unit.
    ///
    /// ```
    /// use swtch_units::Unit;
    /// assert_eq!(Unit::Time.read("20ms"), Some(20e6));
    /// assert_eq!(Unit::Rate.read("1.5k"), Some(1500.0));
    /// assert_eq!((Unit::Share.read("30 %"), Unit::Share.read("130%"), Unit::Load.read("130%")), (Some(0.3), None, Some(1.3)));
    /// ```
    pub fn read(self, text: &str) -> Option<f64> {
        match self {
            // A bare number would be seconds elsewhere; here nearly always milliseconds are meant.
            Self::Time => parse_ns(text).ok().map(|ns| ns as f64),
            Self::Count | Self::Rate | Self::Ratio => {
                let scaled = |suffix, factor| Some((text.strip_suffix(suffix)?, factor));
                let (digits, factor) = scaled('k', 1e3).or_else(|| scaled('M', 1e6)).unwrap_or((text, 1.0));
                number(digits).map(|value| value * factor)
            }
            Self::Share => percent(text).filter(|share| *share <= 1.0),
            Self::Load => percent(text),
        }
    }

    /// A value as a person reads it.
    ///
    /// ```
    /// use swtch_units::Unit;
    /// assert_eq!([Unit::Count, Unit::Rate, Unit::Ratio, Unit::Share].map(|unit| unit.show(1234.5)), ["1,234", "1,234/s", "1,234", "123450.0 %"]);
    /// assert_eq!((Unit::Share.show(0.0003), Unit::Rate.show(0.25)), ("0.03 %".to_owned(), "0.25/s".to_owned()));
    /// ```
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Time => format_ns(value),
            Self::Count => grouped(&format!("{value:.0}")),
            Self::Ratio => three_digits(value),
            Self::Rate => format!("{}/s", three_digits(value)),
            Self::Share | Self::Load => {
                let percent = 100.0 * value;
                let digits = if percent != 0.0 && percent.abs() < 1.0 { 2 } else { 1 };
                format!("{percent:.digits$} %")
            }
        }
    }
}

/// Whole from 100 on, else three significant digits.
fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => grouped(&format!("{value:.0}")),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| *value >= 0.0 && value.is_finite())
}

/// Reads `30%` as 0.3; absent for a negative one and for a text that is not a share.
///
/// ```
/// assert_eq!((swtch_units::percent("5 %"), swtch_units::percent("5")), (Some(0.05), None));
/// ```
pub fn percent(text: &str) -> Option<f64> {
    text.strip_suffix('%').and_then(number).map(|value| value / 100.0)
}

/// An inequality whose name and value are not read yet: `NAME > VALUE` or `NAME < VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inequality<'a> {
    /// What is compared.
    pub name: &'a str,
    /// `>` rather than `<`.
    pub is_above: bool,
    /// What it is compared with.
    pub value: &'a str,
}

impl<'a> Inequality<'a> {
    /// Takes a text apart; absent when it has another form.
    ///
    /// ```
    /// use swtch_units::Inequality;
    /// let found = Inequality::split("wait.p99>20ms").unwrap();
    /// assert_eq!((found.name, found.is_above, found.value), ("wait.p99", true, "20ms"));
    /// assert_eq!(Inequality::split("wait.p99 >= 20ms"), None);
    /// ```
    pub fn split(text: &'a str) -> Option<Self> {
        let at = text.find(['<', '>'])?;
        let (name, value) = (text[..at].trim(), text[at + 1..].trim());
        let is_whole = !name.is_empty() && !value.is_empty() && !value.starts_with(['=', '<', '>']);
        is_whole.then_some(Self { name, is_above: text[at..].starts_with('>'), value })
    }
}
