//! Every direct dependency is explained in docs/dependencies.md.

use crate::metadata::Package;
use anyhow::{Context, Result};
use std::collections::BTreeSet;

const LIST: &str = "docs/dependencies.md";

/// Direct dependencies that the list does not name.
pub(crate) fn complaints(packages: &[Package]) -> Result<Vec<String>> {
    let list = std::fs::read_to_string(LIST).with_context(|| format!("cannot read {LIST}"))?;
    Ok(unexplained(packages, &list)
        .into_iter()
        .map(|name| format!("{LIST} does not say why {name} is used"))
        .collect())
}

/// A line of the table explains a crate when it begins with its name: "| `name` | why |".
fn unexplained<'a>(packages: &'a [Package], list: &str) -> BTreeSet<&'a str> {
    let members: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .map(String::as_str)
        .filter(|name| !members.contains(name))
        .filter(|name| !list.lines().any(|line| line.starts_with(&format!("| `{name}` |"))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_at_the_start_of_a_line_is_explained() {
        let package = |name: &str, dependencies: &[&str]| Package {
            name: name.into(),
            folder: "/x".into(),
            dependencies: dependencies.iter().map(|&name| name.into()).collect(),
            ..Package::default()
        };
        let packages =
            [package("swtch", &["swtch-units", "clap", "serde", "anyhow"]), package("swtch-units", &[])];
        let list = "| crate | why |\n| `clap` | arguments |\n| `anyhow` | instead of `serde` |\n";
        assert_eq!(unexplained(&packages, list).into_iter().collect::<Vec<_>>(), ["serde"]);
    }
}
