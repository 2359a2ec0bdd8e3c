//! Small plots side by side on shared axes.

use super::super::page::{Figure, LegendItem, Table};
use super::super::scale::{extent, ticks};
use super::super::svg::Svg;
use super::Size;
use super::lines::{Frame, Plot, Series, any_off_axis, lane_rows, time_domain};
use super::markers::line_item;

/// What is said of values that a logarithmic axis cannot hold.
pub(in crate::html) const OFF_AXIS: &str = "Values at or below zero stand in the lane “≤ 0” under the axis.";

/// One small plot.
pub(in crate::html) struct Multiple {
    pub(in crate::html) title: String,
    pub(in crate::html) series: Vec<Series>,
}

/// Plots with what they have in common.
pub(in crate::html) struct SmallMultiples<'a> {
    pub(in crate::html) plots: Vec<Multiple>,
    /// Values to label on the x axis.
    pub(in crate::html) x_ticks: Vec<(f64, String)>,
    pub(in crate::html) x_name: &'a str,
    /// How a value is written beside the y axis.
    pub(in crate::html) y_tick: fn(f64) -> String,
    /// The picture's accessible name.
    pub(in crate::html) label: String,
}

const TITLE: f64 = 22.0;
const AXIS: f64 = 34.0;

impl SmallMultiples<'_> {
    /// The chart with its table.
    pub(in crate::html) fn figure(
        &self,
        id: impl Into<String>,
        caption: impl Into<String>,
        table: Table,
    ) -> Figure {
        Figure::new(id, caption, table, |size| self.draw(size))
    }

    /// A sign for each series of the first plot.
    pub(in crate::html) fn legend(&self) -> Vec<LegendItem> {
        let series = self.plots.first().map_or(&[][..], |plot| &plot.series);
        series.iter().map(|series| line_item(series.look, series.label.clone())).collect()
    }

    /// Whether a value at or below zero is among the points.
    pub(in crate::html) fn any_off_axis(&self) -> bool {
        any_off_axis(self.plots.iter().flat_map(|plot| &plot.series))
    }

    /// Plots in rows, as many to a row as fit.
    fn draw(&self, size: Size) -> String {
        let all = || self.plots.iter().flat_map(|plot| &plot.series);
        let xs = all().flat_map(|series| &series.points).map(|point| point.x);
        let Some(x_domain) = extent(xs) else { return String::new() };
        let y_domain = time_domain(all()).unwrap_or((1.0, 10.0));
        let lane = lane_rows(all());

        let columns = size.pick(self.plots.len().clamp(1, 3), 1);
        let left = size.pick(64.0, 52.0);
        // The last label of a plot and the first of the next one reach into it.
        let gap = 36.0;
        let width = (size.width() - left - 16.0 - gap * (columns - 1) as f64) / columns as f64;
        let height = size.pick(170.0, 140.0);
        let y_ticks: Vec<_> =
            ticks(y_domain, size.pick(7, 5)).into_iter().map(|t| (t, (self.y_tick)(t))).collect();

        let mut svg = Svg::default();
        for (i, plotted) in self.plots.iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            let (left, top) =
                (left + column as f64 * (width + gap), TITLE + row as f64 * (TITLE + height + AXIS));
            let frame = Frame { left, top, width, height };
            let plot = Plot::new(frame, x_domain, y_domain, lane);
            svg.text((frame.left, frame.top - 7.0), "plot-name", &plotted.title);
            plot.time_axis(&mut svg, &y_ticks, column == 0);
            plot.x_axis(&mut svg, &self.x_ticks);
            plot.series(&mut svg, &plotted.series);
        }
        let rows = self.plots.len().div_ceil(columns);
        let bottom = rows as f64 * (TITLE + height + AXIS);
        svg.text((left + (size.width() - left) / 2.0, bottom + 4.0), "axis-name mid", self.x_name);
        svg.finish((size.width(), bottom + 12.0), size.class(), &self.label)
    }
}
