//! The list of what is linked into the programs, with licences: a bill of materials in CycloneDX's JSON (version 1.5).

use super::programs::NAMES;
use super::{c_libraries, version};
use crate::process::cargo;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub(crate) const NAME: &str = "swtch.cdx.json";
/// The crate of the Python module, which a wheel carries too.
const MODULE: &str = "swtch-python";

/// What crates and zig bring in C.
struct LinkedInC {
    name: &'static str,
    licence: &'static str,
    /// The file of the crate libbpf-sys where the version comes after these words.
    version: Option<(&'static str, &'static str)>,
}

const IN_C: [LinkedInC; 6] = [
    LinkedInC {
        name: "libbpf",
        licence: "LGPL-2.1-only OR BSD-2-Clause",
        version: Some(("Cargo.toml", "+v")),
    },
    LinkedInC {
        name: "elfutils-libelf",
        licence: "GPL-2.0-or-later OR LGPL-3.0-or-later",
        version: Some(("elfutils/NEWS", "Version ")),
    },
    LinkedInC { name: "zlib", licence: "Zlib", version: Some(("zlib/ChangeLog", "Changes in ")) },
    LinkedInC { name: "musl", licence: "MIT", version: None },
    LinkedInC { name: "libunwind", licence: "Apache-2.0 WITH LLVM-exception", version: None },
    LinkedInC { name: "compiler-rt", licence: "Apache-2.0 WITH LLVM-exception", version: None },
];

/// A crate: its name, version and licence.
pub(super) type LinkedCrate = (String, String, String);

/// Writes `swtch.cdx.json` into a directory.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let mut components: Vec<Value> = crates()?.iter().map(component).collect();
    components.extend(in_c()?);
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "swtch", "version": version()? } },
        "components": components,
    });
    let path = folder.join(NAME);
    fs::write(&path, serde_json::to_string_pretty(&document)? + "\n")
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The crates that are linked into the programs and the Python module.
pub(super) fn crates() -> Result<BTreeSet<LinkedCrate>> {
    let mut command = cargo();
    command.args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}\t{l}"]);
    command.args(NAMES.iter().chain([&MODULE]).flat_map(|name| ["--package", name]));
    let output = command.output()?;
    if !output.status.success() {
        bail!("`cargo tree`: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(listed(&String::from_utf8_lossy(&output.stdout)))
}

/// One a line: "name v1.2.3 (where)", a tab, its licence.
fn listed(tree: &str) -> BTreeSet<LinkedCrate> {
    tree.lines().filter_map(linked_crate).collect()
}

fn component((name, version, licence): &LinkedCrate) -> Value {
    json!({
        "type": "library", "name": name, "version": version, "purl": format!("pkg:cargo/{name}@{version}"),
        "licenses": [{ "expression": licence }],
    })
}

/// Those in C, with versions where the crate that brings them tells.
fn in_c() -> Result<Vec<Value>> {
    let source = c_libraries::source()?;
    let one = |LinkedInC { name, licence, version }: &LinkedInC| {
        let mut one = json!({ "type": "library", "name": name, "licenses": [{ "expression": licence }] });
        if let Some((file, words)) = version {
            let path = source.join(file);
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            one["version"] = number_after(&text, words)
                .with_context(|| format!("{} does not say which version {name} is", path.display()))?
                .into();
        }
        Ok(one)
    };
    IN_C.iter().map(one).collect()
}

/// The first number with points after some words.
fn number_after<'text>(text: &'text str, words: &str) -> Option<&'text str> {
    let (_, rest) = text.split_once(words)?;
    let number = rest.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next()?;
    (!number.is_empty()).then_some(number)
}

fn linked_crate(line: &str) -> Option<LinkedCrate> {
    let (package, licence) = line.split_once('\t')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    // Cargo still takes the separator of before SPDX; the mark of repeated lines comes last.
    let licence = licence.trim_end_matches(" (*)").replace('/', " OR ");
    Some((name.to_owned(), version.to_owned(), licence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_listed_once_with_its_licence() {
        let tree = "swtch v0.1.0 (/work/crates/cli)\tMIT OR Apache-2.0\nlibc v0.2.1\tMIT/Apache-2.0\n\nlibc v0.2.1\tMIT/Apache-2.0 (*)\n";
        let found: Vec<Value> = listed(tree).iter().map(component).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0]["purl"], "pkg:cargo/libc@0.2.1");
        assert_eq!(found[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }

    #[test]
    fn the_libraries_in_c_have_the_versions_of_their_sources_and_are_in_the_list_of_copyrights() {
        let notice = Path::new(env!("CARGO_MANIFEST_DIR")).join("../LICENSES/linked-libraries.txt");
        let notice = fs::read_to_string(notice).unwrap();
        for one in in_c().unwrap() {
            let name = one["name"].as_str().unwrap().trim_start_matches("elfutils-");
            assert!(notice.contains(name), "{name} is not in LICENSES/linked-libraries.txt");
        }
        assert_eq!(number_after("Changes in 1.2.13 (13 Oct)", "Changes in "), Some("1.2.13"));
        assert_eq!(number_after("Version unknown", "Version "), None);
    }
}
