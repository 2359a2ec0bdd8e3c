//! Money.

use crate::model::Range;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What a CPU costs by the hour, in whatever currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// For one virtual CPU and one hour.
    pub per_vcpu_hour: f64,
}

/// A price that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a price; write 0.05/vcpu-hour, or 36/vcpu-month")]
pub struct ParsePriceError(String);

/// Hours of a month as clouds bill them.
pub const MONTH_HOURS: f64 = 730.0;

impl FromStr for Price {
    type Err = ParsePriceError;

    /// ```
    /// use swtch_cost::Price;
    /// assert_eq!("0.05/vcpu-hour".parse::<Price>()?.per_vcpu_hour, 0.05);
    /// assert_eq!("73/vcpu-month".parse::<Price>()?.per_vcpu_hour, 0.1);
    /// assert!("cheap".parse::<Price>().is_err());
    /// # Ok::<(), swtch_cost::ParsePriceError>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParsePriceError(text.to_owned());
        let (number, unit) = text.split_once('/').unwrap_or((text, "vcpu-hour"));
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let hours = match unit.trim() {
            "vcpu-hour" | "hour" | "h" => 1.0,
            "vcpu-month" | "month" => MONTH_HOURS,
            _ => return Err(wrong()),
        };
        if !(number.is_finite() && number >= 0.0) {
            return Err(wrong());
        }
        Ok(Self { per_vcpu_hour: number / hours })
    }
}

/// What the switches cost in money.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Money {
    /// For one virtual CPU and one hour.
    pub per_vcpu_hour: f64,
    /// Of this recording.
    pub recording: Range,
    /// In a month, if it goes on like this; absent when what was recorded has ended.
    pub month: Option<Range>,
}

impl Money {
    /// Of CPU time lost within a recording of some length, of something that goes on or has ended.
    pub(crate) fn of(price: Price, lost_ns: Range, duration_ns: u64, goes_on: bool) -> Self {
        let recording = lost_ns.times(price.per_vcpu_hour / 3.6e12);
        let recordings_a_month = MONTH_HOURS * 3.6e12 / (duration_ns.max(1) as f64);
        let month = goes_on.then(|| recording.times(recordings_a_month));
        Self { per_vcpu_hour: price.per_vcpu_hour, recording, month }
    }
}
