//! The programs of one target, linked statically: they start in an empty root directory, and every kind of artefact carries the same ones.

use super::target::{CLibrary, Target};
use super::toolchain;
use crate::process::stream;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) use crate::wheel::PROGRAMS as NAMES;

/// A file beside programs that were built without optimisation: tests that would take minutes with them look for it.
const UNOPTIMISED: &str = "unoptimised";

/// The programs, without symbols, in a directory of their own.
pub(super) struct Programs {
    pub(super) target: Target,
    pub(super) folder: PathBuf,
    pub(super) optimised: bool,
}

impl Programs {
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        NAMES.into_iter().map(|name| self.folder.join(name))
    }

    /// A `swtch` that runs on this machine, for what does not depend on the target: pages, completions.
    pub(super) fn runnable() -> Result<PathBuf> {
        let own = Path::new("target/dist").join(std::env::consts::ARCH).join("swtch");
        if own.is_file() {
            Ok(own)
        } else {
            bail!(
                "{} is not built, which writes pages and completions: cargo xtask dist --arch {} programs",
                own.display(),
                std::env::consts::ARCH
            )
        }
    }
}

/// Builds them.
pub(super) fn build(target: Target, optimised: bool) -> Result<Programs> {
    build_by(Command::new(toolchain::tool("cargo-zigbuild")?), target, optimised)
}

/// The same without optimisation, by what CPU time others leave.
pub(super) fn build_beside(target: Target) -> Result<Programs> {
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(toolchain::tool("cargo-zigbuild")?);
    build_by(command, target, false)
}

fn build_by(mut command: Command, target: Target, optimised: bool) -> Result<Programs> {
    let triple = target.triple(CLibrary::Musl);
    command.args(["zigbuild", "--locked", "--workspace", "--target", &triple]);
    command.args(["--target-dir", toolchain::TARGET_DIR]);
    command.args(NAMES.iter().flat_map(|name| ["--bin", name]));
    command.args(optimised.then_some("--release"));
    toolchain::choose(&mut command, target, CLibrary::Musl)?;
    let outcome = stream(&mut command)?;
    if !outcome.succeeded {
        bail!("cargo: {}", outcome.status);
    }
    let built =
        Path::new(toolchain::TARGET_DIR).join(&triple).join(if optimised { "release" } else { "debug" });
    let folder = Path::new("target/dist").join(target.arch);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for name in NAMES {
        let (from, to) = (built.join(name), folder.join(name));
        fs::copy(&from, &to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    }
    let mark = folder.join(UNOPTIMISED);
    let marked = if optimised { fs::remove_file(&mark) } else { fs::write(&mark, "") };
    if let Err(error) = marked
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error).with_context(|| format!("cannot mark {}", folder.display()));
    }
    Ok(Programs { target, folder, optimised })
}
