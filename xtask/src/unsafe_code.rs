//! Where `unsafe` may be written: the compiler enforces it by the lint `unsafe_code`; this checks that every crate sets the lint.

use crate::imports::is_scheduler;
use crate::metadata::Package;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates that talk to the kernel, to the clock or to Python.
const ANYWHERE: [&str; 3] = ["swtch-measure", "swtch-record", "swtch-python"];
/// A crate that denies `unsafe`, and the sources that allow it. These are a directory with the C it calls, and a file with a hint
/// to the CPU.
const IN_PLACES: [(&str, &[&str]); 1] = [("swtch-sim", &["scx", "prefetch.rs"])];

/// Every crate that does not forbid `unsafe`, and every place that allows it and may not.
pub(crate) fn complaints(packages: &[Package]) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for package in packages {
        if ANYWHERE.contains(&package.name.as_str()) || is_scheduler(&package.name) {
            continue;
        }
        let sources = package.folder.join("src");
        let places = IN_PLACES.iter().find(|(name, _)| *name == package.name).map(|(_, places)| *places);
        // What is forbidden cannot be allowed again further down; what is denied can.
        let level = if places.is_some() { "#![deny(unsafe_code)]" } else { "#![forbid(unsafe_code)]" };
        let mut files = Vec::new();
        rust_files(&sources, &mut files)?;
        for file in files {
            let shown = file.strip_prefix(package.folder.parent().unwrap_or(&sources)).unwrap_or(&file);
            let text =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let is_root = file == sources.join("lib.rs")
                || file == sources.join("main.rs")
                || file.parent() == Some(&sources.join("bin"));
            if is_root && !text.lines().any(|line| line.trim() == level) {
                complaints.push(format!("{} lacks {level}", shown.display()));
            }
            let Some(places) = places else { continue };
            let permitted = places.iter().any(|place| file.starts_with(sources.join(place)));
            if !permitted && allows_unsafe(&text) {
                complaints.push(format!("{} allows unsafe_code, which it may not", shown.display()));
            }
        }
    }
    Ok(complaints)
}

/// Whether an attribute sets the lint lower than its crate does.
fn allows_unsafe(text: &str) -> bool {
    text.split('#').any(|after| {
        let attribute = after.split(']').next().unwrap_or_default();
        let lowers = ["allow", "expect", "warn"].iter().any(|level| attribute.contains(level));
        lowers && attribute.contains("unsafe_code")
    })
}

pub(crate) fn rust_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_must_forbid_what_it_does_not_need() {
        let folder = std::env::temp_dir().join(format!("swtch-xtask-unsafe-{}", std::process::id()));
        fs::create_dir_all(folder.join("src/scx")).unwrap();
        fs::create_dir_all(folder.join("src/bin")).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join("src").join(name), text).unwrap();
        write("lib.rs", "fn a() {}\n");
        write("bin/tool.rs", "fn main() {}\n");
        write("scx/call.rs", "#![allow(unsafe_code)]\nfn a() { unsafe { c() } }\n");
        let complaints_as = |name: &str| {
            let package = Package { name: name.into(), folder: folder.clone(), ..Package::default() };
            complaints(&[package]).unwrap()
        };
        let found = complaints_as("swtch-stats");
        let ends = ["bin/tool.rs lacks #![forbid(unsafe_code)]", "lib.rs lacks #![forbid(unsafe_code)]"];
        assert!(
            found.len() == 2 && ends.iter().all(|end| found.iter().any(|line| line.ends_with(end))),
            "{found:?}"
        );
        for file in ["lib.rs", "bin/tool.rs"] {
            write(file, "//! Of sim.\n#![deny(unsafe_code)]\n");
        }
        assert!(complaints_as("swtch-sim").is_empty());
        write("other.rs", "#[expect(unsafe_code, reason = \"none\")]\nfn a() {}\n");
        assert_eq!(complaints_as("swtch-sim").len(), 1);
        assert!(complaints_as("swtch-record").is_empty() && complaints_as("scx_fair").is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}
