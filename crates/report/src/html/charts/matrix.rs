//! A square of counts: who did it, and to whom. Both sides have the same names in the same order, so that a number stands for a name.

use super::heat_map::{draw_cell, shade};
use super::{Chart, Size, Svg, text};

/// One count.
pub(in crate::html) struct MatrixCell {
    pub(in crate::html) row: usize,
    pub(in crate::html) column: usize,
    pub(in crate::html) count: u64,
    pub(in crate::html) tip: Vec<String>,
}

/// The square: names, and the cells that are not zero.
pub(in crate::html) struct Matrix {
    pub(in crate::html) names: Vec<String>,
    pub(in crate::html) cells: Vec<MatrixCell>,
    pub(in crate::html) rows_name: &'static str,
    pub(in crate::html) columns_name: String,
}

const TOP: f64 = 44.0;

impl Chart for Matrix {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let left = size.pick(186.0, 118.0);
        let letters = size.pick(22, 13);
        // A column without a count would say nothing; a row still names its number.
        let columns: Vec<usize> =
            (0..self.names.len()).filter(|i| self.cells.iter().any(|cell| cell.column == *i)).collect();
        let cell_width = ((size.width() - left) / columns.len().max(1) as f64).min(size.pick(74.0, 60.0));
        let cell_height = size.pick(28.0, 30.0);
        let low = self.cells.iter().map(|cell| cell.count).min().unwrap_or(1).max(1);
        let high = self.cells.iter().map(|cell| cell.count).max().unwrap_or(1);
        let span = (low as f64, high as f64);
        svg.text((left, 14.0), "axis-name", &self.columns_name);
        svg.text((0.0, TOP - 10.0), "axis-name", self.rows_name);
        for (place, i) in columns.iter().enumerate() {
            let x = left + (place as f64 + 0.5) * cell_width;
            svg.text((x, TOP - 10.0), "tick mid", &self.number(*i));
        }
        for (i, name) in self.names.iter().enumerate() {
            let number = self.number(i);
            let y = TOP + (i as f64 + 0.5) * cell_height + 4.0;
            svg.text((left - 10.0, y), "tick end", &number);
            svg.text((0.0, y), "row-name", &text::shortened(name, letters));
            for (place, column) in columns.iter().enumerate() {
                let at = (left + place as f64 * cell_width, TOP + i as f64 * cell_height);
                let size = (cell_width, cell_height);
                let Some(cell) = self.cells.iter().find(|cell| cell.row == i && cell.column == *column)
                else {
                    svg.rect((at.0 + 1.0, at.1 + 1.0), (size.0 - 2.0, size.1 - 2.0), "cell");
                    continue;
                };
                let count = cell.count as f64;
                draw_cell(svg, at, size, &shade(count, span), (true, &text::compact(count)), &cell.tip);
            }
        }
        TOP + self.names.len() as f64 * cell_height + 2.0
    }
}

impl Chart for [Matrix; 2] {
    /// The first for a desk, the second for a phone.
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let [wide, narrow] = self;
        size.pick(wide, narrow).draw(svg, size)
    }
}

impl Matrix {
    /// What stands for a name at the head of a column: its number, or an ellipsis for the rest.
    fn number(&self, index: usize) -> String {
        let rest = index + 1 == self.names.len() && self.names[index].ends_with("others");
        if rest { "…".to_owned() } else { (index + 1).to_string() }
    }
}
