//! The container image: the static programs and nothing else.

use super::programs::Programs;
use super::{DIST, put_documents, tree, version};
use crate::process::stream;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// Writes `dist/swtch-VERSION-ARCH-image.tar`, an OCI archive that podman, skopeo and docker load.
pub(super) fn make(programs: &Programs) -> Result<()> {
    let (version, arch) = (version()?, programs.target.arch);
    let context = Path::new("target/dist/image").join(arch);
    tree::lay_out(programs, &context)?;
    let doc = context.join("share/doc/swtch");
    tree::put_licences(&doc.join("LICENSES"))?;
    put_documents(&doc)?;
    let name = format!("swtch:{version}-{}", programs.target.image);
    let archive = format!("oci-archive:{DIST}/swtch-{version}-{arch}-image.tar:swtch:{version}");
    // Nothing runs in the image while it is built, so no rights are needed.
    let build = ["build", "--isolation", "chroot", "--file", "packaging/container/Containerfile"];
    for command in [
        Command::new("buildah")
            .args(build)
            .args(["--arch", programs.target.image, "--tag", &name])
            .arg(&context),
        Command::new("buildah").args(["push", &name, &archive]),
    ] {
        let outcome = stream(command.env("STORAGE_DRIVER", "vfs"))?;
        if !outcome.succeeded {
            bail!("buildah: {}", outcome.status);
        }
    }
    Ok(())
}
