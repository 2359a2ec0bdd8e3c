//! Keeps QEMU's threads in step where instructions are counted: a library that is preloaded into it. `icount_barrier.c` explains why and how.

use crate::error::VmError;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiled by the build script.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/icount_barrier.so"));
/// As it is named to the loader, which takes no spaces and no colons in a path: relative to the directory that QEMU runs in.
const LIBRARY_NAME: &str = "icount_barrier.so";
/// The library makes this file once it knows QEMU's threads.
const MARK_NAME: &str = "icount-barrier-kept";
/// Where the library reads that from (`icount_barrier.c`).
const MARK_VARIABLE: &str = "SWTCH_ICOUNT_BARRIER";
/// QEMU then names its threads, by which the library knows them.
pub(crate) const QEMU_ARGUMENTS: [&str; 2] = ["-name", "guest,debug-threads=on"];

/// The library in the directory of one run.
#[derive(Clone, Debug)]
pub(crate) struct IcountBarrier {
    folder: PathBuf,
}

impl IcountBarrier {
    pub(crate) fn prepare(folder: &Path) -> Result<Self, VmError> {
        let library = folder.join(LIBRARY_NAME);
        fs::write(&library, LIBRARY).map_err(VmError::system(format!("writing {}", library.display())))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Has the command's program, and what it becomes, load the library.
    pub(crate) fn load_into(&self, command: &mut Command) {
        command
            .current_dir(&self.folder)
            .env("LD_PRELOAD", format!("./{LIBRARY_NAME}"))
            .env(MARK_VARIABLE, self.folder.join(MARK_NAME));
    }

    /// Whether they are kept, as far as it can be known; to be asked once the guest has booted.
    pub(crate) fn check(&self) -> Result<(), VmError> {
        if self.folder.join(MARK_NAME).exists() { Ok(()) } else { Err(VmError::Inexact) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_qemu_is_left_alone_and_told_apart() {
        // A space and a colon: what the loader cannot take in a path.
        let folder = tempfile::Builder::new().prefix("turns : ").tempdir().unwrap();
        let icount_barrier = IcountBarrier::prepare(folder.path()).unwrap();
        let mut command = Command::new("cat");
        icount_barrier.load_into(command.arg("/proc/self/maps"));
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(LIBRARY_NAME), "it was loaded");
        assert!(matches!(icount_barrier.check(), Err(VmError::Inexact)));
    }
}
