//! Compiles the programs for the kernel, and their skeleton.

use libbpf_cargo::SkeletonBuilder;
use std::path::PathBuf;
use std::process::Command;

const SOURCES: [&str; 3] = ["record", "counts", "stacks"];

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    println!("cargo:rerun-if-env-changed=CLANG");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let clang = clang();
    for name in SOURCES {
        let source = format!("src/bpf/{name}.bpf.c");
        SkeletonBuilder::new()
            .source(&source)
            .clang(&clang)
            .clang_args(["-Wall", "-Werror", "-Wno-unused-function"])
            .build_and_generate(out.join(format!("{name}.skel.rs")))
            .unwrap_or_else(|error| {
                panic!("{clang} cannot compile {source} for the kernel: {error:#}; `make setup` installs clang-19")
            });
    }
}

/// `$CLANG`, or the newest that is known to do, or what is there.
fn clang() -> String {
    std::env::var("CLANG").unwrap_or_else(|_| {
        let works =
            |name: &str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
        ["clang-19", "clang"].into_iter().find(|name| works(name)).unwrap_or("clang-19").to_owned()
    })
}
