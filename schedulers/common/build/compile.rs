// Included by the build scripts of the schedulers: compiles one .bpf.c for the kernel, with the headers of scx_cargo.

use std::process::Command;

/// Compiles `src/bpf/NAME.bpf.c` to `$OUT_DIR/NAME.bpf.o`.
fn compile(name: &str) {
    if std::env::var_os("BPF_CLANG").is_none() {
        // SAFETY: a build script has one thread.
        unsafe { std::env::set_var("BPF_CLANG", clang()) };
    }
    let source = format!("src/bpf/{name}.bpf.c");
    scx_cargo::BpfBuilder::new()
        .and_then(|mut builder| {
            builder.enable_skel(&source, name).add_cflag("-Wall").add_cflag("-Wno-unused-function").build()
        })
        .unwrap_or_else(|error| {
            panic!("{source} does not compile for the kernel: {error:#}; `make setup` installs clang-19")
        });
}

/// The newest that is known to do, or what is there.
fn clang() -> &'static str {
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    ["clang-19", "clang"].into_iter().find(works).unwrap_or("clang-19")
}
