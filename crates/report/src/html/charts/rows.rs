//! Rows of one bar each under a common axis: a name next to the bar on a desk, above it on a phone.

use super::{Size, Svg, text};

/// Height of a bar.
pub(super) const BAR: f64 = 20.0;
const NAME: f64 = 18.0;
const AXIS: f64 = 24.0;
/// Letters a name has room for.
const LETTERS: (usize, usize) = (20, 44);

/// Where the bars begin.
pub(super) fn left(size: Size) -> f64 {
    size.pick(150.0, 1.0)
}

/// A mark of the axis on top, with its line down to `bottom`.
pub(super) fn tick(svg: &mut Svg, at: f64, axis: f64, bottom: f64, label: &str) {
    svg.line((at, axis - 6.0), (at, bottom), "grid");
    // On a phone the axis begins at the border, where a centred label would be cut.
    let anchor = if at < 12.0 { "tick" } else { "tick mid" };
    svg.text((at, axis - 11.0), anchor, label);
}

/// Draws ticks by their place in pixels, and `gap` pixels between rows; `draw` gets the top of an item's bar.
pub(super) fn draw<T>(
    svg: &mut Svg,
    items: &[T],
    ticks: &[(f64, String)],
    (gap, size): (f64, Size),
    name: impl Fn(&T) -> &str,
    mut draw: impl FnMut(&mut Svg, &T, f64),
) -> f64 {
    let row = BAR + gap + size.pick(0.0, NAME);
    let bottom = AXIS + items.len() as f64 * row;
    for (at, label) in ticks {
        tick(svg, *at, AXIS, bottom, label);
    }
    for (i, item) in items.iter().enumerate() {
        let top = AXIS + i as f64 * row;
        if size == Size::Wide {
            let name = text::shortened(name(item), LETTERS.0);
            svg.text((left(size) - 12.0, top + BAR / 2.0 + 4.0), "row-name end", &name);
        } else {
            svg.text((0.0, top + 13.0), "row-name halo", &text::shortened(name(item), LETTERS.1));
        }
        draw(svg, item, top + size.pick(0.0, NAME));
    }
    bottom + 4.0
}
