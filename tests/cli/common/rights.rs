//! The rights that `docs/limits.md` has a column for, and what it says. `tests/rights.json` has, for each, the words before a command that take
//! the other rights away; the container is Docker's default capabilities and a PID namespace.

use super::examples::docs;
use serde_json::{Map, Value};
use std::fs;

/// Names of the rights, and the words before a command.
pub fn rights() -> Vec<(String, Vec<String>)> {
    let file: Map<String, Value> = serde_json::from_str(include_str!("../../rights.json")).unwrap();
    let words = |value: Value| serde_json::from_value(value).unwrap();
    file.into_iter().map(|(name, value)| (name, words(value))).collect()
}

/// What the page says of a command with some rights.
pub fn shown(command: &str, rights: &str) -> String {
    find(command, rights).unwrap_or_else(|| panic!("docs/limits.md has no row {command}"))
}

/// The same, where the page has the command.
pub fn find(command: &str, rights: &str) -> Option<String> {
    let page = fs::read_to_string(docs().join("limits.md")).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let heading = page.lines().find(|line| line.starts_with("| command | no root |")).unwrap();
    let column = cells(heading).iter().position(|cell| cell == rights).unwrap();
    let row = page.lines().find(|line| line.starts_with(&format!("| {command} |")))?;
    Some(cells(row).swap_remove(column))
}
