//! The last lines of what a command wrote.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Of what a command complains of, the end is shown.
const LAST_BYTES: u64 = 400;

/// The end of the file on one line in brackets, as in ` (no such table)`; empty where there is nothing.
pub fn last_lines(file: &mut File) -> String {
    let length = file.metadata().map_or(0, |found| found.len());
    let from = file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)));
    let mut bytes = Vec::new();
    let _ = from.and_then(|_| file.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).trim().replace('\n', " | ");
    if text.is_empty() { text } else { format!(" ({text})") }
}
