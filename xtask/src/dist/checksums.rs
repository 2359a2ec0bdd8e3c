//! The checksums of what is in dist/, as sha256sum reads them.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

const NAME: &str = "SHA256SUMS";

/// Writes `SHA256SUMS`, which `sha256sum --check SHA256SUMS` reads.
pub(super) fn write(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.path().is_file() && entry.file_name() != NAME)
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    let output = Command::new("sha256sum").args(names).current_dir(folder).output()?;
    if !output.status.success() {
        bail!("sha256sum: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let list = folder.join(NAME);
    fs::write(&list, &output.stdout).with_context(|| format!("cannot write {}", list.display()))?;
    println!("\n{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}
