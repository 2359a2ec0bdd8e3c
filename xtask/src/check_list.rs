//! Every test that docs/checks.md names exists.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = "docs/checks.md";
const SOURCES: [&str; 5] = ["crates", "schedulers", "tests", "python", "functions"];

/// Tests that the page names and no source defines, and rows that name none.
pub(crate) fn complaints() -> Result<Vec<String>> {
    let page = std::fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
    let mut defined = BTreeSet::new();
    for folder in SOURCES {
        collect(Path::new(folder), &mut defined)?;
    }
    let unknown = named(&page).into_iter().filter(|name| !defined.contains(name));
    let mut complaints: Vec<String> =
        unknown.map(|name| format!("{PAGE} names the test {name}, and no source defines it")).collect();
    complaints.extend(untested(&page).map(|row| format!("{PAGE} names no test in the row '{row}'")));
    Ok(complaints)
}

/// The last cell of each row of a table, without the rows of headings.
fn last_cells(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.lines().filter_map(|line| {
        let row = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let (rest, last) = row.rsplit_once(" | ")?;
        (last != "test" && !last.starts_with("---")).then_some((rest, last))
    })
}

/// The names in backticks in the last cells.
fn named(page: &str) -> BTreeSet<String> {
    last_cells(page).flat_map(|(_, last)| last.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Rows whose last cell names no test, refers to no row above, and says of no document where it was measured.
fn untested(page: &str) -> impl Iterator<Item = &str> {
    last_cells(page)
        .filter(|(_, last)| !last.contains('`') && *last != "the same" && !last.starts_with("measured: ["))
        .map(|(rest, _)| rest)
}

/// The functions that the Rust and Python files below a directory define.
fn collect(folder: &Path, defined: &mut BTreeSet<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("node_modules") {
                collect(&path, defined)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "py") {
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            defined.extend(functions(&text));
        }
    }
    Ok(())
}

fn functions(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let rest = line.strip_prefix("fn ").or_else(|| line.strip_prefix("def "))?;
        rest.split_once('(').map(|(name, _)| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| figure | off by | test |\n| --- | --- | --- |\n| a | 1 | `one`, `two` |\n| b | 2 | the same |\n| c | 3 | soon |\n";

    #[test]
    fn names_are_those_of_the_last_column() {
        assert_eq!(named(TABLE), BTreeSet::from(["one".to_owned(), "two".to_owned()]));
    }

    #[test]
    fn a_row_without_a_test_is_a_complaint() {
        assert_eq!(untested(TABLE).collect::<Vec<_>>(), ["c | 3"]);
    }

    #[test]
    fn functions_of_both_languages_are_found() {
        let text = "    fn one() {\n}\ndef two(a):\n# fn three\n";
        assert_eq!(functions(text).collect::<Vec<_>>(), ["one", "two"]);
    }
}
