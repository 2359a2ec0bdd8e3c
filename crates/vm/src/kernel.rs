//! Which kernel to boot: a given file, or the newest of Debian's with sched_ext, fetched once.

mod apt;
mod config;

use crate::error::VmError;
use config::Config;
use std::cmp::Ordering;
use std::env;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// `HdrS` at this place makes a file an x86 kernel image (Documentation/arch/x86/boot.rst).
const MAGIC_PLACE: u64 = 0x202;
const MAGIC: [u8; 4] = *b"HdrS";
/// Without these in the kernel itself, the guest cannot talk to us. Debian's cloud kernels have them.
const NEEDED: [&str; 4] = ["BLK_DEV_INITRD", "DEVTMPFS", "VIRTIO_CONSOLE", "VIRTIO_PCI"];
/// What the schedulers of sched_ext need.
const SCHED_EXT: [&str; 2] = ["SCHED_CLASS_EXT", "DEBUG_INFO_BTF"];

/// A kernel that can be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its image.
    pub image: PathBuf,
    /// Of the file or of the cache's directory.
    pub name: String,
}

/// The kernel to boot. `sched_ext` says whether it must have that. `tell` hears of a download.
pub(crate) fn choose(
    given: Option<&Path>,
    sched_ext: bool,
    update: bool,
    mut tell: impl FnMut(&str),
) -> Result<Kernel, VmError> {
    if let Some(image) = given {
        return check_given(image, sched_ext);
    }
    let cache = cache_folder()
        .ok_or_else(|| VmError::NoKernel {
            why: "neither XDG_CACHE_HOME nor HOME says where to keep it".to_owned(),
        })?
        .join("kernels");
    if !update && let Some(kernel) = newest_in(&cache) {
        return Ok(kernel);
    }
    tell("fetching a kernel with sched_ext from Debian's packages (once, some 15 MB)");
    apt::fetch(&cache)?;
    newest_in(&cache).ok_or_else(|| VmError::NoKernel { why: "the fetched one lacks it".to_owned() })
}

/// `$XDG_CACHE_HOME/swtch`, by default `~/.cache/swtch`.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("swtch"))
}

/// The newest kernel of the cache that is complete and has sched_ext.
fn newest_in(cache: &Path) -> Option<Kernel> {
    let mut names: Vec<String> = fs::read_dir(cache)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_by(|left, right| by_version(right, left));
    names.into_iter().find_map(|name| {
        let folder = cache.join(&name);
        let config = Config::read(&folder.join("config")).ok()?;
        let image = folder.join("vmlinuz");
        let fits = config.first_missing(&SCHED_EXT).is_none() && image.is_file();
        fits.then_some(Kernel { image, name })
    })
}

/// By the numbers in a version, the text between them aside: 7.10.1 is newer than 7.9.14.
fn by_version(left: &str, right: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    numbers(left).cmp(&numbers(right)).then_with(|| left.cmp(right))
}

fn check_given(image: &Path, sched_ext: bool) -> Result<Kernel, VmError> {
    let refuse = |why: String| VmError::Kernel { path: image.to_owned(), why };
    let mut file = fs::File::open(image).map_err(|error| refuse(error.to_string()))?;
    let mut magic = [0; 4];
    let read = file.seek(SeekFrom::Start(MAGIC_PLACE)).and_then(|_| file.read_exact(&mut magic));
    if read.is_err() || magic != MAGIC {
        return Err(refuse(
            "it is not an x86 kernel image; give a vmlinuz or bzImage, not a vmlinux or a package".to_owned(),
        ));
    }
    // Its configuration is next to it under one of several names, or nowhere; then the guest itself tells what it lacks.
    if let Some(config) = Config::beside(image) {
        let lacks = |option: &str, next| {
            let option = format!("CONFIG_{option}=y");
            Err(VmError::KernelLacks { path: image.to_owned(), option, next })
        };
        if let Some(option) = config.first_missing(&NEEDED) {
            return lacks(option, "build it in, or take Debian's cloud kernel by leaving --kernel out");
        }
        if sched_ext && let Some(option) = config.first_missing(&SCHED_EXT) {
            return lacks(option, "run without --sched, or take another kernel");
        }
    }
    let name = image.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Kernel { image: image.to_owned(), name })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(cache: &Path, name: &str, config: &str) {
        let folder = cache.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config"), config).unwrap();
        fs::write(folder.join("vmlinuz"), "").unwrap();
    }

    const FULL: &str = "CONFIG_SCHED_CLASS_EXT=y\nCONFIG_DEBUG_INFO_BTF=y\n";

    #[test]
    fn the_newest_of_the_cache_is_taken() {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(newest_in(cache.path()), None);
        keep(cache.path(), "7.9.14-cloud-amd64", FULL);
        keep(cache.path(), "7.10.1-cloud-amd64", FULL);
        keep(cache.path(), "8.0.0-cloud-amd64", "# CONFIG_SCHED_CLASS_EXT is not set\n");
        fs::create_dir(cache.path().join("9.0")).unwrap();
        assert_eq!(newest_in(cache.path()).unwrap().name, "7.10.1-cloud-amd64");
    }

    #[test]
    fn a_file_that_is_no_kernel_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vmlinux");
        for content in ["", "\x7fELF and so on"] {
            fs::write(&path, content).unwrap();
            let error = check_given(&path, false).unwrap_err().to_string();
            assert!(error.contains("vmlinux") && error.contains("bzImage"), "{error}");
        }
        assert!(
            check_given(&folder.path().join("missing"), false).unwrap_err().to_string().contains("missing")
        );
    }

    #[test]
    fn a_configuration_beside_the_kernel_is_believed() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("vmlinuz-7.1");
        let mut content = vec![0; 0x202];
        content.extend_from_slice(&MAGIC);
        fs::write(&image, content).unwrap();
        assert!(check_given(&image, true).is_ok(), "nothing is known of it");
        let config = folder.path().join("config-7.1");
        let needed = NEEDED.map(|option| format!("CONFIG_{option}=y\n")).concat();
        fs::write(&config, &needed).unwrap();
        assert!(check_given(&image, false).is_ok());
        let error = check_given(&image, true).unwrap_err().to_string();
        assert!(error.contains("CONFIG_SCHED_CLASS_EXT"), "{error}");
        fs::write(&config, needed.replace("VIRTIO_PCI=y", "VIRTIO_PCI=m") + FULL).unwrap();
        let error = check_given(&image, true).unwrap_err().to_string();
        assert!(error.contains("CONFIG_VIRTIO_PCI=y"), "{error}");
    }
}
