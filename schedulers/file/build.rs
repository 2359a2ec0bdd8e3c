//! Packs the headers that `scx_cargo` carries, of the kernel that this program is built for.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Where `scx_cargo` unpacks its headers.
const UNPACKED: &str = "scx_utils-bpf_h";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where"));
    if env::var_os("BPF_CLANG").is_none() {
        // SAFETY: a build script has one thread.
        unsafe { env::set_var("BPF_CLANG", clang()) };
    }
    scx_cargo::BpfBuilder::new().unwrap_or_else(|error| {
        panic!("the headers of sched_ext cannot be unpacked: {error:#}; `make setup` installs clang-19")
    });
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let kernel_name = match architecture.as_str() {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        "riscv64" => "riscv",
        other => other,
    };
    let mut archive = tar::Builder::new(Vec::new());
    archive.mode(tar::HeaderMode::Deterministic);
    add(&mut archive, &out.join(UNPACKED), Path::new(""), kernel_name);
    let bytes = archive.into_inner().expect("it is in memory");
    let packed = ruzstd::encoding::compress_to_vec(&bytes[..], ruzstd::encoding::CompressionLevel::Fastest);
    fs::write(out.join("headers.tar.zst"), packed).expect("OUT_DIR can be written");
}

/// Adds what is below, in the order of the names. Of `arch`, the one of the target.
fn add(archive: &mut tar::Builder<Vec<u8>>, root: &Path, below: &Path, architecture: &str) {
    let mut entries: Vec<_> =
        fs::read_dir(root.join(below)).expect("it was just unpacked").flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        if path.parent() == Some(Path::new("arch")) && entry.file_name() != architecture {
            continue;
        }
        if root.join(&path).is_dir() {
            add(archive, root, &path, architecture);
        } else {
            archive.append_path_with_name(root.join(&path), &path).expect("it can be read");
        }
    }
}

/// The newest that is known to do, or what is there.
fn clang() -> &'static str {
    let works = |name: &&str| {
        std::process::Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success())
    };
    ["clang-19", "clang"].into_iter().find(works).unwrap_or("clang-19")
}
