//! The machines that artefacts are for.

use anyhow::{Context, Result};

/// A kind of machine, and what the kinds of artefacts call it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) arch: &'static str,
    /// Debian's name.
    pub(super) debian: &'static str,
    /// The name in images.
    pub(super) image: &'static str,
    /// The only kind of artefact that is made for it; absent where all are.
    pub(super) only: Option<&'static str>,
}

pub(super) const ALL: [Target; 3] = [
    Target { arch: "x86_64", debian: "amd64", image: "amd64", only: None },
    Target { arch: "aarch64", debian: "arm64", image: "arm64", only: None },
    // For its guests: they were not run on a machine of that kind yet.
    Target { arch: "riscv64", debian: "riscv64", image: "riscv64", only: Some("static") },
];

/// The target of this architecture.
pub(super) fn of(arch: &str) -> Result<Target> {
    let found = ALL.into_iter().find(|target| target.arch == arch);
    found.with_context(|| {
        format!("'{arch}' is not an architecture that is built for: x86_64, aarch64, riscv64")
    })
}

/// What programs are linked with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CLibrary {
    Musl,
    /// As old as in the images that wheels for most distributions are built for (PEP 600, manylinux_2_28).
    Glibc,
}

impl Target {
    /// Rust's name of it.
    pub(super) fn triple(&self, c_library: CLibrary) -> String {
        let environment = match c_library {
            CLibrary::Musl => "musl",
            CLibrary::Glibc => "gnu",
        };
        // Rust's name says which extensions a program may use.
        let arch = if self.arch == "riscv64" { "riscv64gc" } else { self.arch };
        format!("{arch}-unknown-linux-{environment}")
    }

    /// Zig's name of it.
    pub(super) fn zig(&self, c_library: CLibrary) -> String {
        let environment = match c_library {
            CLibrary::Musl => "musl",
            CLibrary::Glibc => "gnu.2.28",
        };
        format!("{}-linux-{environment}", self.arch)
    }

    /// The platform in a wheel's name.
    pub(super) fn wheel_platform(c_library: CLibrary) -> &'static str {
        match c_library {
            CLibrary::Musl => "musllinux_1_2",
            CLibrary::Glibc => "manylinux_2_28",
        }
    }
}
