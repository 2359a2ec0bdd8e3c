//! Bars from zero on an even axis, each with its figure: lengths can be compared.

use super::{Chart, Scale, Size, Svg, gathered, text};

/// One bar.
pub(in crate::html) struct Amount {
    /// The colour's class.
    pub(in crate::html) colour: String,
    pub(in crate::html) value: f64,
    /// The value in words, shown next to the bar.
    pub(in crate::html) figure: String,
    pub(in crate::html) tip: Vec<String>,
}

/// Things, each with a bar for each subject.
#[derive(Default)]
pub(in crate::html) struct Amounts {
    things: Vec<(String, Vec<Amount>)>,
}

const BAR: f64 = 14.0;
const NAME: f64 = 18.0;
/// Letters a label has room for, wide and narrow.
const LETTERS: (usize, usize) = (30, 44);

impl Amounts {
    /// Adds a bar of a thing.
    pub(in crate::html) fn bar(&mut self, thing: &str, bar: Amount) {
        gathered(&mut self.things, thing.to_owned()).push(bar);
    }

    fn bars(&self) -> impl Iterator<Item = &Amount> {
        self.things.iter().flat_map(|(_, bars)| bars)
    }

    /// The chart, if there is a bar.
    pub(in crate::html) fn some(&self) -> Option<&Self> {
        (!self.things.is_empty()).then_some(self)
    }

    /// The chart, if there is a bar above zero.
    pub(in crate::html) fn above_zero(&self) -> Option<&Self> {
        self.bars().any(|bar| bar.value > 0.0).then_some(self)
    }
}

impl Chart for Amounts {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let high = self.bars().map(|bar| bar.value).fold(0.0, f64::max);
        let left = size.pick(226.0, 0.0);
        let x = Scale::linear((0.0, high), (left, size.width() - size.pick(86.0, 76.0)));
        let mut y = 4.0;
        for (label, bars) in &self.things {
            let height = bars.len() as f64 * (BAR + 2.0);
            match size {
                Size::Wide => {
                    let name = text::shortened(label, LETTERS.0);
                    svg.text((left - 12.0, y + height / 2.0 + 3.0), "row-name end", &name);
                }
                Size::Narrow => {
                    svg.text((0.0, y + 12.0), "row-name", &text::shortened(label, LETTERS.1));
                    y += NAME;
                }
            }
            for bar in bars {
                let end = x.at(bar.value);
                svg.mark((end, y + BAR / 2.0), "row", &bar.tip, |svg| {
                    svg.rect((left, y - 1.0), (size.width() - left, BAR + 2.0), "hit");
                    // A bar is at least one unit wide, so that a small value is visible.
                    svg.rect((left, y), ((end - left).max(1.0), BAR), &format!("fill {}", bar.colour));
                    svg.text((end + 8.0, y + BAR - 2.5), "value halo", &bar.figure);
                });
                y += BAR + 2.0;
            }
            y += size.pick(6.0, 8.0);
        }
        svg.line((left, 0.0), (left, y), "axis");
        y + 2.0
    }
}
