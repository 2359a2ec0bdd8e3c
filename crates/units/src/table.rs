//! Text in columns, and digits in groups.

use std::collections::BTreeSet;
use std::fmt;

/// Digits in groups of three.
///
/// ```
/// assert_eq!(["7", "950", "12345"].map(swtch_units::grouped), ["7", "950", "12,345"]);
/// ```
pub fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// At most `most` characters, the last an ellipsis when something was cut.
///
/// ```
/// assert_eq!(["switch", "to a switch"].map(|text| swtch_units::shortened(text, 6)), ["switch", "to a…"]);
/// ```
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A table for terminals: columns that line up, two spaces between them. The first column has names, flush left; the others have figures,
/// flush right, unless [`left`](Self::left) and [`right`](Self::right) say otherwise. No line ends in a space.
///
/// ```
/// let mut table = swtch_units::TextTable::new(["policy", "time", "why"]).left([2]);
/// table.row(["eevdf", "700 ms", "default"]);
/// assert_eq!(table.to_string(), "policy    time  why\neevdf   700 ms  default\n");
/// ```
#[derive(Clone, Debug)]
pub struct TextTable {
    rows: Vec<Vec<String>>,
    has_titles: bool,
    /// Columns that are flush left.
    left: BTreeSet<usize>,
    /// Columns that are wider than their cells need.
    least: Vec<(usize, usize)>,
}

impl TextTable {
    /// A table with titles, which are its first line.
    pub fn new<T: Into<String>>(titles: impl IntoIterator<Item = T>) -> Self {
        let mut table = Self { has_titles: true, ..Self::untitled() };
        table.row(titles);
        table
    }

    /// A table without titles.
    pub fn untitled() -> Self {
        Self { rows: Vec::new(), has_titles: false, left: BTreeSet::from([0]), least: Vec::new() }
    }

    /// The same with these columns flush left: they have text.
    #[must_use]
    pub fn left(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.left.extend(columns);
        self
    }

    /// The same with this column flush right: it has figures.
    #[must_use]
    pub fn right(mut self, column: usize) -> Self {
        self.left.remove(&column);
        self
    }

    /// The same with a column that takes at least this number of characters, so that tables of several runs look alike.
    #[must_use]
    pub fn at_least(mut self, column: usize, characters: usize) -> Self {
        self.least.push((column, characters));
        self
    }

    /// Adds a row.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a line above the rows that follow. Like every row of a single cell, it is printed as it is and widens nothing.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.rows.push(vec![text.into()]);
    }

    /// The table below a line of text, indented; nothing when it has no rows.
    pub fn under(&self, heading: &str) -> String {
        let is_empty = self.rows.len() <= usize::from(self.has_titles);
        if is_empty { String::new() } else { format!("{heading}\n{}", self.indented()) }
    }

    /// The table with two spaces before each line.
    pub fn indented(&self) -> String {
        let mut text = String::new();
        for line in self.to_string().lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
        text
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let rows = self.rows.iter().filter(|row| row.len() > 1 || columns == 1);
            let cells = rows.filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            let least = self.least.iter().filter(|(one, _)| *one == column).map(|(_, least)| *least);
            cells.chain(least).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if self.left.contains(&column) {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
            writeln!(formatter, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_headings_widen_nothing() {
        let mut table = TextTable::new(["", "µs", "b"]).left([2]);
        table.heading("a very long heading");
        table.row(["x", "12.5 µs", ""]);
        table.row(["long", "3", "y"]);
        let lines = "           µs  b\na very long heading\nx     12.5 µs\nlong        3  y\n";
        assert_eq!(table.to_string(), lines);
        assert_eq!(table.under("T").lines().nth(3), Some("  x     12.5 µs"));
    }

    #[test]
    fn a_column_can_be_wider_than_its_cells_and_the_first_can_have_figures() {
        let mut table = TextTable::new(["n", "name"]).right(0).left([1]).at_least(0, 3);
        assert_eq!(table.under("nothing to show"), "");
        table.row(["12", "x"]);
        assert_eq!(table.to_string(), "  n  name\n 12  x\n");
    }

    #[test]
    fn nothing_gives_nothing() {
        let mut table = TextTable::untitled();
        assert_eq!((table.to_string(), table.under("T")), (String::new(), String::new()));
        table.row(["a", "b"]);
        assert_eq!(table.under("T"), "T\n  a  b\n");
    }
}
