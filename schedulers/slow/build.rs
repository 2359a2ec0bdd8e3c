//! Compiles the program that holds CPUs up for the kernel.

include!("build/compile.rs");

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    compile("slow");
}
