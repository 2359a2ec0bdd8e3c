//! What packages ask for. Every file that a crate includes is inside it, and its manifest describes it. The list of what is linked into the
//! programs is valid CycloneDX.

use crate::dist::sbom;
use crate::metadata::{Package, workspace};
use crate::process::stream;
use crate::step::Counts;
use crate::unsafe_code::rust_files;
use crate::wheel::PYTHON;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// What a source includes when it is compiled, up to the name of the file.
const INCLUDES: [&str; 4] = ["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""];

/// Where the list is written to be checked.
const SBOM: &str = "target/tmp/sbom";

/// The step.
pub(crate) fn check() -> Result<Counts> {
    let mut counts = Counts::of_complaints(complaints(&workspace()?)?);
    fs::create_dir_all(SBOM).with_context(|| format!("cannot make {SBOM}"))?;
    sbom::write(Path::new(SBOM))?;
    counts.add(if Path::new(PYTHON).exists() {
        let file = Path::new(SBOM).join(sbom::NAME);
        Counts::of_command(&stream(Command::new(PYTHON).arg("packaging/check_sbom.py").arg(file))?)
    } else {
        Counts::skipped(
            "packages",
            format!("CycloneDX is not checked: there is no {PYTHON}; `make setup` installs it"),
        )
    });
    Ok(counts)
}

/// Files that a published crate includes from outside itself, and fields that its manifest lacks.
fn complaints(packages: &[Package]) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for package in packages.iter().filter(|package| package.is_published) {
        complaints
            .extend(package.missing_fields.iter().map(|field| format!("{} has no {field}", package.name)));
        let mut files = Vec::new();
        rust_files(&package.folder, &mut files)?;
        for file in files {
            let text =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            for name in outside(&text, &file, &package.folder) {
                complaints.push(format!(
                    "{}: {name} is outside of {}, so the package lacks it; move it in, or link it",
                    file.display(),
                    package.name
                ));
            }
        }
    }
    Ok(complaints)
}

/// The files that a source names and that are not below its crate's directory. A link that leads out of it is fine: the package holds
/// what it leads to.
fn outside(text: &str, file: &Path, package: &Path) -> Vec<String> {
    let folder = file.parent().unwrap_or(package);
    let is_build_script = file == package.join("build.rs");
    let included = INCLUDES.iter().flat_map(|include| text.split(include).skip(1));
    // A build script names files from the crate's own directory.
    let opened = text.split("\"../").skip(1).filter(|_| is_build_script);
    let name = |rest: &str| rest.split('"').next().unwrap_or_default().to_owned();
    let included = included.map(name).filter(|name| !is_below(&folder.join(name), package));
    let opened = opened.map(name).map(|name| format!("../{name}"));
    included.chain(opened.filter(|name| !is_below(&package.join(name), package))).collect()
}

/// Whether a path is below a directory once its `..` are followed.
fn is_below(path: &Path, directory: &Path) -> bool {
    let mut plain = PathBuf::new();
    for component in path.components() {
        if component == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(component);
        }
    }
    plain.starts_with(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leaves_the_crate_is_named() {
        let found = |text: &str, file: &str| outside(text, Path::new(file), Path::new("/w/crates/a"));
        let include = |name: &str| format!("const A: &str = include_str{}(\"{name}\");", '!');
        assert!(found(&include("../web/page.html"), "/w/crates/a/src/lib.rs").is_empty());
        assert_eq!(found(&include("../../web/page.html"), "/w/crates/a/src/lib.rs"), ["../../web/page.html"]);
        assert!(found(&include("../../web/page.html"), "/w/crates/a/src/html/mod.rs").is_empty());
        assert_eq!(found("read(\"../../x.c\")", "/w/crates/a/build.rs"), ["../../x.c"]);
        assert!(found("read(\"../../x.c\")", "/w/crates/a/src/lib.rs").is_empty(), "read when it runs");
    }

    #[test]
    fn this_workspace_has_crates_to_publish_and_others() {
        let packages = crate::metadata::workspace().unwrap();
        let is_published = |name: &str| packages.iter().find(|one| one.name == name).unwrap().is_published;
        assert!(is_published("swtch") && is_published("swtch-units"));
        assert!(!is_published("xtask") && !is_published("swtch-python"));
    }
}
