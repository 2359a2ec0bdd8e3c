//! Compiles FLSCHED's source natively, so that it can be simulated where there is no compiler.

use std::path::{Path, PathBuf};

/// A link to the scheduler's own source: one source, and a packaged crate holds a copy.
const SOURCE: &str = "src/scx/flsched.bpf.c";
const HEADERS: &str = "src/scx/include";
/// As src/scx/compile.rs has them.
const FLAGS: [&str; 5] =
    ["-std=gnu17", "-shared", "-fno-strict-aliasing", "-fno-semantic-interposition", "-Wl,-Bsymbolic"];

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rerun-if-changed={HEADERS}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let text =
        std::fs::read_to_string(SOURCE).unwrap_or_else(|error| panic!("cannot read {SOURCE}: {error}"));
    // What a user can set must be in writable memory (src/scx/map_scan.rs).
    let text = text.replace("const volatile ", "volatile ");
    let source = out.join("flsched.c");
    std::fs::write(&source, text).expect("cargo's directory can be written to");

    let compiler = cc::Build::new()
        .cargo_metadata(false)
        .opt_level(2)
        .debug(false)
        .pic(true)
        .warnings(false)
        .get_compiler();
    let mut command = compiler.to_command();
    command.args(FLAGS).arg("-I").arg(Path::new(HEADERS)).arg("-o").arg(out.join("flsched.so")).arg(&source);
    let status = command.status().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} cannot compile {SOURCE}");
}
