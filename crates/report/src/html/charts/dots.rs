//! Dots with intervals on one logarithmic axis: a row for each figure, grouped under headings.

use super::markers::{Look, draw as draw_marker, draw_off_axis};
use super::{Chart, Scale, Size, Spread, Svg, extent, round_extent, text, ticks};

/// A figure in a row of its own.
pub(in crate::html) struct Dot {
    pub(in crate::html) look: Look,
    /// What the row is, within its group; empty when it is the same as the row above.
    pub(in crate::html) label: String,
    pub(in crate::html) value: Spread,
    pub(in crate::html) undisturbed: f64,
    pub(in crate::html) tip: Vec<String>,
}

/// Rows of one method.
pub(in crate::html) struct MethodRows {
    pub(in crate::html) label: String,
    pub(in crate::html) dots: Vec<Dot>,
}

/// Groups under one heading, such as a placement.
pub(in crate::html) struct Facet {
    pub(in crate::html) title: String,
    pub(in crate::html) detail: String,
    pub(in crate::html) groups: Vec<MethodRows>,
}

const HEADING: f64 = 30.0;
const AXIS: f64 = 24.0;

struct Layout {
    size: Size,
    left: f64,
    row: f64,
    x: Scale,
}

impl Chart for Vec<Facet> {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let dots: Vec<&Dot> =
            self.iter().flat_map(|facet| &facet.groups).flat_map(|group| &group.dots).collect();
        let domain = domain(&dots);
        let (left, right) = (size.pick(182.0, 92.0), size.width() - size.pick(80.0, 66.0));
        let x = Scale::log(domain, (left + 8.0, right - 8.0));
        let layout = Layout { size, left, row: size.pick(19.0, 22.0), x };
        let bottom = layout.height(self);

        for (value, label) in ticks(domain, size.pick(9, 4), text::ns_tick) {
            let at = layout.x.at(value);
            svg.line((at, AXIS), (at, bottom), "grid");
            svg.text((at, AXIS - 8.0), "tick mid", &label);
            svg.text((at, bottom + 16.0), "tick mid", &label);
        }
        let mut y = AXIS;
        for facet in self {
            y = layout.facet(svg, facet, y);
        }
        svg.text(
            (left.midpoint(right), bottom + 34.0),
            "axis-name mid",
            size.pick("time per switch, logarithmic", "time per switch (log)"),
        );
        bottom + 40.0
    }
}

fn domain(dots: &[&Dot]) -> (f64, f64) {
    let lowest =
        extent(dots.iter().flat_map(|dot| [dot.value.median, dot.undisturbed])).map_or(1.0, |(low, _)| low);
    let ends = dots.iter().map(|dot| dot.value.ci_low).filter(|end| *end >= lowest / 3.0);
    let values = dots.iter().flat_map(|dot| [dot.value.median, dot.undisturbed, dot.value.ci_high]);
    round_extent(values.chain(ends)).unwrap_or((1.0, 10.0))
}

impl Layout {
    fn group_heading(&self) -> f64 {
        // A phone has no room for two columns of labels: the method gets a line of its own.
        self.size.pick(0.0, 18.0)
    }

    fn height(&self, facets: &[Facet]) -> f64 {
        let group = |group: &MethodRows| {
            self.group_heading() + group.dots.len() as f64 * self.row + self.size.pick(5.0, 3.0)
        };
        facets.iter().map(|facet| HEADING + facet.groups.iter().map(group).sum::<f64>() + 4.0).sum::<f64>()
            + AXIS
    }

    fn facet(&self, svg: &mut Svg, facet: &Facet, top: f64) -> f64 {
        let mut y = top + HEADING;
        svg.line((0.0, top + 7.0), (self.size.width(), top + 7.0), "rule");
        svg.rect((0.0, top + 8.0), (self.size.width(), HEADING - 9.0), "paper");
        svg.text((0.0, y - 7.0), "plot-name", &facet.title);
        svg.text((self.size.width(), y - 7.0), "tick end", &facet.detail);
        for group in &facet.groups {
            svg.text((0.0, y + 14.0), "row-name", &group.label);
            y += self.group_heading();
            for dot in &group.dots {
                self.dot(svg, dot, y + self.row / 2.0);
                y += self.row;
            }
            y += self.size.pick(5.0, 3.0);
        }
        y + 4.0
    }

    fn dot(&self, svg: &mut Svg, dot: &Dot, y: f64) {
        let colour = dot.look.class();
        svg.text((self.left - 12.0, y + 4.0), "row-detail end", &dot.label);
        let at = (self.x.at(dot.value.median), y);
        svg.mark(at, "row", &dot.tip, |svg| {
            svg.rect((self.left, y - self.row / 2.0), (self.size.width() - self.left, self.row), "hit");
            let low = self.x.at(dot.undisturbed);
            svg.line((low, y), (at.0, y), &format!("gap {colour}"));
            if dot.undisturbed > 0.0 {
                draw_marker(svg, dot.look.shape, (low, y), 4.0, &format!("hollow {colour}"));
            } else {
                draw_off_axis(svg, (self.left + 6.0, y), true, &format!("hollow {colour}"));
            }
            if dot.value.median > 0.0 {
                svg.line(
                    (self.x.at(dot.value.ci_low), y),
                    (self.x.at(dot.value.ci_high), y),
                    &format!("bar {colour}"),
                );
                draw_marker(svg, dot.look.shape, at, 4.6, &format!("dot {colour}"));
            } else {
                draw_off_axis(svg, (self.left + 6.0, y), true, &format!("off {colour}"));
            }
            svg.text((self.size.width(), y + 4.0), "value end", &text::ns(dot.value.median));
        });
    }
}
