//! Columns that line up.

/// Rows of text under titles.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(titles: &[&str]) -> Self {
        Self { rows: vec![titles.iter().map(|title| (*title).to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// A line of its own above the rows that follow.
    pub(crate) fn heading(&mut self, text: String) {
        self.rows.push(vec![text]);
    }

    /// The table under `heading`, with the columns of `right` flushed right; nothing when it has no rows.
    pub(crate) fn render(&self, heading: &str, right: &[usize]) -> String {
        if self.rows.len() < 2 {
            return String::new();
        }
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let cells = self.rows.iter().filter(|row| row.len() > 1).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = format!("{heading}\n");
        for row in &self.rows {
            let mut line = String::from(" ");
            if let [heading] = &row[..] {
                line.push_str(&format!(" {heading}"));
            }
            for (column, cell) in row.iter().enumerate().filter(|_| row.len() > 1) {
                let padding = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
                let (before, after) =
                    if right.contains(&column) { (padding.as_str(), "") } else { ("", padding.as_str()) };
                line.push_str(&format!(" {before}{cell}{after} "));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}
