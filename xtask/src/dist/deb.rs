//! The Debian package, by Debian's own `dpkg-deb`.

use super::programs::Programs;
use super::{DIST, put_documents, tree, version};
use crate::process::stream;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "packaging/debian";
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Writes `dist/swtch_VERSION_ARCH.deb`.
pub(super) fn make(programs: &Programs) -> Result<()> {
    let root = Path::new("target/dist/deb").join(programs.target.debian);
    let doc = root.join("usr/share/doc/swtch");
    // Of the whole package, before: what was there goes.
    if root.is_dir() {
        fs::remove_dir_all(&root).with_context(|| format!("cannot empty {}", root.display()))?;
    }
    tree::lay_out(programs, &root.join("usr"))?;
    tree::put_book(&root.join("usr"))?;
    for page in fs::read_dir(root.join("usr/share/man/man1"))? {
        compress(&page?.path())?;
    }
    for unit in fs::read_dir("packaging/systemd")? {
        let unit = unit?;
        tree::put(&fs::read(unit.path())?, &root.join("lib/systemd/system").join(unit.file_name()), 0o644)?;
    }
    tree::put(copyright()?.as_bytes(), &doc.join("copyright"), 0o644)?;
    tree::put(changelog()?.as_bytes(), &doc.join("changelog"), 0o644)?;
    compress(&doc.join("changelog"))?;
    put_documents(&doc)?;
    let overrides = root.join("usr/share/lintian/overrides/swtch");
    tree::put(&fs::read(Path::new(SOURCE).join("lintian-overrides"))?, &overrides, 0o644)?;
    control(&root, programs)?;
    let name = format!("swtch_{}_{}.deb", version()?, programs.target.debian);
    let outcome = stream(
        Command::new("dpkg-deb")
            .args(["--build", "--root-owner-group", "-Zxz"])
            .arg(&root)
            .arg(Path::new(DIST).join(name)),
    )?;
    if outcome.succeeded { Ok(()) } else { bail!("dpkg-deb: {}", outcome.status) }
}

/// What the package manager reads: `DEBIAN/`.
fn control(root: &Path, programs: &Programs) -> Result<()> {
    let mut files = Vec::new();
    list(root, &mut files)?;
    files.sort();
    let bytes: u64 = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum();
    let text = read("control")?
        .replace("@VERSION@", &version()?)
        .replace("@ARCHITECTURE@", programs.target.debian)
        .replace("@KIBIBYTES@", &bytes.div_ceil(1024).to_string());
    let names = files.iter().filter_map(|file| file.strip_prefix(root).ok());
    let sums = Command::new("md5sum").args(names).current_dir(root).output()?;
    if !sums.status.success() {
        bail!("md5sum: {}", String::from_utf8_lossy(&sums.stderr).trim());
    }
    let folder = root.join("DEBIAN");
    tree::put(text.as_bytes(), &folder.join("control"), 0o644)?;
    tree::put(&sums.stdout, &folder.join("md5sums"), 0o644)?;
    for script in SCRIPTS {
        tree::put(read(script)?.as_bytes(), &folder.join(script), 0o755)?;
    }
    Ok(())
}

fn read(name: &str) -> Result<String> {
    let path = Path::new(SOURCE).join(name);
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// With the licences' texts, indented as the format wants.
fn copyright() -> Result<String> {
    let indented = |name: &str| -> Result<String> {
        let text = fs::read_to_string(Path::new("LICENSES").join(format!("{name}.txt")))?;
        let line = |line: &str| if line.trim().is_empty() { " .".to_owned() } else { format!(" {line}") };
        Ok(text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n"))
    };
    let text = read("copyright")?;
    ["MIT", "BSD-2-Clause", "Zlib"]
        .into_iter()
        .try_fold(text, |text, name| Ok(text.replace(&format!("@{name}@"), &indented(name)?)))
}

/// The changes are in the project's own CHANGELOG; Debian's format wants an entry a version.
fn changelog() -> Result<String> {
    let output = Command::new("git").args(["log", "-1", "--format=%cD"]).output()?;
    let date = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if date.is_empty() {
        bail!("`git log` gives no date: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let maintainer = read("control")?;
    let maintainer = maintainer.lines().find_map(|line| line.strip_prefix("Maintainer: "));
    let maintainer = maintainer.context("packaging/debian/control has no maintainer")?;
    Ok(format!(
        "swtch ({}) unstable; urgency=medium\n\n  * See CHANGELOG.md of the project.\n\n -- {maintainer}  {date}\n",
        version()?
    ))
}

/// Without a name or time, so that the same bytes come out again.
fn compress(path: &Path) -> Result<()> {
    let status = Command::new("gzip").args(["-9nf"]).arg(path).status()?;
    if status.success() { Ok(()) } else { bail!("gzip {}: {status}", path.display()) }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { list(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_the_root() {
        std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
    }

    #[test]
    fn the_copyright_holds_the_licences_and_no_place_left_to_fill() {
        in_the_root();
        let text = copyright().unwrap();
        for words in
            ["Permission is hereby granted", "Redistribution and use", "Jean-loup Gailly        Mark Adler"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!["@MIT", "@BSD", "@Zlib"].iter().any(|place| text.contains(place)), "{text}");
    }

    #[test]
    fn the_service_may_load_bpf_programs_that_observe_and_nothing_else() {
        in_the_root();
        let unit = fs::read_to_string("packaging/systemd/swtch-serve.service").unwrap();
        let values =
            |key: &str| unit.lines().filter_map(move |line| line.strip_prefix(key)).collect::<Vec<_>>();
        for key in ["CapabilityBoundingSet=", "AmbientCapabilities="] {
            assert_eq!(values(key), ["CAP_BPF CAP_PERFMON"], "{key}");
        }
        // The last line counts: bpf is among the privileged calls that the line above takes away.
        let calls = values("SystemCallFilter=");
        assert_eq!(calls.last(), Some(&"bpf perf_event_open capset setpriority"));
        assert!(values("ExecStart=")[0].starts_with("/usr/bin/swtch serve"));
    }
}
