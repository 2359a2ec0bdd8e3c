//! A window as text, for pipes and files.

use super::columns::{TableLine, TopColumn};
use super::header::{self, Pieces};
use super::state::State;

/// The last window as text: what the machine does, then the table with all its columns, as wide as it takes. Lines that did nothing are left
/// out.
pub fn text(state: &State, host: &str, clock: &str) -> String {
    let Some(window) = &state.window else { return String::new() };
    let mut text = String::new();
    let head = [
        header::about(window, state, host, clock),
        header::switches(window),
        header::cost(window),
        header::tasks(window),
    ];
    for pieces in &head {
        text.push_str(&joined(pieces));
        text.push('\n');
    }
    let active = |line: &TableLine| match line {
        TableLine::Row(row) => row.is_active(),
        TableLine::Cpu(_) => true,
    };
    let lines: Vec<TableLine> = state.lines().into_iter().filter(active).collect();
    let columns = TopColumn::all(state.grouping);
    let mut table: Vec<Vec<String>> =
        vec![columns.iter().map(|column| column.shape().title.to_owned()).collect()];
    table.extend(lines.iter().map(|line| columns.iter().map(|column| column.text(line)).collect()));
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    for row in &table {
        let mut line = String::new();
        for ((cell, column), width) in row.iter().zip(columns).zip(&widths) {
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            let (before, after) = if column.shape().is_text { ("", &*blanks) } else { (&*blanks, "") };
            line.push_str(&format!("{before}{cell}{after}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn joined(pieces: &Pieces) -> String {
    pieces.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("  ")
}
