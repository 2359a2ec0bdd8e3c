//! Wheels for distributions with glibc and with musl: the library for each, and the same static programs.

use super::programs::Programs;
use super::target::{CLibrary, Target};
use super::{BOOK, DIST, put_documents, toolchain};
use crate::process::stream;
use crate::wheel;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// Writes `dist/swtch-VERSION-cp39-abi3-PLATFORM_ARCH.whl` for both C libraries.
pub(super) fn make(programs: &Programs) -> Result<()> {
    wheel::carry(programs.paths(), Some(Path::new(BOOK)))?;
    put_documents(Path::new(wheel::DOCUMENTS))?;
    for c_library in [CLibrary::Glibc, CLibrary::Musl] {
        let triple = programs.target.triple(c_library);
        let mut command = Command::new(toolchain::tool("maturin")?);
        command.args(["build", "--locked", "--zig", "--out", DIST, "--target", &triple]);
        command.args(["--compatibility", Target::wheel_platform(c_library)]);
        command.args(["--target-dir", toolchain::TARGET_DIR]);
        command.args(programs.optimised.then_some("--release"));
        toolchain::choose(&mut command, programs.target, c_library)?;
        let outcome = stream(&mut command)?;
        if !outcome.succeeded {
            bail!("maturin for {triple}: {}", outcome.status);
        }
    }
    Ok(())
}
