//! The document whose marked blocks are generated.

use crate::registry::EXPERIMENTS;
use crate::table::Table;
use anyhow::{Context, Result};

/// Replaces, for each experiment of `results`, what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`; the rest stays as it is.
///
/// # Errors
/// When a block is missing.
pub fn update(document: &str, results: &[(&str, Vec<Table>)]) -> Result<String> {
    let mut text = document.to_owned();
    for (name, tables) in results {
        let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
        let (before, rest) = text.split_once(&begin).with_context(|| format!("no line {}", begin.trim()))?;
        let (_, after) = rest.split_once(&end).with_context(|| format!("no line {end}"))?;
        let tables: Vec<String> = tables.iter().map(Table::markdown).collect();
        text = format!("{before}{begin}\n{}\n{end}{after}", tables.join("\n"));
    }
    Ok(text)
}

/// The names of all experiments, for messages.
pub fn names() -> String {
    EXPERIMENTS.map(|experiment| experiment.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_change() {
        let document = "# Title\n<!-- begin a -->\nold\n<!-- end a -->\nbetween `<!-- begin x -->`\n<!-- begin b -->\n<!-- end b -->\nend\n";
        let results = [("a", vec![Table::new("A")]), ("b", vec![Table::new("B"), Table::new("C")])];
        let updated = update(document, &results).unwrap();
        assert_eq!(
            updated,
            "# Title\n<!-- begin a -->\n\n**A**\n\n<!-- end a -->\nbetween `<!-- begin x -->`\n<!-- begin b -->\n\n**B**\n\n**C**\n\n<!-- end b -->\nend\n"
        );
        assert_eq!(update(&updated, &results).unwrap(), updated, "twice is as good as once");
    }

    #[test]
    fn a_missing_block_is_an_error() {
        let results = [("a", Vec::new())];
        assert!(update("nothing", &results).is_err());
        assert!(update("<!-- begin a -->\n", &results).is_err());
        assert!(update("<!-- begin b -->\n<!-- end b -->", &results).is_err());
    }
}
