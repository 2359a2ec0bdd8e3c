//! The static programs as an archive to unpack anywhere.

use super::programs::Programs;
use super::{DIST, put_documents, tree, version};
use crate::process::stream;
use anyhow::{Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Writes `dist/swtch-VERSION-ARCH-linux.tar.gz`.
pub(super) fn make(programs: &Programs) -> Result<()> {
    let name = format!("swtch-{}-{}-linux", version()?, programs.target.arch);
    let parent = Path::new("target/dist/archive");
    let folder = parent.join(&name);
    tree::lay_out(programs, &folder)?;
    tree::put_book(&folder)?;
    tree::put_licences(&folder.join("LICENSES"))?;
    put_documents(&folder)?;
    for text in ["README.md", "CHANGELOG.md"] {
        tree::put(&fs::read(text)?, &folder.join(text), 0o644)?;
    }
    let file = Path::new(DIST).join(format!("{name}.tar.gz"));
    let outcome = stream(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-czf"])
            .arg(&file)
            .arg("-C")
            .arg(parent)
            .arg(&name),
    )?;
    if outcome.succeeded { Ok(()) } else { bail!("tar: {}", outcome.status) }
}
