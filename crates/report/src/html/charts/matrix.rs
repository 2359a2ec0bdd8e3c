//! A square of counts by the acting task and the affected task. Both sides have the same names in the same order, so that a number stands for
//! a name.

use super::grid::{Grid, GridCell, shade};
use super::{Chart, Size, Svg, extent, text};

/// The square: names, and the cells that are not zero.
pub(in crate::html) struct Matrix {
    pub(in crate::html) names: Vec<String>,
    pub(in crate::html) cells: Vec<GridCell>,
    pub(in crate::html) rows_name: &'static str,
    pub(in crate::html) columns_name: String,
}

impl Chart for Matrix {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let left = size.pick(186.0, 118.0);
        let letters = size.pick(22, 13);
        // A column without a count would say nothing; a row still names its number.
        let columns: Vec<usize> =
            (0..self.names.len()).filter(|i| self.cells.iter().any(|cell| cell.column == *i)).collect();
        let cell_width = ((size.width() - left) / columns.len().max(1) as f64).min(size.pick(74.0, 60.0));
        let grid = Grid { left, cell: (cell_width, size.pick(28.0, 30.0)) };
        let span = extent(self.cells.iter().map(|cell| cell.value)).unwrap_or((1.0, 1.0));
        let numbers = columns.iter().map(|column| self.number(*column));
        grid.heads(svg, &self.columns_name, (0.0, "axis-name", self.rows_name), numbers);
        for (row, name) in self.names.iter().enumerate() {
            let y = grid.middle(row, 0).1 + 4.0;
            svg.text((left - 10.0, y), "tick end", &self.number(row));
            svg.text((0.0, y), "row-name", &text::shortened(name, letters));
            for (place, column) in columns.iter().enumerate() {
                match self.cells.iter().find(|cell| (cell.row, cell.column) == (row, *column)) {
                    Some(GridCell { value, tip, .. }) => {
                        let figure = text::compact(*value);
                        grid.cell(svg, (row, place), &shade(*value, span), (true, &figure), tip);
                    }
                    None => grid.blank(svg, (row, place), "cell"),
                }
            }
        }
        grid.height(self.names.len())
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
