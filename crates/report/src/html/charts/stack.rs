//! Bars divided into parts of a whole.

use super::{Chart, Scale, Size, Svg, rows, text};

/// A part of a bar.
pub(in crate::html) struct StackPart {
    /// The class of its colour.
    pub(in crate::html) class: String,
    /// Its share of the whole, 0 to 1.
    pub(in crate::html) share: f64,
    pub(in crate::html) tip: Vec<String>,
}

/// A bar.
pub(in crate::html) struct Stack {
    pub(in crate::html) label: String,
    pub(in crate::html) parts: Vec<StackPart>,
}

impl Chart for Vec<Stack> {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let x = Scale::linear((0.0, 1.0), (rows::left(size), size.width() - 24.0));
        let quarters = (0..=4u32).map(|quarter| f64::from(quarter) / 4.0);
        let ticks: Vec<_> = quarters.map(|share| (x.at(share), text::percent_tick(share))).collect();
        let bar = |svg: &mut Svg, stack: &Stack, top: f64| {
            let mut before = 0.0;
            for part in stack.parts.iter().filter(|part| part.share > 0.0) {
                let (from, to) = (x.at(before), x.at(before + part.share));
                before += part.share;
                svg.mark((from.midpoint(to), top), "area", &part.tip, |svg| {
                    svg.rect((from, top), (to - from, rows::BAR), &format!("part {}", part.class));
                });
            }
        };
        rows::draw(svg, self, &ticks, (size.pick(7.0, 8.0), size), |stack| &stack.label, bar)
    }
}
