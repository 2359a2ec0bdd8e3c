//! Small plots side by side on shared axes.

use super::lines::{Frame, Plot, Point, Series, any_off_axis, lane_rows, time_domain};
use super::markers::{Look, line_item};
use super::{Chart, LegendItem, Size, Svg, distinct, extent, once, ticks};

/// The note about values that a logarithmic axis cannot hold.
pub(in crate::html) const OFF_AXIS: &str = "Values at or below zero are in the lane “≤ 0” under the axis.";

/// One small plot.
struct Multiple {
    title: String,
    series: Vec<Series>,
}

/// Plots with what they have in common.
pub(in crate::html) struct SmallMultiples<'a> {
    plots: Vec<Multiple>,
    /// What the x axis is, and how a value is written beneath it.
    x: (&'a str, fn(f64) -> String),
    /// How a value is written next to the y axis.
    y_tick: fn(f64) -> String,
    /// Whether round values are beneath the x axis, not those of the points.
    round_x: bool,
}

const TITLE: f64 = 22.0;
const AXIS: f64 = 34.0;

impl<'a> SmallMultiples<'a> {
    /// A chart without points yet.
    pub(in crate::html) fn new(x: (&'a str, fn(f64) -> String), y_tick: fn(f64) -> String) -> Self {
        Self { plots: Vec::new(), x, y_tick, round_x: false }
    }

    /// The same with round values beneath the x axis.
    pub(in crate::html) fn round_x(self) -> Self {
        Self { round_x: true, ..self }
    }

    /// Adds a point to a series of a plot; plots, series and points keep the order in which they come.
    pub(in crate::html) fn point(&mut self, plot: &str, series: (Look, &str), point: Point) {
        let place = self.plots.iter().position(|known| known.title == plot).unwrap_or_else(|| {
            self.plots.push(Multiple { title: plot.to_owned(), series: Vec::new() });
            self.plots.len() - 1
        });
        let (all, (look, label)) = (&mut self.plots[place].series, series);
        match all.iter_mut().find(|known| known.look == look && known.label == label) {
            Some(known) => known.points.push(point),
            None => all.push(Series { look, label: label.to_owned(), points: vec![point] }),
        }
    }

    /// The chart, if there is a point.
    pub(in crate::html) fn some(&self) -> Option<&Self> {
        (!self.plots.is_empty()).then_some(self)
    }

    fn series(&self) -> impl Iterator<Item = &Series> {
        self.plots.iter().flat_map(|plot| &plot.series)
    }

    /// Whether a value at or below zero is among the points.
    pub(in crate::html) fn any_off_axis(&self) -> bool {
        any_off_axis(self.series())
    }
}

impl Chart for SmallMultiples<'_> {
    /// Plots in rows, as many to a row as fit.
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let xs = distinct(self.series().flat_map(|series| &series.points).map(|point| point.x));
        let Some(x_domain) = extent(xs.iter().copied()) else { return 0.0 };
        let y_domain = time_domain(self.series()).unwrap_or((1.0, 10.0));
        let lane = lane_rows(self.series());
        let (x_name, x_tick) = self.x;
        let x_ticks = if self.round_x {
            ticks(x_domain, 7, x_tick)
        } else {
            xs.into_iter().map(|x| (x, x_tick(x))).collect()
        };
        let y_ticks = ticks(y_domain, size.pick(7, 5), self.y_tick);

        let columns = size.pick(self.plots.len().clamp(1, 3), 1);
        let left = size.pick(64.0, 52.0);
        // The last label of a plot and the first of the next one reach into it.
        let gap = 36.0;
        let width = (size.width() - left - 16.0 - gap * (columns - 1) as f64) / columns as f64;
        let height = size.pick(170.0, 140.0);
        for (i, plotted) in self.plots.iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            let (left, top) =
                (left + column as f64 * (width + gap), TITLE + row as f64 * (TITLE + height + AXIS));
            let frame = Frame { left, top, width, height };
            let plot = Plot::new(frame, x_domain, y_domain, lane);
            svg.text((frame.left, frame.top - 7.0), "plot-name", &plotted.title);
            plot.time_axis(svg, &y_ticks, column == 0);
            plot.x_axis(svg, &x_ticks);
            plot.series(svg, &plotted.series);
        }
        let rows = self.plots.len().div_ceil(columns);
        let bottom = rows as f64 * (TITLE + height + AXIS);
        svg.text((left + (size.width() - left) / 2.0, bottom + 4.0), "axis-name mid", x_name);
        bottom + 12.0
    }

    /// A sign for each series that has a name.
    fn legend(&self) -> Vec<LegendItem> {
        let named = self.series().filter(|series| !series.label.is_empty());
        let mut signs = once(named.map(|series| (series.look, &series.label)));
        signs.sort_by_key(|(look, _)| look.colour);
        signs.into_iter().map(|(look, label)| line_item(look, label)).collect()
    }
}
