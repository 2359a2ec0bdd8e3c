//! The charts: figures in, SVG out. Nothing here decides what is shown; the sections do.

mod amounts;
mod bars;
mod caches;
mod dots;
mod grid;
mod heat_map;
mod histogram;
mod lines;
mod markers;
mod matrix;
mod ratios;
mod rows;
mod size_curve;
mod small_multiples;
mod stack;
mod stretches;
mod time_series;

pub(super) use amounts::{Amount, Amounts};
pub(super) use bars::{Bar, Operation};
pub(super) use caches::CacheLane;
pub(super) use dots::{Dot, Facet, MethodRows};
pub(super) use grid::GridCell;
pub(super) use heat_map::{HeatMap, Values};
pub(super) use histogram::{Bin, Distribution, Histogram};
pub(super) use lines::{Point, Series, any_off_axis};
pub(super) use markers::{
    LegendItem, Look, Shape, block_item, hollow_item, idle_item, interval_item, line_item, off_axis_item,
    shape_item,
};
pub(super) use matrix::Matrix;
pub(super) use ratios::Ratio;
pub(super) use size_curve::SizeCurve;
pub(super) use small_multiples::{OFF_AXIS, SmallMultiples};
pub(super) use stack::{Stack, StackPart};
pub(super) use stretches::{Gap, Lane};
pub(super) use time_series::{Curve, Panel, Span, Step, TimeSeries};

use super::scale::{Scale, binary_ticks, even_ticks, extent, round_extent, ticks};
use super::svg::{Size, Svg};
use super::values::{distinct, gathered, once};
use crate::wording::{naming, text};

/// A chart is a value that can be drawn for a desk and for a phone.
pub(super) trait Chart {
    /// Draws the chart and says how high it is; 0 when there is nothing to draw.
    fn draw(&self, svg: &mut Svg, size: Size) -> f64;

    /// What its signs stand for, where it says that itself.
    fn legend(&self) -> Vec<LegendItem> {
        Vec::new()
    }
}

/// A chart as SVG; `label` is its accessible name.
pub(super) fn picture(chart: &dyn Chart, size: Size, label: &str) -> String {
    let mut svg = Svg::default();
    let height = chart.draw(&mut svg, size);
    if height > 0.0 { svg.finish((size.width(), height), size.class(), label) } else { String::new() }
}

/// A median and the ends of its interval.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) ci_low: f64,
    pub(super) ci_high: f64,
}

macro_rules! spreads {
    ($($estimate:ty)*) => {
        $(impl From<&$estimate> for Spread {
            fn from(estimate: &$estimate) -> Self {
                Self { median: estimate.median, ci_low: estimate.ci_low, ci_high: estimate.ci_high }
            }
        })*
    };
}

spreads! {
    swtch_profile::model::Estimate swtch_profile::model::Indirect
    swtch_study::model::Estimate swtch_faas::Estimate
}
