//! The notices of the crates that are linked into the programs: their licences ask that the texts go with what is handed out.

use super::sbom::{self, LinkedCrate};
use crate::process::cargo;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const NAME: &str = "crates-notices.txt";
/// How the names of files begin in which crates keep their licence and their notices.
const FILES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// Writes `crates-notices.txt` into a directory.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let path = folder.join(NAME);
    fs::write(&path, text(&sbom::crates()?, &folders()?)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Each text once, after the crates that have it.
fn text(crates: &BTreeSet<LinkedCrate>, folders: &BTreeMap<(String, String), PathBuf>) -> Result<String> {
    let mut by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for (name, version, licence) in crates {
        // The workspace's own crates are under the licences beside this file.
        let Some(folder) = folders.get(&(name.clone(), version.clone())) else { continue };
        let texts = texts(folder, licence)?;
        if texts.is_empty() {
            without.push(format!("{name} {version}: {licence}"));
        }
        for text in texts {
            by_text.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    let mut sections: Vec<String> =
        by_text.into_iter().map(|(text, crates)| format!("{}\n\n{text}\n", crates.join("\n"))).collect();
    // By the first crate, not by how the licence begins.
    sections.sort();
    let head = format!(
        "Notices of the crates that swtch is linked with.\n\nWithout a text of their own; the licence of each:\n{}\n",
        without.join("\n")
    );
    sections.insert(0, head);
    Ok(sections.join(&format!("\n{}\n\n", "-".repeat(80))))
}

/// What lies in the crate's directory. Of a choice between MIT and another licence, MIT's text is enough.
fn texts(folder: &Path, licence: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && FILES.iter().any(|begin| name.starts_with(begin)) {
            files.push((name, path));
        }
    }
    files.sort();
    let is_choice = licence.contains(" OR ") && licence.contains("MIT") && !licence.contains(" AND ");
    if is_choice && files.iter().any(|(name, _)| name.contains("MIT")) {
        files.retain(|(name, _)| name.contains("MIT") || name.starts_with("NOTICE"));
    }
    let read = |(_, path): &(String, PathBuf)| {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.replace('\r', "").trim().to_owned())
    };
    files.iter().map(read).collect()
}

/// Where the sources of every crate of others are.
fn folders() -> Result<BTreeMap<(String, String), PathBuf>> {
    let output = cargo().args(["metadata", "--format-version", "1", "--locked"]).output()?;
    if !output.status.success() {
        bail!("`cargo metadata`: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).context("`cargo metadata` did not print JSON")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let packages = packages.filter(|package| !package["source"].is_null());
    let place = |package: &Value| {
        let word = |key: &str| package[key].as_str().map(str::to_owned);
        let manifest = PathBuf::from(word("manifest_path")?);
        Some(((word("name")?, word("version")?), manifest.parent()?.to_owned()))
    };
    packages.map(place).collect::<Option<_>>().context("`cargo metadata` lacks an expected field")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_of_others_is_there() {
        let (crates, folders) = (sbom::crates().unwrap(), folders().unwrap());
        let text = text(&crates, &folders).unwrap();
        let others: Vec<_> = crates
            .into_iter()
            .map(|(name, version, _)| (name, version))
            .filter(|one| folders.contains_key(one))
            .collect();
        assert!(
            others.iter().any(|(name, _)| name == "serde") && others.iter().any(|(name, _)| name == "pyo3")
        );
        for (name, version) in others {
            assert!(text.contains(&format!("{name} {version}")), "{name}");
        }
        assert!(text.contains("Permission is hereby granted"), "{text}");
    }

    #[test]
    fn of_a_choice_the_shorter_text_is_taken_and_a_notice_stays() {
        let folder = std::env::temp_dir().join(format!("swtch-notices-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for name in ["LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "readme.md"] {
            fs::write(folder.join(name), name).unwrap();
        }
        let found = [texts(&folder, "MIT OR Apache-2.0"), texts(&folder, "Apache-2.0 AND MIT")];
        fs::remove_dir_all(&folder).unwrap();
        let [choice, both] = found.map(Result::unwrap);
        assert_eq!(choice, ["LICENSE-MIT", "NOTICE"]);
        assert_eq!(both.len(), 3);
    }
}
