//! Delivered programs are built with the same features as the tests, so that everything is built once. A dependency with one feature more
//! is another dependency, and so is everything above it.

use crate::process::cargo;
use anyhow::{Result, bail};
use std::collections::BTreeSet;

/// Dependencies that the delivered programs have with other features than the tests: those of the workspace, and of the wheel's module, which
/// maturin builds alone.
pub(crate) fn complaints() -> Result<Vec<String>> {
    let mut complaints = BTreeSet::new();
    // What build programs use has features of its own, so what runs on the target is also compared alone.
    for (delivered, tests) in [("normal,build", "normal,build,dev"), ("normal", "normal,dev")] {
        let tests = tree(&["--workspace"], tests)?;
        for packages in [&["--workspace"][..], &["--package", "swtch-python"]] {
            complaints.extend(differences(&tree(packages, delivered)?, &tests));
        }
    }
    Ok(complaints.into_iter().collect())
}

fn tree(packages: &[&str], edges: &str) -> Result<BTreeSet<String>> {
    let arguments = ["tree", "--prefix", "none", "--format", "{p}|{f}", "--edges", edges];
    let output = cargo().args(arguments).args(packages).output()?;
    if !output.status.success() {
        bail!("`cargo tree` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(of_lines(&String::from_utf8_lossy(&output.stdout)))
}

/// "name vVERSION|features" from the lines, without marks, places and repetitions.
fn of_lines(text: &str) -> BTreeSet<String> {
    let plain = |line: &str| line.trim_end_matches(" (*)").replace(" (proc-macro)", "");
    // The members of the workspace name their directories: they differ in nothing else.
    text.lines().map(plain).filter(|line| !line.contains(" (/")).collect()
}

fn differences(delivered: &BTreeSet<String>, tests: &BTreeSet<String>) -> Vec<String> {
    delivered
        .difference(tests)
        .map(|one| {
            let (package, features) = one.split_once('|').unwrap_or((one, ""));
            let start = format!("{package}|");
            let others: Vec<&str> = tests.iter().filter_map(|line| line.strip_prefix(&start)).collect();
            format!(
                "{package} is delivered with the features {features}, and tested with {}: it is built twice; name the features in Cargo.toml",
                others.join(" or ")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_features_are_complained_of() {
        let delivered = of_lines("a v1.0.0|std\nb v2.0.0 (proc-macro)|x (*)\nswtch v0.1.0 (/x/crates/cli)|");
        let tests = of_lines(
            "a v1.0.0|default,std\nb v2.0.0 (proc-macro)|x\nc v3.0.0|\nswtch v0.1.0 (/x/crates/cli)|",
        );
        let found = differences(&delivered, &tests);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("a v1.0.0 is delivered with the features std, and tested with default,std:")
        );
    }
}
