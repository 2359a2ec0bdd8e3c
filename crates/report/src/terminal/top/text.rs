//! A window as text, for pipes and files.

use super::columns::{TableLine, TopColumn};
use super::header::{self, Pieces};
use super::spinning_lines;
use super::state::State;
use swtch_units::TextTable;

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
    for pieces in spinning_lines::lines(&window.spinning) {
        text.push_str(&joined(&pieces));
        text.push('\n');
    }
    let active = |line: &TableLine| match line {
        TableLine::Row(row) => row.is_active(),
        TableLine::Cpu(_) => true,
    };
    let columns = TopColumn::all(state.grouping);
    let with_text = (1..columns.len()).filter(|column| columns[*column].shape().is_text);
    let titles = columns.iter().map(|column| column.shape().title);
    // The first column is a number or a count.
    let mut table = TextTable::new(titles).right(0).left(with_text);
    for line in state.lines().iter().filter(|line| active(line)) {
        table.row(columns.iter().map(|column| column.text(line)));
    }
    text + &table.to_string()
}

fn joined(pieces: &Pieces) -> String {
    pieces.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("  ")
}
