//! What an installed swtch consists of, below a prefix: archives, packages and images hold the same.

use super::BOOK;
use super::programs::{NAMES, Programs};
use crate::process::stream;
use crate::wheel::{HEADERS, copy_tree};
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The shells, and where each looks for completions below `share/`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/swtch"),
    ("zsh", "zsh/vendor-completions/_swtch"),
    ("fish", "fish/vendor_completions.d/swtch.fish"),
];

/// Lays out `bin/`, `include/` and `share/` below `prefix`, which is emptied first.
pub(super) fn lay_out(programs: &Programs, prefix: &Path) -> Result<()> {
    if prefix.is_dir() {
        fs::remove_dir_all(prefix).with_context(|| format!("cannot empty {}", prefix.display()))?;
    }
    for name in NAMES {
        put(&fs::read(programs.folder.join(name))?, &prefix.join("bin").join(name), 0o755)?;
    }
    copy_tree(Path::new(HEADERS), &prefix.join("include"))?;
    let swtch = Programs::runnable()?;
    for (shell, place) in COMPLETIONS {
        let output = Command::new(&swtch).args(["completions", shell]).output()?;
        if !output.status.success() {
            bail!("`swtch completions {shell}`: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        put(&output.stdout, &prefix.join("share").join(place), 0o644)?;
    }
    let pages = prefix.join("share/man/man1");
    let outcome = stream(Command::new(&swtch).args(["man", "--out"]).arg(&pages))?;
    if !outcome.succeeded {
        bail!("`swtch man`: {}", outcome.status);
    }
    for entry in fs::read_dir(&pages)? {
        fs::set_permissions(entry?.path(), fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// Puts the book where `swtch book` looks for it.
pub(super) fn put_book(prefix: &Path) -> Result<()> {
    copy_tree(Path::new(BOOK), &prefix.join("share/doc/swtch/book"))
}

/// The licences' texts, and which libraries in C are under them.
pub(super) fn put_licences(folder: &Path) -> Result<()> {
    copy_tree(Path::new("LICENSES"), folder)
}

/// Writes a file with these permissions, and the directories above it.
pub(super) fn put(bytes: &[u8], path: &Path, mode: u32) -> Result<()> {
    let doing = || format!("cannot write {}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).with_context(doing)?;
    fs::write(path, bytes).with_context(doing)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).with_context(doing)
}
