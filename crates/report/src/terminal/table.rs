//! Columns that line up.

use swtch_units::aligned;

/// Rows of text under titles.
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
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
        let mut text = format!("{heading}\n");
        for line in aligned(&self.rows, |column| right.contains(&column)).lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
        text
    }
}
