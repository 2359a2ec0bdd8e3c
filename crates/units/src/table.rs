//! Text in columns, and digits in groups.

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

/// Rows with columns that line up, two spaces between them; `right` says which columns are flushed right. A row of a single cell is a heading:
/// it stands as it is and widens nothing.
///
/// ```
/// let rows = [["policy", "time"], ["eevdf", "7 ms"]].map(|row| row.map(str::to_owned).to_vec());
/// assert_eq!(swtch_units::aligned(&rows, |column| column > 0), "policy  time\neevdf   7 ms\n");
/// ```
pub fn aligned(rows: &[Vec<String>], right: impl Fn(usize) -> bool) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let single = |row: &&Vec<String>| row.len() > 1 || columns == 1;
    let width = |column: usize| {
        let cells = rows.iter().filter(single).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if right(column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn columns_line_up_and_headings_widen_nothing() {
        let rows =
            rows(&[&["", "µs", "b"], &["a very long heading"], &["x", "12.5 µs", ""], &["long", "3", "y"]]);
        assert_eq!(
            aligned(&rows, |column| column == 1),
            "           µs  b\na very long heading\nx     12.5 µs\nlong        3  y\n"
        );
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(aligned(&[], |_| true), "");
    }
}
