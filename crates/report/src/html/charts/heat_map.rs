//! A table of numbers shaded by size.

use super::grid::{Grid, GridCell, shade};
use super::{Chart, Size, Svg, text};

/// The surface: names of rows and columns, and the cells that exist.
pub(in crate::html) struct HeatMap {
    pub(in crate::html) rows: Vec<String>,
    pub(in crate::html) columns: Vec<String>,
    pub(in crate::html) cells: Vec<GridCell>,
    pub(in crate::html) rows_name: &'static str,
    pub(in crate::html) columns_name: &'static str,
    /// Smallest and largest positive value that the shades span; the same for every profile.
    pub(in crate::html) span: (f64, f64),
    /// What the values are.
    pub(in crate::html) values: Values,
}

/// What the values of a heat map are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::html) enum Values {
    /// Times in ns.
    Ns,
    /// Ratios to the smallest of a row.
    Ratios,
}

/// A cell narrower than this has room for a number and none for its unit.
const NARROWEST_WITH_UNIT: f64 = 62.0;

/// Room for a letter of a row's name, and for what is on both sides of the name.
const LETTER: f64 = 6.8;
const BESIDE_NAME: f64 = 18.0;

impl Chart for HeatMap {
    fn draw(&self, svg: &mut Svg, size: Size) -> f64 {
        let left = self.left(size);
        let columns = self.columns.len().max(1) as f64;
        // Few columns on a wide page would make cells like planks.
        let cell_width = ((size.width() - left) / columns).min(size.pick(120.0, 90.0));
        let grid = Grid { left, cell: (cell_width, size.pick(34.0, 36.0)) };
        let is_narrow = cell_width < NARROWEST_WITH_UNIT && self.values == Values::Ns;
        let unit = is_narrow.then(|| Unit::for_largest(self.span.1));
        let of_figures = unit.map_or(String::new(), |unit| format!("; figures in {}", unit.name));
        let rows_name = (left - 10.0, "axis-name end", size.pick(self.rows_name, "array"));
        let columns_name = format!("{}{of_figures}", self.columns_name);
        grid.heads(svg, &columns_name, rows_name, self.columns.iter().cloned());
        for (row, name) in self.rows.iter().enumerate() {
            let name = text::shortened(name, ((left - BESIDE_NAME) / LETTER) as usize);
            svg.text((left - 10.0, grid.middle(row, 0).1 + 4.0), "row-name end", &name);
            for column in 0..self.columns.len() {
                let here = |cell: &&GridCell| (cell.row, cell.column) == (row, column);
                if let Some(cell) = self.cells.iter().find(here) {
                    self.cell(svg, &grid, cell, unit);
                } else {
                    let (x, y) = grid.middle(row, column);
                    grid.blank(svg, (row, column), "cell missing");
                    svg.text((x, y + 4.0), "cell-text mid muted", text::DASH);
                }
            }
        }
        grid.height(self.rows.len())
    }
}

impl HeatMap {
    /// Where the cells begin: after the longest name of a row, if there is room for it.
    fn left(&self, size: Size) -> f64 {
        let longest = self.rows.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let (least, most) = (size.pick(96.0, 58.0), size.pick(280.0, 150.0));
        (longest as f64 * LETTER + BESIDE_NAME).clamp(least, most)
    }

    fn cell(&self, svg: &mut Svg, grid: &Grid, cell: &GridCell, unit: Option<Unit>) {
        let figure = match (self.values, unit) {
            (Values::Ratios, _) => format!("{:.2}", cell.value),
            (Values::Ns, Some(unit)) => unit.short(cell.value),
            (Values::Ns, None) => text::ns(cell.value),
        };
        let figure = format!("{figure}{}", if cell.flagged { "*" } else { "" });
        let place = (cell.row, cell.column);
        grid.cell(svg, place, &shade(cell.value, self.span), (unit.is_some(), &figure), &cell.tip);
    }
}

/// One unit for all cells, where a cell is too narrow to name its own.
#[derive(Clone, Copy)]
struct Unit {
    name: &'static str,
    ns: f64,
}

impl Unit {
    fn for_largest(largest_ns: f64) -> Self {
        match largest_ns {
            ns if ns < 1e3 => Self { name: "ns", ns: 1.0 },
            ns if ns < 1e6 => Self { name: "µs", ns: 1e3 },
            _ => Self { name: "ms", ns: 1e6 },
        }
    }

    /// At most four characters, sign aside: two significant digits, or all before the point.
    fn short(self, value_ns: f64) -> String {
        let value = value_ns / self.ns;
        let decimals = match value.abs() {
            v if v >= 9.95 => 0,
            v if v >= 0.095 => 1,
            _ => 2,
        };
        format!("{value:.decimals$}").replace('-', "−")
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture;
    use super::*;

    #[test]
    fn shades_follow_the_logarithm_and_the_rest_is_named() {
        let map = HeatMap {
            rows: vec!["a".to_owned()],
            columns: vec!["2".to_owned(), "4".to_owned()],
            cells: vec![GridCell {
                row: 0,
                column: 0,
                value: -1.0,
                flagged: true,
                tip: vec!["t".to_owned()],
            }],
            rows_name: "array",
            columns_name: "processes",
            span: (1.0, 1000.0),
            values: Values::Ns,
        };
        assert_eq!([1.0, 31.0, 1000.0, -1.0].map(|v| shade(v, map.span)), ["q0", "q3", "q6", "off-scale"]);
        let drawn = picture(&map, Size::Wide, "");
        assert!(drawn.contains("cell missing") && drawn.contains("−1.00\u{a0}ns*"));
        assert!(!drawn.contains("figures in"));
    }

    #[test]
    fn narrow_cells_share_one_unit() {
        let unit = Unit::for_largest(44_000.0);
        assert_eq!(unit.name, "µs");
        assert_eq!(
            [43_960.0, 9_930.0, 230.0, 40.0, -1200.0].map(|v| unit.short(v)),
            ["44", "9.9", "0.2", "0.04", "−1.2"]
        );
        let columns: Vec<String> = (0..8).map(|i| i.to_string()).collect();
        let map = HeatMap {
            rows: vec!["a".to_owned()],
            columns,
            cells: vec![],
            rows_name: "array",
            columns_name: "processes",
            span: (1.0, 5000.0),
            values: Values::Ns,
        };
        assert!(picture(&map, Size::Narrow, "").contains("processes; figures in µs"));
        assert!(!picture(&map, Size::Wide, "").contains("figures in"));
    }
}
