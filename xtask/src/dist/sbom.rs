//! The list of what is linked into the programs, with licences: a bill of materials in CycloneDX's JSON (version 1.5).

use super::programs::NAMES;
use super::version;
use crate::process::cargo;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const NAME: &str = "swtch.cdx.json";
/// What crates and zig bring in C, and under which licences.
const IN_C: [(&str, &str); 4] = [
    ("libbpf", "LGPL-2.1-only OR BSD-2-Clause"),
    ("elfutils-libelf", "GPL-2.0-or-later OR LGPL-3.0-or-later"),
    ("zlib", "Zlib"),
    ("musl", "MIT"),
];

/// Writes `swtch.cdx.json` into a directory.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut command = cargo();
    command.args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}\t{l}"]);
    command.args(NAMES.iter().flat_map(|name| ["--package", name]));
    let output = command.output()?;
    if !output.status.success() {
        bail!("`cargo tree`: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let components = components(&String::from_utf8_lossy(&output.stdout));
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

/// One a crate: "name v1.2.3 (where)", a tab, its licence.
fn components(tree: &str) -> Vec<Value> {
    let crates: BTreeSet<_> = tree.lines().filter_map(component).collect();
    let crates = crates.into_iter().map(|(name, version, licence)| {
        json!({
            "type": "library", "name": name, "version": version, "purl": format!("pkg:cargo/{name}@{version}"),
            "licenses": [{ "expression": licence }],
        })
    });
    let in_c = IN_C.iter().map(
        |(name, licence)| json!({ "type": "library", "name": name, "licenses": [{ "expression": licence }] }),
    );
    crates.chain(in_c).collect()
}

fn component(line: &str) -> Option<(&str, &str, String)> {
    let (package, licence) = line.split_once('\t')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    // Cargo still takes the separator of before SPDX; the mark of repeated lines comes last.
    let licence = licence.trim_end_matches(" (*)").replace('/', " OR ");
    Some((name, version, licence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_listed_once_with_its_licence() {
        let tree = "swtch v0.1.0 (/work/crates/cli)\tMIT OR Apache-2.0\nlibc v0.2.1\tMIT/Apache-2.0\n\nlibc v0.2.1\tMIT/Apache-2.0 (*)\n";
        let found = components(tree);
        assert_eq!(found.len(), 2 + IN_C.len());
        assert_eq!(found[0]["purl"], "pkg:cargo/libc@0.2.1");
        assert_eq!(found[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }
}
