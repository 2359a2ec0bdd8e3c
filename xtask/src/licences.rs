//! The licences of everything that a binary links, by cargo-deny: one run a binary, as they differ in what they may link.

use crate::metadata::Package;
use crate::process::stream;
use crate::step::Counts;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn check(packages: &[Package]) -> Result<Counts> {
    let Some(cargo_deny) = cargo_deny() else {
        return Ok(Counts::skipped("licences", "cargo-deny is not here; `make setup` builds it"));
    };
    let mut counts = Counts::default();
    for package in packages.iter().filter(|package| package.is_delivered()) {
        let outcome = stream(
            Command::new(&cargo_deny)
                .args(["--log-level", "error", "--config"])
                .arg(configuration(&package.folder))
                .arg("--manifest-path")
                .arg(package.folder.join("Cargo.toml"))
                .args(["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]),
        )?;
        if outcome.succeeded {
            counts.passed += 1;
        } else {
            counts.failures.push(format!(
                "{}: {}",
                package.name,
                outcome.lines.last().unwrap_or(&outcome.status)
            ));
        }
    }
    Ok(counts)
}

/// The nearest deny.toml above the crate: a binary under another licence has its own.
fn configuration(folder: &Path) -> PathBuf {
    let own = folder.ancestors().map(|folder| folder.join("deny.toml")).find(|file| file.is_file());
    own.unwrap_or_else(|| PathBuf::from("deny.toml"))
}

/// The one that tools/setup built, else one on the path.
fn cargo_deny() -> Option<PathBuf> {
    let ours = std::path::absolute("target/tools/bin/cargo-deny").ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let elsewhere = std::env::split_paths(&path).map(|folder| folder.join("cargo-deny"));
    ours.into_iter().chain(elsewhere).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_rules_of_its_own_follows_those_of_the_root() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(configuration(here), here.parent().unwrap().join("deny.toml"));
    }

    #[test]
    fn schedulers_follow_rules_of_their_own_which_refuse_what_is_under_the_apache_license_alone() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let own = configuration(&root.join("schedulers/fair"));
        assert_eq!(own, root.join("schedulers/deny.toml"));
        let rules = std::fs::read_to_string(own).unwrap();
        assert!(rules.contains("\"GPL-2.0-only\"") && !rules.contains("\"Apache-2.0\""), "{rules}");
        assert!(!std::fs::read_to_string(root.join("deny.toml")).unwrap().contains("\"GPL"));
    }
}
