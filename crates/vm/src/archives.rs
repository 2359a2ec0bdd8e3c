//! What a guest gets, written as archives: all of it, or the first process alone and the rest beside it.

use crate::error::VmError;
use crate::file_closure::GuestEntry;
use crate::guest::{GuestJob, Resumed};
use crate::initramfs;
use crate::kept_boot;
use crate::qemu::{self, Accelerator};
use crate::spec::Spec;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Of these files' bytes.
pub(crate) fn digest(files: &[&Path]) -> Result<u64, VmError> {
    let mut hasher = DefaultHasher::new();
    for path in files {
        let bytes = fs::read(path).map_err(VmError::system(format!("reading {}", path.display())))?;
        bytes.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// Names everything that decides what a guest does, but QEMU itself, by the digests of its files.
pub(crate) fn inputs(spec: &Spec, accelerator: Accelerator, digests: &[u64]) -> String {
    let mut hasher = DefaultHasher::new();
    let command_line = qemu::command_line(spec, accelerator);
    (spec.cpus, spec.memory_mib, command_line, spec.seed, digests).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Writes what a guest needs, in the way that it gets it.
#[derive(Debug)]
pub(crate) struct Archives<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) folder: &'a Path,
    pub(crate) items: BTreeMap<PathBuf, GuestEntry>,
    /// Of the first process alone.
    pub(crate) own_items: BTreeMap<PathBuf, GuestEntry>,
    pub(crate) system: PathBuf,
    pub(crate) first_process: PathBuf,
    pub(crate) job: GuestJob,
}

impl Archives<'_> {
    pub(crate) fn initramfs(&self) -> PathBuf {
        self.folder.join("initramfs.cpio")
    }

    /// In the memory of a device, for a guest that resumes from a kept boot.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// Everything: a guest that boots for this command.
    pub(crate) fn write_all(&self) -> Result<(), VmError> {
        self.write(&self.initramfs(), 0, &self.items, Some(&self.job))
    }

    /// The first process alone: a guest that boots for any command.
    pub(crate) fn write_own(&self) -> Result<(), VmError> {
        self.write(&self.initramfs(), 0, &self.own_items, None)
    }

    /// The rest.
    pub(crate) fn write_rest(&self, resumed: Option<Resumed>) -> Result<(), VmError> {
        let mut rest = self.items.clone();
        rest.retain(|place, item| self.own_items.get(place) != Some(item));
        let job = GuestJob { resumed, ..self.job.clone() };
        self.write(&self.files(), kept_boot::HEADER_BYTES, &rest, Some(&job))
    }

    /// Where the archive does not begin its file, its length does.
    fn write(
        &self,
        path: &Path,
        begins_at: u64,
        items: &BTreeMap<PathBuf, GuestEntry>,
        job: Option<&GuestJob>,
    ) -> Result<(), VmError> {
        let content = initramfs::Content {
            items,
            system: &self.system,
            first_process: &self.first_process,
            job,
            memory_bytes: self.spec.memory_mib << 20,
            keeps_symbols: self.spec.symbols,
        };
        let doing = || VmError::system(format!("writing {}", path.display()));
        let mut file = File::create(path).map_err(doing())?;
        file.seek(SeekFrom::Start(begins_at)).map_err(doing())?;
        initramfs::write(&file, path, &content)?;
        if begins_at == 0 {
            return Ok(());
        }
        let length = file.stream_position().map_err(doing())? - begins_at;
        file.write_all_at(&length.to_le_bytes(), 0).map_err(doing())
    }
}
