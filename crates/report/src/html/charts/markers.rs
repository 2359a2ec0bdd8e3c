//! Signs of series: a colour and a shape together, so that neither a colour-blind reader nor a grey print loses one.

use serde::Serialize;

use super::Svg;

/// Colours the style defines; more series than colours repeat them.
pub(in crate::html) const COLOURS: usize = 6;

/// The shape of a series' points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::html) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Shape {
    /// The `index`-th shape.
    pub(in crate::html) fn nth(index: usize) -> Self {
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond][index % 4]
    }
}

/// A sign and what it stands for.
#[derive(Clone, Serialize)]
pub(in crate::html) struct LegendItem {
    /// Markup of the sign.
    sign: String,
    label: String,
}

/// How a series looks.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::html) struct Look {
    pub(in crate::html) colour: usize,
    pub(in crate::html) shape: Shape,
    /// 0 is a solid line; 1 and 2 are dashed.
    pub(in crate::html) dash: usize,
}

impl Look {
    /// Of a colour and a shape by their numbers.
    pub(in crate::html) fn new(colour: usize, shape: usize, dash: usize) -> Self {
        Self { colour, shape: Shape::nth(shape), dash }
    }

    /// The colour's class.
    pub(in crate::html) fn class(self) -> String {
        format!("c{}", self.colour % COLOURS)
    }
}

/// Draws a point of the given shape; areas are made equal, so that no shape looks heavier.
pub(in crate::html) fn draw(svg: &mut Svg, shape: Shape, at: (f64, f64), radius: f64, class: &str) {
    let (x, y) = at;
    match shape {
        Shape::Circle => svg.circle(at, radius, class),
        Shape::Square => {
            let half = radius * 0.89;
            svg.rect((x - half, y - half), (2.0 * half, 2.0 * half), class);
        }
        Shape::Triangle => {
            let r = radius * 1.3;
            svg.polyline(
                &[(x, y - r), (x + 0.95 * r, y + 0.7 * r), (x - 0.95 * r, y + 0.7 * r)],
                true,
                class,
            );
        }
        Shape::Diamond => {
            let r = radius * 1.28;
            svg.polyline(&[(x, y - r), (x + r, y), (x, y + r), (x - r, y)], true, class);
        }
    }
}

/// Marks a value that a logarithmic axis cannot hold: an arrow that points off the axis.
pub(in crate::html) fn draw_off_axis(svg: &mut Svg, at: (f64, f64), leftwards: bool, class: &str) {
    let (x, y) = at;
    let points = if leftwards {
        [(x - 6.0, y), (x + 3.0, y - 5.0), (x + 3.0, y + 5.0)]
    } else {
        [(x, y + 4.5), (x - 4.5, y - 3.5), (x + 4.5, y - 3.5)]
    };
    svg.polyline(&points, true, class);
}

/// A series' sign in a legend: its point on a piece of its line.
pub(in crate::html) fn line_item(look: Look, label: impl Into<String>) -> LegendItem {
    item(label, 28.0, |svg| {
        svg.line((1.0, 7.0), (27.0, 7.0), &format!("line {} d{}", look.class(), look.dash % 3));
        draw(svg, look.shape, (14.0, 7.0), 4.0, &format!("dot {}", look.class()));
    })
}

/// A sign with a point and its interval.
pub(in crate::html) fn interval_item(look: Look, label: impl Into<String>) -> LegendItem {
    item(label, 22.0, |svg| {
        svg.line((2.0, 7.0), (20.0, 7.0), &format!("bar {}", look.class()));
        draw(svg, look.shape, (11.0, 7.0), 4.5, &format!("dot {}", look.class()));
    })
}

/// The sign of the undisturbed figure: a hollow point.
pub(in crate::html) fn hollow_item(label: impl Into<String>) -> LegendItem {
    item(label, 14.0, |svg| draw(svg, Shape::Circle, (7.0, 7.0), 4.5, "hollow ink"))
}

/// A block of one colour, for profiles.
pub(in crate::html) fn block_item(class: &str, label: impl Into<String>) -> LegendItem {
    item(label, 14.0, |svg| svg.rect((1.0, 1.0), (12.0, 12.0), class))
}

/// A thin line: nothing went on.
pub(in crate::html) fn idle_item(label: impl Into<String>) -> LegendItem {
    item(label, 28.0, |svg| svg.line((1.0, 7.0), (27.0, 7.0), "axis"))
}

/// A shape without a colour, where colour stands for something else.
pub(in crate::html) fn shape_item(shape: Shape, dash: usize, label: impl Into<String>) -> LegendItem {
    item(label, 28.0, |svg| {
        svg.line((1.0, 7.0), (27.0, 7.0), &format!("line ink d{}", dash % 3));
        draw(svg, shape, (14.0, 7.0), 4.0, "dot ink");
    })
}

/// The sign of values at or below zero.
pub(in crate::html) fn off_axis_item(label: impl Into<String>) -> LegendItem {
    item(label, 14.0, |svg| draw_off_axis(svg, (7.0, 6.0), false, "off ink"))
}

fn item(label: impl Into<String>, width: f64, draw: impl FnOnce(&mut Svg)) -> LegendItem {
    let mut svg = Svg::default();
    draw(&mut svg);
    LegendItem { sign: svg.finish_decoration((width, 14.0)), label: label.into() }
}
