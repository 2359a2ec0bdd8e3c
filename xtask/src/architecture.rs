//! ARCHITECTURE.md and the crates' own introductions name what there is.

use crate::metadata::Package;
use anyhow::{Context, Result};
use std::path::Path;

const PAGE: &str = "ARCHITECTURE.md";
/// Two printed pages.
const MOST_LINES: usize = 130;

/// Files and directories that the page names and that are not there, and modules that their crate's introduction leaves out.
pub(crate) fn complaints(packages: &[Package]) -> Result<Vec<String>> {
    let page = std::fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
    let missing = paths(&page).filter(|path| !Path::new(path).exists());
    let mut complaints: Vec<String> =
        missing.map(|path| format!("{PAGE} names {path}, which is not there")).collect();
    let lines = page.lines().count();
    if lines > MOST_LINES {
        complaints.push(format!("{PAGE} has {lines} lines; two pages hold {MOST_LINES}"));
    }
    for package in packages {
        let file = package.folder.join("src/lib.rs");
        if file.exists() {
            let text =
                std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let left_out = unnamed(&text);
            complaints.extend(
                left_out.map(|module| format!("{}: `//!` does not name the module {module}", file.display())),
            );
        }
    }
    Ok(complaints)
}

/// What is in backticks and looks like a path of the repository.
fn paths(page: &str) -> impl Iterator<Item = &str> {
    let quoted = page.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter(|text| {
        text.contains('/') && !text.starts_with('/') && !text.contains([' ', '*']) && !text.contains("NAME")
    })
}

/// The modules that the introduction of a crate's root does not name.
fn unnamed(root: &str) -> impl Iterator<Item = &str> {
    let introduction: String = root.lines().take_while(|line| line.starts_with("//!")).collect();
    let modules = root.lines().filter_map(|line| {
        let (_, name) = line.strip_suffix(';')?.split_once("mod ")?;
        (!line.starts_with([' ', '/']) && !name.starts_with("test")).then_some(name)
    });
    modules.filter(move |name| {
        ["`", "`mod@"].iter().all(|start| {
            ["`", "()`", "::"].iter().all(|end| !introduction.contains(&format!("{start}{name}{end}")))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_in_backticks_and_have_a_slash() {
        let page = "see `crates/units` and `make test`, `a/*.rs` or a/b";
        assert_eq!(paths(page).collect::<Vec<_>>(), ["crates/units"]);
    }

    #[test]
    fn every_module_is_named_in_the_introduction() {
        let root = "//! Runs [`run()`] over [`plan`].\n\npub mod plan;\nmod run;\npub(crate) mod clock;\nmod tests;\n// mod old;\n";
        assert_eq!(unnamed(root).collect::<Vec<_>>(), ["clock"]);
    }
}
