//! Small plots side by side on shared axes.

use super::super::scale::{extent, ticks};
use super::super::svg::Svg;
use super::Size;
use super::lines::{Frame, Plot, Series, lane_rows, time_domain};

/// One small plot.
pub(in crate::html) struct Multiple {
    pub(in crate::html) title: String,
    pub(in crate::html) series: Vec<Series>,
}

/// What the plots have in common.
pub(in crate::html) struct Shared<'a> {
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

/// Plots in rows, as many to a row as fit.
pub(in crate::html) fn draw(multiples: &[Multiple], shared: &Shared<'_>, size: Size) -> String {
    let all = || multiples.iter().flat_map(|multiple| &multiple.series);
    let xs = all().flat_map(|series| &series.points).map(|point| point.x);
    let Some(x_domain) = extent(xs) else { return String::new() };
    let y_domain = time_domain(all()).unwrap_or((1.0, 10.0));
    let lane = lane_rows(all());

    let columns = size.pick(multiples.len().clamp(1, 3), 1);
    let left = size.pick(64.0, 52.0);
    // The last label of a plot and the first of the next one reach into it.
    let gap = 36.0;
    let width = (size.width() - left - 16.0 - gap * (columns - 1) as f64) / columns as f64;
    let height = size.pick(170.0, 140.0);
    let y_ticks: Vec<_> =
        ticks(y_domain, size.pick(7, 5)).into_iter().map(|t| (t, (shared.y_tick)(t))).collect();

    let mut svg = Svg::default();
    for (i, multiple) in multiples.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let frame = Frame {
            left: left + column as f64 * (width + gap),
            top: TITLE + row as f64 * (TITLE + height + AXIS),
            width,
            height,
        };
        let plot = Plot::new(frame, x_domain, y_domain, lane);
        svg.text((frame.left, frame.top - 7.0), "plot-name", &multiple.title);
        plot.time_axis(&mut svg, &y_ticks, column == 0);
        plot.x_axis(&mut svg, &shared.x_ticks);
        plot.series(&mut svg, &multiple.series);
    }
    let rows = multiples.len().div_ceil(columns);
    let bottom = rows as f64 * (TITLE + height + AXIS);
    svg.text((left + (size.width() - left) / 2.0, bottom + 4.0), "axis-name mid", shared.x_name);
    svg.finish((size.width(), bottom + 12.0), size.class(), &shared.label)
}
