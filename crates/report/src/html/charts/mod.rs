//! The charts: figures in, SVG out. Nothing here decides what is shown; the sections do.

pub(super) mod amounts;
pub(super) mod bars;
pub(super) mod caches;
pub(super) mod dots;
pub(super) mod heat_map;
pub(super) mod histogram;
pub(super) mod lines;
pub(super) mod markers;
pub(super) mod matrix;
mod rows;
pub(super) mod size_curve;
pub(super) mod small_multiples;
pub(super) mod stack;
pub(super) mod stretches;
pub(super) mod time_series;

use super::svg::Size;

/// A median and the ends of its interval.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) ci_low: f64,
    pub(super) ci_high: f64,
}

macro_rules! spreads {
    ($($estimate:ty: $low:ident, $high:ident;)*) => {
        $(impl From<&$estimate> for Spread {
            fn from(estimate: &$estimate) -> Self {
                Self { median: estimate.median, ci_low: estimate.$low, ci_high: estimate.$high }
            }
        })*
    };
}

spreads! {
    swtch_profile::model::Estimate: ci_low, ci_high;
    swtch_profile::model::Indirect: ci_low, ci_high;
    swtch_study::model::Estimate: ci_low, ci_high;
    swtch_faas::Estimate: ci_low, ci_high;
}
