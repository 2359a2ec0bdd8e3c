//! libelf and zlib for a target, from the sources that the crate libbpf-sys carries, compiled with zig's C compiler.
//!
//! libbpf-sys could build them itself (its feature `vendored`), but with autotools. The `configure` of elfutils asks for argp, fts and
//! obstack, which musl lacks and libelf does not use.

use super::target::{CLibrary, Target};
use crate::process::cargo;
use crate::wheel::PYTHON;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What elfutils' `configure` would find for libelf. Only glibc declares the two below to everybody.
const CONFIG: &str = "\
#define HAVE_ERR_H 1
#define HAVE_DECL_POWEROF2 1
#define HAVE_DECL_REALLOCARRAY 1
#define HAVE_VISIBILITY 1
#include <features.h>
#ifdef __GLIBC__
#define HAVE_DECL_MEMPCPY 1
#define HAVE_DECL_RAWMEMCHR 1
#endif
#include <eu-config.h>
";
const ELF_FLAGS: [&str; 6] =
    ["-std=gnu99", "-D_GNU_SOURCE", "-DHAVE_CONFIG_H", "-DPACKAGE=\"elfutils\"", "-DLOCALEDIR=\"\"", "-w"];
const ZLIB: [&str; 15] = [
    "adler32", "compress", "crc32", "deflate", "gzclose", "gzlib", "gzread", "gzwrite", "infback", "inffast",
    "inflate", "inftrees", "trees", "uncompr", "zutil",
];
const ZLIB_FLAGS: [&str; 4] = ["-DHAVE_UNISTD_H", "-DHAVE_HIDDEN", "-D_LARGEFILE64_SOURCE=1", "-w"];

/// Where the archives are, and what compiles programs that use them.
pub(super) struct CLibraries {
    folder: PathBuf,
    /// Flags by which libbpf finds the headers.
    flags: String,
}

impl CLibraries {
    /// Has a build for the target find them.
    pub(super) fn give_to(&self, command: &mut Command, triple: &str) {
        command
            .env("LIBBPF_SYS_EXTRA_CFLAGS", &self.flags)
            .env(format!("LIBBPF_SYS_LIBRARY_PATH_{}", triple.replace('-', "_")), &self.folder);
    }
}

/// Builds them once a target and C library.
pub(super) fn build(target: Target, c_library: CLibrary) -> Result<CLibraries> {
    let source = source()?;
    let folder = std::path::absolute(Path::new("target/dist/lib").join(target.zig(c_library)))?;
    let include = |name: &str| format!("-I{}", source.join(name).display());
    let libraries = CLibraries {
        flags: format!("{} {}", include("elfutils/libelf"), include("zlib")),
        folder: folder.clone(),
    };
    if folder.join("libelf.a").is_file() && folder.join("libz.a").is_file() {
        return Ok(libraries);
    }
    let objects = folder.join("objects");
    fs::create_dir_all(&objects).with_context(|| format!("cannot make {}", objects.display()))?;
    fs::write(objects.join("config.h"), CONFIG)?;
    let elf = files(&source.join("elfutils/libelf"), "c")?;
    let mut flags: Vec<String> = ELF_FLAGS.map(str::to_owned).to_vec();
    flags.extend(["-I.".to_owned(), include("elfutils/lib"), include("elfutils/libelf"), include("zlib")]);
    archive(&target.zig(c_library), &objects, &flags, &elf, "libelf.a")?;
    let zlib: Vec<PathBuf> = ZLIB.iter().map(|name| source.join("zlib").join(format!("{name}.c"))).collect();
    archive(&target.zig(c_library), &objects, &ZLIB_FLAGS.map(str::to_owned), &zlib, "libz.a")?;
    Ok(libraries)
}

/// The directory of libbpf-sys, which Cargo has fetched.
pub(super) fn source() -> Result<PathBuf> {
    let output = cargo().args(["metadata", "--format-version", "1", "--locked"]).output()?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).context("`cargo metadata` did not print JSON")?;
    let package = metadata["packages"]
        .as_array()
        .and_then(|packages| packages.iter().find(|package| package["name"] == "libbpf-sys"));
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let folder = manifest.and_then(|path| Path::new(path).parent());
    folder.map(Path::to_owned).context("the workspace does not depend on libbpf-sys")
}

/// The files of a directory whose names end so, sorted.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == ending))
        .collect();
    files.sort();
    Ok(files)
}

/// Compiles sources, each to an object of its own (zig would make one of them all), and puts the objects into one archive. The Python module
/// brings its own `elf_error.c`, which works as long as nothing takes the archive's.
fn archive(zig_target: &str, folder: &Path, flags: &[String], sources: &[PathBuf], name: &str) -> Result<()> {
    let python = std::path::absolute(PYTHON)?;
    let zig = |arguments: &[&str], flags: &[String], files: &[PathBuf]| -> Result<()> {
        let mut command = Command::new(&python);
        command.args(["-m", "ziglang"]).args(arguments).args(flags).args(files).current_dir(folder);
        // The names of a hundred files would hide the rest of a log.
        let output =
            command.output().context("cannot run zig, from PyPI's ziglang; run `tools/setup dist`")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!(
                "{name} for {zig_target}: zig {}: {}",
                arguments[0],
                said.lines().next().unwrap_or_default()
            );
        }
        Ok(())
    };
    for source in sources {
        let one = std::slice::from_ref(source);
        zig(&["cc", "-target", zig_target, "-c", "-O2", "-fPIC", "-ffunction-sections"], flags, one)?;
    }
    let objects = files(folder, "o")?;
    zig(&["ar", "rcs", &format!("../{name}")], &[], &objects)?;
    objects.iter().try_for_each(|object| fs::remove_file(object).map_err(Into::into))
}
