//! Ratios with their intervals on one logarithmic axis, a row each.

use super::markers::{Look, draw as draw_marker};
use super::{Chart, Scale, Size, Svg, round_extent, ticks};

/// A ratio in a row of its own.
pub(in crate::html) struct Ratio {
    pub(in crate::html) look: Look,
    pub(in crate::html) label: String,
    pub(in crate::html) value: f64,
    /// Both ends of its interval, where it has one.
    pub(in crate::html) interval: Option<(f64, f64)>,
    pub(in crate::html) tip: Vec<String>,
}

const AXIS: f64 = 24.0;
const ROW: f64 = 24.0;
/// The axis is at least as wide as this ratio and its inverse.
const LEAST: f64 = 1.1;

impl Chart for Vec<Ratio> {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let ends = self.iter().flat_map(|row| {
            let (low, high) = row.interval.unwrap_or((row.value, row.value));
            [row.value, low, high]
        });
        let domain =
            round_extent(ends.filter(|end| *end > 0.0).chain([LEAST, 1.0 / LEAST])).unwrap_or((0.1, 10.0));
        let (left, right) = (size.pick(182.0, 130.0), size.width() - size.pick(20.0, 10.0));
        let x = Scale::log(domain, (left + 8.0, right - 8.0));
        let bottom = AXIS + self.len() as f64 * ROW;
        for (value, label) in ticks(domain, size.pick(9, 4), |value| format!("{value}×")) {
            let at = x.at(value);
            svg.line((at, AXIS), (at, bottom), if value == 1.0 { "rule" } else { "grid" });
            svg.text((at, AXIS - 8.0), "tick mid", &label);
        }
        for (row, y) in self.iter().zip((0..).map(|row| AXIS + (f64::from(row) + 0.5) * ROW)) {
            svg.text((left - 12.0, y + 4.0), "row-detail end", &row.label);
            let colour = row.look.class();
            svg.mark((x.at(row.value.max(domain.0)), y), "row", &row.tip, |svg| {
                svg.rect((left, y - ROW / 2.0), (size.width() - left, ROW), "hit");
                if let Some((low, high)) = row.interval {
                    let end = |value: f64| x.at(value.clamp(domain.0, domain.1));
                    svg.line((end(low), y), (end(high), y), &format!("bar {colour}"));
                }
                draw_marker(
                    svg,
                    row.look.shape,
                    (x.at(row.value.max(domain.0)), y),
                    4.6,
                    &format!("dot {colour}"),
                );
            });
        }
        svg.text((left.midpoint(right), bottom + 18.0), "axis-name mid", "new / old, logarithmic");
        bottom + 24.0
    }
}
