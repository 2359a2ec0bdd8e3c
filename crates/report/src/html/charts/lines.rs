//! A plot with two logarithmic axes. Series are lines with their intervals as bands. A lane below the axis holds the
//! values that have no logarithm.

use super::markers::{Look, draw, draw_off_axis};
use super::{Scale, Spread, Svg, distinct, extent, round_extent};

/// Distance of the rows in the lane for values at or below zero.
const LANE_ROW: f64 = 11.0;
/// Rows the lane has room for at that distance; more are closer.
const LANE_ROWS: usize = 4;
/// Least space between two tick labels: without it 24 and 32 read as one number.
const LABEL_GAP: f64 = 5.0;
/// A cautious guess at the width of a letter of a tick label; fonts differ between machines.
const LETTER: f64 = 7.2;

/// A point with its interval.
pub(in crate::html) struct Point {
    pub(in crate::html) x: f64,
    y: Spread,
    tip: Vec<String>,
}

impl Point {
    /// A figure at a place of the x axis.
    pub(in crate::html) fn new(x: f64, y: impl Into<Spread>, tip: Vec<String>) -> Self {
        Self { x, y: y.into(), tip }
    }
}

/// Points that belong together, ascending in x.
pub(in crate::html) struct Series {
    pub(in crate::html) look: Look,
    pub(in crate::html) label: String,
    pub(in crate::html) points: Vec<Point>,
}

/// Where on the picture a plot is.
#[derive(Clone, Copy)]
pub(in crate::html) struct Frame {
    pub(in crate::html) left: f64,
    pub(in crate::html) top: f64,
    pub(in crate::html) width: f64,
    pub(in crate::html) height: f64,
}

impl Frame {
    pub(in crate::html) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(in crate::html) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// The range of the time axis that shows all positive values. Of an interval that nearly reaches zero it shows only
/// the part near the points. A logarithmic axis would otherwise spend most of its length on the rest.
pub(super) fn time_domain<'a>(series: impl IntoIterator<Item = &'a Series>) -> Option<(f64, f64)> {
    let points: Vec<&Point> = series.into_iter().flat_map(|series| &series.points).collect();
    let (lowest, _) = extent(points.iter().map(|point| point.y.median))?;
    let lows = points.iter().map(|point| point.y.ci_low).filter(|low| *low >= lowest / 3.0);
    round_extent(points.iter().flat_map(|point| [point.y.median, point.y.ci_high]).chain(lows))
}

/// Whether a value at or below zero is among the points.
pub(in crate::html) fn any_off_axis<'a>(series: impl IntoIterator<Item = &'a Series>) -> bool {
    series.into_iter().flat_map(|series| &series.points).any(|point| point.y.median <= 0.0)
}

/// Rows the lane for values at or below zero needs, one for each colour; none when there is no such value.
pub(super) fn lane_rows<'a>(series: impl IntoIterator<Item = &'a Series>) -> usize {
    let all: Vec<&Series> = series.into_iter().collect();
    if any_off_axis(all.iter().copied()) { colours(all).len() } else { 0 }
}

fn colours<'a>(all: impl IntoIterator<Item = &'a Series>) -> Vec<usize> {
    distinct(all.into_iter().map(|series| series.look.colour))
}

/// A frame with its scales.
pub(in crate::html) struct Plot {
    pub(in crate::html) frame: Frame,
    pub(in crate::html) x: Scale,
    pub(in crate::html) y: Scale,
    lane_rows: usize,
}

impl Plot {
    /// Scales for the domains; `lane_rows` keeps room for values at or below zero.
    pub(in crate::html) fn new(frame: Frame, x: (f64, f64), y: (f64, f64), lane_rows: usize) -> Self {
        // Points on the border would be cut in half.
        let inset = 10.0;
        let floor = frame.bottom() - lane_height(lane_rows);
        Self {
            frame,
            x: Scale::log(x, (frame.left + inset, frame.right() - inset)),
            y: Scale::log(y, (floor, frame.top)),
            lane_rows,
        }
    }

    fn floor(&self) -> f64 {
        self.frame.bottom() - lane_height(self.lane_rows)
    }

    /// Horizontal lines with their labels to the left when `labelled`, and the axis itself.
    pub(in crate::html) fn time_axis(&self, svg: &mut Svg, ticks: &[(f64, String)], labelled: bool) {
        for (value, label) in ticks {
            let y = self.y.at(*value);
            svg.line((self.frame.left, y), (self.frame.right(), y), "grid");
            if labelled {
                svg.text((self.frame.left - 7.0, y + 4.0), "tick end", label);
            }
        }
        svg.line((self.frame.left, self.floor()), (self.frame.right(), self.floor()), "axis");
        if self.lane_rows > 0 && labelled {
            svg.text((self.frame.left - 7.0, self.frame.bottom() - 4.0), "tick end", "≤\u{a0}0");
        }
    }

    /// Tick marks and labels below the plot; a label that would touch the one before it is left out.
    pub(in crate::html) fn x_axis(&self, svg: &mut Svg, ticks: &[(f64, String)]) {
        let bottom = self.frame.bottom();
        let mut free_from = f64::NEG_INFINITY;
        for (value, label) in ticks {
            let x = self.x.at(*value);
            svg.line((x, bottom), (x, bottom + 5.0), "axis");
            let half = label.chars().count() as f64 * LETTER / 2.0;
            if x - half > free_from {
                svg.text((x, bottom + 18.0), "tick mid", label);
                free_from = x + half + LABEL_GAP;
            }
        }
    }

    /// All series: bands below lines below points, so that no band hides a point.
    pub(in crate::html) fn series(&self, svg: &mut Svg, all: &[Series]) {
        for series in all {
            self.bands(svg, series);
        }
        for series in all {
            let class = format!("line {} d{}", series.look.class(), series.look.dash % 3);
            for run in series.points.split(|point| point.y.median <= 0.0).filter(|run| run.len() > 1) {
                let path: Vec<_> =
                    run.iter().map(|point| (self.x.at(point.x), self.y.at(point.y.median))).collect();
                svg.polyline(&path, false, &class);
            }
        }
        for (i, series) in all.iter().enumerate() {
            self.points(svg, series, self.lane_place(all, i));
        }
    }

    /// Where in the lane the points of a series lie: how far aside of their x, and at which height. Each colour has a
    /// row, and in a row the series are side by side, so that none hides another.
    fn lane_place(&self, all: &[Series], index: usize) -> (f64, f64) {
        let own = all[index].look.colour;
        let row = colours(all).iter().position(|colour| *colour == own).unwrap_or(0);
        let same = all.iter().filter(|series| series.look.colour == own).count() as f64;
        let before = all[..index].iter().filter(|series| series.look.colour == own).count() as f64;
        let widest = all.iter().map(|series| series.points.len()).max().unwrap_or(1).max(1) as f64;
        let step = (self.frame.width / widest / same).min(7.0);
        let rows = self.lane_rows.max(1) as f64;
        let height = lane_height(self.lane_rows) - 4.0;
        ((before - (same - 1.0) / 2.0) * step, self.floor() + 3.0 + height / rows * (row as f64 + 0.5))
    }

    fn bands(&self, svg: &mut Svg, series: &Series) {
        let class = format!("band {}", series.look.class());
        for run in series.points.split(|point| point.y.median <= 0.0) {
            if let [alone] = run {
                let x = self.x.at(alone.x);
                let (low, high) = (self.y.at(alone.y.ci_low), self.y.at(alone.y.ci_high));
                svg.line((x, low), (x, high), &format!("bar {}", series.look.class()));
                continue;
            }
            if run.is_empty() {
                continue;
            }
            let upper = run.iter().map(|point| (self.x.at(point.x), self.y.at(point.y.ci_high)));
            let lower = run.iter().rev().map(|point| (self.x.at(point.x), self.y.at(point.y.ci_low)));
            svg.polyline(&upper.chain(lower).collect::<Vec<_>>(), true, &class);
        }
    }

    fn points(&self, svg: &mut Svg, series: &Series, lane: (f64, f64)) {
        let class = series.look.class();
        for point in &series.points {
            let off_axis = point.y.median <= 0.0;
            let x = self.x.at(point.x);
            let at = if off_axis { (x + lane.0, lane.1) } else { (x, self.y.at(point.y.median)) };
            svg.mark(at, "", &point.tip, |svg| {
                if off_axis {
                    draw_off_axis(svg, at, false, &format!("off {class}"));
                } else {
                    draw(svg, series.look.shape, at, 3.6, &format!("dot {class}"));
                }
            });
        }
    }

    /// The series' names at their right ends, moved apart where they would overlap.
    pub(in crate::html) fn end_labels(&self, svg: &mut Svg, all: &[Series]) {
        let mut labels: Vec<(f64, &Series)> = all
            .iter()
            .filter_map(|series| {
                let last = series.points.iter().rev().find(|point| point.y.median > 0.0)?;
                Some((self.y.at(last.y.median), series))
            })
            .collect();
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wanted: Vec<f64> = labels.iter().map(|(y, _)| *y).collect();
        let placed = spread(&wanted, 14.0, self.frame.bottom() - 2.0);
        for ((_, series), y) in labels.iter().zip(placed) {
            let class = format!("series-name {}", series.look.class());
            svg.text((self.frame.right() + 8.0, y + 4.0), &class, &series.label);
        }
    }
}

fn lane_height(rows: usize) -> f64 {
    if rows == 0 { 0.0 } else { rows.min(LANE_ROWS) as f64 * LANE_ROW + 10.0 }
}

/// Moves ascending positions apart to at least `gap`, and keeps the last above `limit`.
fn spread(wanted: &[f64], gap: f64, limit: f64) -> Vec<f64> {
    let mut placed: Vec<f64> = Vec::with_capacity(wanted.len());
    for y in wanted {
        placed.push(placed.last().map_or(*y, |above: &f64| y.max(above + gap)));
    }
    let mut ceiling = limit;
    for y in placed.iter_mut().rev() {
        *y = y.min(ceiling);
        ceiling = *y - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::super::markers::Shape;
    use super::*;

    fn series(values: &[f64]) -> Series {
        let look = Look { colour: 0, shape: Shape::Circle, dash: 0 };
        let points = values.iter().zip(1u32..).map(|(y, x)| {
            let spread = Spread { median: *y, ci_low: y * 0.9, ci_high: y * 1.1 };
            Point::new(f64::from(x), spread, vec![format!("figure {y}")])
        });
        Series { look, label: "series".to_owned(), points: points.collect() }
    }

    #[test]
    fn values_at_or_below_zero_stay_on_the_plot() {
        let all = [series(&[100.0, -5.0, 0.0, 200.0])];
        assert!(any_off_axis(&all));
        let frame = Frame { left: 0.0, top: 0.0, width: 100.0, height: 100.0 };
        let plot = Plot::new(frame, (1.0, 4.0), time_domain(&all).unwrap(), lane_rows(&all));
        let mut svg = Svg::default();
        plot.series(&mut svg, &all);
        let drawn = svg.finish((100.0, 100.0), "", "");
        assert_eq!(drawn.matches("class=\"mark").count(), 4);
        assert_eq!(drawn.matches("class=\"off").count(), 2);
        // The line is broken there rather than drawn through.
        assert_eq!(drawn.matches("class=\"line").count(), 0);
    }

    #[test]
    fn in_the_lane_no_point_hides_another() {
        let mut all = [series(&[-1.0, -2.0]), series(&[-1.0, -2.0]), series(&[-1.0, -2.0])];
        all[2].look.colour = 1;
        assert_eq!(lane_rows(&all), 2);
        let frame = Frame { left: 0.0, top: 0.0, width: 100.0, height: 100.0 };
        let plot = Plot::new(frame, (1.0, 2.0), (1.0, 10.0), 2);
        let places = [0, 1, 2].map(|i| plot.lane_place(&all, i));
        assert!(places[0].0 < places[1].0 && places[0].1 == places[1].1);
        assert!(places[2].1 > places[0].1 && places[2].1 < frame.bottom());
    }

    #[test]
    fn an_interval_down_to_zero_does_not_stretch_the_axis() {
        let mut one = series(&[100.0, 120.0]);
        one.points[0].y.ci_low = 0.001;
        assert_eq!(time_domain(&[one]), Some((50.0, 200.0)));
    }

    #[test]
    fn labels_are_moved_apart() {
        assert_eq!(spread(&[10.0, 11.0, 50.0], 14.0, 100.0), [10.0, 24.0, 50.0]);
        assert_eq!(spread(&[95.0, 96.0], 14.0, 100.0), [86.0, 100.0]);
    }
}
