//! What switches and throttling cost a serverless function, as data.
//!
//! [`response`] holds the types of `swtch/faas/2`: what a handler measured in one invocation, the same in every language. [`figures`] makes
//! statistics of its batches, and [`quota`] infers the quota from when its spinners ran: here and nowhere else. [`tiers`] holds the types
//! of `swtch/faas-tiers/3`: many invocations under the memory tiers of a platform, as `swtch faas tiers` writes them. [`own`] has
//! what they hold of functions of the user's. [`mod@file`] reads both.
//! The schemas are published as `docs/schemas/faas-2.json` and `docs/schemas/faas-tiers-3.json`.
//!
//! `checks` refuses figures that cannot be true.
#![forbid(unsafe_code)]

mod checks;
pub mod figures;
pub mod file;
pub mod own;
pub mod quota;
pub mod response;
pub mod tiers;

pub use checks::check;
pub use file::{Document, FileError, is_faas, read, studies_in};
pub use response::Response;
pub use tiers::Tiers;

use serde::{Deserialize, Serialize};

/// A median with the interval between order statistics that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The interval's lower end; older documents call it `low`.
    #[serde(alias = "low")]
    pub ci_low: f64,
    /// Its upper end, likewise `high`.
    #[serde(alias = "high")]
    pub ci_high: f64,
    /// The probability with which it holds the median, 0 to 1.
    pub confidence: Option<f64>,
    /// The mean, which a quota raises where it leaves the median alone.
    pub mean: Option<f64>,
    /// The smallest value.
    pub minimum: Option<f64>,
    /// The coefficient of variation.
    pub cov: Option<f64>,
    /// How many values.
    pub n: Option<u32>,
}
