//! Cells in rows and columns, shaded by size: what a heat map and a square of counts share.

use super::Svg;

/// Shades the style defines.
const SHADES: usize = 7;
/// Where the rows begin.
const TOP: f64 = 44.0;

/// A number in a row and a column.
pub(in crate::html) struct GridCell {
    pub(in crate::html) row: usize,
    pub(in crate::html) column: usize,
    pub(in crate::html) value: f64,
    /// Something is wrong with the figure.
    pub(in crate::html) flagged: bool,
    pub(in crate::html) tip: Vec<String>,
}

/// Where cells lie.
pub(super) struct Grid {
    pub(super) left: f64,
    /// Width and height of a cell.
    pub(super) cell: (f64, f64),
}

impl Grid {
    /// The middle of a cell.
    pub(super) fn middle(&self, row: usize, column: usize) -> (f64, f64) {
        (self.left + (column as f64 + 0.5) * self.cell.0, TOP + (row as f64 + 0.5) * self.cell.1)
    }

    /// What the columns are and what the rows, with its place and class, and the head of each column.
    pub(super) fn heads(
        &self,
        svg: &mut Svg,
        columns_name: &str,
        (rows_x, rows_class, rows_name): (f64, &str, &str),
        columns: impl Iterator<Item = String>,
    ) {
        svg.text((self.left, 14.0), "axis-name", columns_name);
        svg.text((rows_x, TOP - 10.0), rows_class, rows_name);
        for (column, head) in columns.enumerate() {
            svg.text((self.middle(0, column).0, TOP - 10.0), "tick mid", &head);
        }
    }

    /// A cell without a figure.
    pub(super) fn blank(&self, svg: &mut Svg, (row, column): (usize, usize), class: &str) {
        let at = (self.left + column as f64 * self.cell.0, TOP + row as f64 * self.cell.1);
        svg.rect((at.0 + 1.0, at.1 + 1.0), (self.cell.0 - 2.0, self.cell.1 - 2.0), class);
    }

    /// A cell with its figure, small or not.
    pub(super) fn cell(
        &self,
        svg: &mut Svg,
        place: (usize, usize),
        shade: &str,
        (small, figure): (bool, &str),
        tip: &[String],
    ) {
        let (x, y) = self.middle(place.0, place.1);
        svg.mark((x, y), "area", tip, |svg| {
            self.blank(svg, place, &format!("cell {shade}"));
            let class = if small { "cell-text small mid" } else { "cell-text mid" };
            svg.text((x, y + 4.0), &format!("{class} t{shade}"), figure);
        });
    }

    /// The height of the picture.
    pub(super) fn height(&self, rows: usize) -> f64 {
        TOP + rows as f64 * self.cell.1 + 2.0
    }
}

/// The class of a value's shade within a span, by the logarithm.
pub(super) fn shade(value: f64, span: (f64, f64)) -> String {
    if value <= 0.0 {
        return "off-scale".to_owned();
    }
    let (low, high) = span;
    let share = if high > low { (value / low).ln() / (high / low).ln() } else { 0.0 };
    format!("q{}", ((share * SHADES as f64) as usize).min(SHADES - 1))
}
