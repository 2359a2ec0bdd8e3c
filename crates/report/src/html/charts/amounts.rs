//! Bars from zero on an even axis, each with its figure: lengths can be compared.

use super::super::page::{Figure, Table};
use super::super::scale::Linear;
use super::super::svg::Svg;
use super::super::text;
use super::Size;

/// One bar.
pub(in crate::html) struct Amount {
    /// The colour's class.
    pub(in crate::html) colour: String,
    pub(in crate::html) value: f64,
    /// The value in words, shown beside the bar.
    pub(in crate::html) figure: String,
    pub(in crate::html) tip: Vec<String>,
}

/// A thing and its bar for each subject.
pub(in crate::html) struct Thing {
    pub(in crate::html) label: String,
    pub(in crate::html) bars: Vec<Amount>,
}

const BAR: f64 = 14.0;
const NAME: f64 = 18.0;
/// Letters a label has room for, wide and narrow.
const LETTERS: (usize, usize) = (30, 44);

/// Whether there is a bar above zero.
pub(in crate::html) fn any(things: &[Thing]) -> bool {
    things.iter().flat_map(|thing| &thing.bars).any(|bar| bar.value > 0.0)
}

/// The chart with its table.
pub(in crate::html) fn figure(
    id: impl Into<String>,
    caption: &str,
    label: &str,
    table: Table,
    things: &[Thing],
) -> Figure {
    Figure::new(id, caption, table, |size| draw(things, label, size))
}

/// The chart as SVG.
fn draw(things: &[Thing], label: &str, size: Size) -> String {
    let high = things.iter().flat_map(|thing| &thing.bars).map(|bar| bar.value).fold(0.0, f64::max);
    let left = size.pick(226.0, 0.0);
    let x = Linear::new((0.0, high), (left, size.width() - size.pick(86.0, 76.0)));
    let mut svg = Svg::default();
    let mut y = 4.0;
    for thing in things {
        let height = thing.bars.len() as f64 * (BAR + 2.0);
        match size {
            Size::Wide => {
                let name = text::shortened(&thing.label, LETTERS.0);
                svg.text((left - 12.0, y + height / 2.0 + 3.0), "row-name end", &name);
            }
            Size::Narrow => {
                svg.text((0.0, y + 12.0), "row-name", &text::shortened(&thing.label, LETTERS.1));
                y += NAME;
            }
        }
        for bar in &thing.bars {
            let end = x.at(bar.value);
            svg.mark((end, y + BAR / 2.0), "row", &bar.tip, |svg| {
                svg.rect((left, y - 1.0), (size.width() - left, BAR + 2.0), "hit");
                // What is there at all is seen.
                svg.rect((left, y), ((end - left).max(1.0), BAR), &format!("fill {}", bar.colour));
                svg.text((end + 8.0, y + BAR - 2.5), "value halo", &bar.figure);
            });
            y += BAR + 2.0;
        }
        y += size.pick(6.0, 8.0);
    }
    svg.line((left, 0.0), (left, y), "axis");
    svg.finish((size.width(), y + 2.0), size.class(), label)
}
