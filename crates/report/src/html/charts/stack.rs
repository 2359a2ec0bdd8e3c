//! Bars divided into parts of a whole.

use super::super::scale::Linear;
use super::super::svg::Svg;
use super::super::text;
use super::Size;

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

const BAR: f64 = 20.0;
const NAME: f64 = 18.0;
const AXIS: f64 = 24.0;

/// The chart as SVG.
pub(in crate::html) fn draw(stacks: &[Stack], label: &str, size: Size) -> String {
    let left = size.pick(150.0, 1.0);
    let x = Linear::new((0.0, 1.0), (left, size.width() - 24.0));
    let row = size.pick(BAR + 7.0, NAME + BAR + 8.0);
    let bottom = AXIS + stacks.len() as f64 * row;
    let mut svg = Svg::default();
    for quarter in 0..=4u32 {
        let share = f64::from(quarter) / 4.0;
        let at = x.at(share);
        svg.line((at, AXIS - 6.0), (at, bottom), "grid");
        // On a phone the axis begins at the border, where a centred label would be cut.
        let anchor = if at < 12.0 { "tick" } else { "tick mid" };
        svg.text((at, AXIS - 11.0), anchor, &text::percent_tick(share));
    }
    for (i, stack) in stacks.iter().enumerate() {
        let top = AXIS + i as f64 * row;
        let bar_top = match size {
            Size::Wide => {
                let name = text::shortened(&stack.label, 20);
                svg.text((left - 12.0, top + BAR / 2.0 + 4.0), "row-name end", &name);
                top
            }
            Size::Narrow => {
                svg.text((0.0, top + 13.0), "row-name halo", &text::shortened(&stack.label, 44));
                top + NAME
            }
        };
        let mut before = 0.0;
        for part in stack.parts.iter().filter(|part| part.share > 0.0) {
            let (from, to) = (x.at(before), x.at(before + part.share));
            before += part.share;
            svg.mark((from.midpoint(to), bar_top), "area", &part.tip, |svg| {
                svg.rect((from, bar_top), (to - from, BAR), &format!("part {}", part.class));
            });
        }
    }
    svg.finish((size.width(), bottom + 4.0), size.class(), label)
}
