//! A Rust that can compile for a target, and zig as its C compiler and linker.

use super::c_libraries;
use super::target::{CLibrary, Target};
use crate::process::cargo;
use crate::wheel::PYTHON;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where everything is compiled: programs and wheels share what runs on this machine while they are built.
pub(super) const TARGET_DIR: &str = "target/dist/build";

/// A program of the Python environment.
pub(super) fn tool(name: &str) -> Result<PathBuf> {
    let path = std::path::absolute(Path::new(PYTHON).with_file_name(name))?;
    if path.is_file() { Ok(path) } else { bail!("{} is not there; run `tools/setup dist`", path.display()) }
}

/// Has a command that runs cargo use them, with libelf and zlib for the target.
pub(super) fn choose(command: &mut Command, target: Target, c_library: CLibrary) -> Result<()> {
    let triple = target.triple(c_library);
    let toolchain = toolchain(&triple)?;
    if toolchain.builds_std {
        // It is not stable, but makes the library of a target that no package here has.
        command.args(["-Z", "build-std=std,panic_unwind"]).env("RUSTC_BOOTSTRAP", "1");
    }
    // Both kinds of tools look for zig there.
    let tools = tool("python")?.parent().map(Path::to_owned).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&path)))?;
    command.env("PATH", path).env("CARGO", &toolchain.cargo).env("RUSTC", &toolchain.rustc);
    if c_library == CLibrary::Musl {
        // zig brings the files that a program starts with.
        let name = format!("CARGO_TARGET_{}_RUSTFLAGS", triple.to_uppercase().replace('-', "_"));
        command.env(name, "-C link-self-contained=no");
    }
    // Line tables are four fifths of a program.
    command.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.env("CARGO_INCREMENTAL", "0");
    c_libraries::build(target, c_library)?.give_to(command, &triple);
    Ok(())
}

struct Toolchain {
    cargo: OsString,
    rustc: OsString,
    /// Whether the standard library is compiled too.
    builds_std: bool,
}

/// The cargo that runs us where it has the target, else Debian's with the package of the library's source.
fn toolchain(triple: &str) -> Result<Toolchain> {
    let own = (cargo().get_program().to_owned(), OsString::from("rustc"));
    for (cargo, rustc) in [own, ("/usr/bin/cargo".into(), "/usr/bin/rustc".into())] {
        let Ok(output) = Command::new(&rustc).args(["--print", "sysroot"]).output() else { continue };
        let sysroot =
            String::from_utf8(output.stdout).context("rustc names a directory that is not UTF-8")?;
        let library = Path::new(sysroot.trim()).join("lib/rustlib");
        let has_std = library.join(triple).join("lib").is_dir();
        if has_std || library.join("src/rust/library/std/Cargo.toml").is_file() {
            return Ok(Toolchain { cargo, rustc, builds_std: !has_std });
        }
    }
    bail!(
        "no Rust here can compile for {triple}: its standard library is missing, and the source of it too; run `tools/setup dist`, \
         or `rustup target add {triple}`"
    )
}
