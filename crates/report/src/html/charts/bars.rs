//! Bars on one logarithmic axis, for operations that lie orders of magnitude apart.

use super::{Chart, Scale, Size, Spread, Svg, extent, text, ticks};

/// One bar.
pub(in crate::html) struct Bar {
    /// The colour's class.
    pub(in crate::html) colour: String,
    pub(in crate::html) value: Spread,
    pub(in crate::html) tip: Vec<String>,
}

/// An operation and its bar in each profile.
pub(in crate::html) struct Operation {
    pub(in crate::html) label: String,
    pub(in crate::html) bars: Vec<Bar>,
}

const BAR: f64 = 16.0;
const AXIS: f64 = 24.0;

impl Chart for Vec<Operation> {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let bars = self.iter().flat_map(|operation| &operation.bars);
        let Some((low, high)) = extent(bars.flat_map(|bar| [bar.value.median, bar.value.ci_high])) else {
            return 0.0;
        };
        // A bar needs a beginning: the decade below the smallest, for a logarithmic axis has no zero.
        let domain = (10f64.powf((low / 1.5).log10().floor()), 10f64.powf((high * 1.02).log10().ceil()));
        let left = size.pick(178.0, 0.0);
        let x = Scale::log(domain, (left, size.width() - size.pick(76.0, 66.0)));
        let name_row = size.pick(0.0, 18.0);
        let height = |operation: &Operation| name_row + operation.bars.len() as f64 * (BAR + 3.0) + 12.0;
        let bottom = AXIS + self.iter().map(height).sum::<f64>();

        for (value, label) in ticks(domain, size.pick(7, 4), text::ns_tick) {
            let at = x.at(value);
            svg.line((at, AXIS - 4.0), (at, bottom), "grid");
            // On a phone the axis begins at the border, where a centred label would be cut.
            let anchor = if at < 12.0 { "tick" } else { "tick mid" };
            svg.text((at, AXIS - 10.0), anchor, &label);
        }
        let mut y = AXIS + 4.0;
        for operation in self {
            let middle = y + (height(operation) - 12.0) / 2.0;
            match size {
                Size::Wide => svg.text((left - 12.0, middle + 4.0), "row-name end", &operation.label),
                Size::Narrow => svg.text((0.0, y + 12.0), "row-name halo", &operation.label),
            }
            let mut top = y + name_row;
            for bar in &operation.bars {
                draw_bar(svg, bar, &x, top);
                top += BAR + 3.0;
            }
            y += height(operation);
        }
        bottom + 4.0
    }
}

fn draw_bar(svg: &mut Svg, bar: &Bar, x: &Scale, top: f64) {
    let (start, end) = (x.at(x.domain().0), x.at(bar.value.median));
    svg.mark((end, top + BAR / 2.0), "", &bar.tip, |svg| {
        svg.rect((start, top), (end - start, BAR), &format!("fill {}", bar.colour));
        let (from, to) = (x.at(bar.value.ci_low), x.at(bar.value.ci_high));
        // A narrower interval would be a blot on the bar's end.
        if to - from > 4.0 {
            svg.line((from, top + BAR / 2.0), (to, top + BAR / 2.0), "bar whisker");
        }
        let beside = x.at(bar.value.ci_high).max(end) + 8.0;
        svg.text((beside, top + BAR / 2.0 + 4.0), "value halo", &text::ns(bar.value.median));
    });
}
