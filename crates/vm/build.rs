//! Compiles what is preloaded into a QEMU that counts instructions (src/icount_barrier.c), and the program by which a guest's first process
//! reaches the memory of devices (src/guest/device_map.c).

use std::path::PathBuf;

const BARRIER: &str = "src/icount_barrier.c";
const DEVICE_MAP: &str = "src/guest/device_map.c";

fn main() {
    // QEMU brings its C library, whichever this program has.
    let is_musl = std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("musl");
    let library: &[&str] = if is_musl { &["-nostdlib"] } else { &[] };
    compile(BARRIER, "icount_barrier.so", &[&["-shared", "-pthread"], library].concat(), &["-ldl"]);
    // It has no library at all and no header, so none has to travel, and any compiler makes it.
    let alone = [
        "-static",
        "-nostdlib",
        "-nostdinc",
        "-ffreestanding",
        "-fno-stack-protector",
        "-fno-pic",
        "-no-pie",
    ];
    match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64" | "aarch64" | "riscv64") => compile(DEVICE_MAP, "device_map", &alone, &[]),
        // There are no guests of other kinds.
        _ => std::fs::write(out().join("device_map"), []).expect("cargo's directory can be written"),
    }
}

fn compile(source: &str, name: &str, flags: &[&str], libraries: &[&str]) {
    println!("cargo:rerun-if-changed={source}");
    let is_library = flags.contains(&"-shared");
    let compiler = cc::Build::new()
        .cargo_metadata(false)
        .opt_level(2)
        .debug(false)
        .pic(is_library)
        .warnings(true)
        .get_compiler();
    let mut command = compiler.to_command();
    command.arg("-std=gnu17").args(flags).arg("-o").arg(out().join(name)).arg(source).args(libraries);
    let status = command.status().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} cannot compile {source}");
}

fn out() -> PathBuf {
    PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
}
