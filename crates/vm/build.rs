//! Compiles the library that is preloaded into a QEMU that counts instructions (src/icount_barrier.c).

use std::path::PathBuf;

const SOURCE: &str = "src/icount_barrier.c";

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let compiler = cc::Build::new()
        .cargo_metadata(false)
        .opt_level(2)
        .debug(false)
        .pic(true)
        .warnings(true)
        .get_compiler();
    let mut command = compiler.to_command();
    // QEMU brings its C library, whichever this program has.
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("musl") {
        command.arg("-nostdlib");
    }
    command
        .args(["-std=gnu17", "-shared", "-pthread", "-o"])
        .arg(out.join("icount_barrier.so"))
        .arg(SOURCE)
        .arg("-ldl");
    let status = command.status().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} cannot compile {SOURCE}");
}
