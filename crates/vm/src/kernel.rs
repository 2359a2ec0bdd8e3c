//! Which kernel to boot: a given file, a version that Debian has, or the newest of its with sched_ext. Each is fetched once.

mod apt;
mod config;
mod config_diff;

pub use config_diff::{ConfigDiff, config_diff};

use crate::arch::Arch;
use crate::error::VmError;
use config::Config;
use std::cmp::Ordering;
use std::env;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static FETCHING: Mutex<()> = Mutex::new(());
/// Without these in the kernel itself, the guest cannot talk to us. Debian's cloud kernels have them.
const NEEDED: [&str; 4] = ["BLK_DEV_INITRD", "DEVTMPFS", "VIRTIO_CONSOLE", "VIRTIO_PCI"];
/// The driver of CPUs' frequencies, from which the kernel makes its energy model; a module of that kernel, beside its image.
pub(crate) const FREQUENCY_DRIVER: &str = "cpufreq-dt.ko.xz";
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

/// Which of Debian's kernels are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    arch: Arch,
    /// The ends of their versions.
    flavour: &'static str,
    /// Whether they need the driver of frequencies, a module.
    frequencies: bool,
}

impl Kind {
    /// Those for virtual machines.
    fn small(arch: Arch) -> Self {
        Self { arch, flavour: arch.facts().kernel_flavour, frequencies: false }
    }

    /// Those that give stock an energy model, where asked and where there are such.
    fn of(arch: Arch, energy_model: bool) -> Self {
        let flavour = arch.facts().frequency_flavour.filter(|_| energy_model);
        flavour.map_or_else(|| Self::small(arch), |flavour| Self { arch, flavour, frequencies: true })
    }

    /// Whether a version is of this flavour: `7.3.4+deb13-arm64` is, `7.3.4+deb13-cloud-arm64` is another.
    fn has(self, version: &str) -> bool {
        let before = version.strip_suffix(self.flavour).and_then(|before| before.rsplit('-').next());
        before.is_some_and(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))
    }

    /// Whether a directory of the cache has all that a guest needs.
    fn is_whole(self, folder: &Path) -> bool {
        folder.join("vmlinuz").is_file() && (!self.frequencies || folder.join(FREQUENCY_DRIVER).is_file())
    }
}

/// What the kernel of a guest is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) arch: Arch,
    /// A file or a version.
    pub(crate) given: Option<&'a Path>,
    /// It must have sched_ext.
    pub(crate) sched_ext: bool,
    /// It must make an energy model of the CPUs.
    pub(crate) energy_model: bool,
    /// A newer one than those in the cache is looked for.
    pub(crate) update: bool,
}

/// The kernel to boot. `tell` hears of a download.
pub(crate) fn choose(wanted: Wanted<'_>, mut tell: impl FnMut(&str)) -> Result<Kernel, VmError> {
    let Wanted { arch, given, sched_ext, energy_model, update } = wanted;
    let kind = Kind::of(arch, energy_model);
    let version = given.filter(|given| !given.exists()).and_then(version_of);
    if let (Some(image), None) = (given, version) {
        return check_given(image, sched_ext, kind);
    }
    let cache = kernels_folder()?;
    // Guests of several threads wait for one download.
    let _fetching = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(version) = version {
        let kept = newest_of(&cache, version, kind).filter(|_| !update);
        let kernel = if let Some(kernel) = kept {
            kernel
        } else {
            let size = if energy_model { "some 100 MB" } else { "up to 50 MB" };
            tell(&format!("fetching Linux {version} from Debian's packages (once, {size})"));
            apt::fetch_version(&cache, version, kind)?
        };
        return check_given(&kernel.image, sched_ext, kind).map(|_| kernel);
    }
    if !update && let Some(kernel) = newest_in(&cache, kind) {
        return Ok(kernel);
    }
    let size = if energy_model { "some 100 MB" } else { "some 15 MB" };
    tell(&format!("fetching a kernel with sched_ext from Debian's packages (once, {size})"));
    apt::fetch(&cache, kind)?;
    newest_in(&cache, kind).ok_or_else(|| VmError::NoKernel { why: "the fetched one lacks it".to_owned() })
}

fn kernels_folder() -> Result<PathBuf, VmError> {
    let why = || "neither XDG_CACHE_HOME nor HOME says where to keep it".to_owned();
    Ok(cache_folder().ok_or_else(|| VmError::NoKernel { why: why() })?.join("kernels"))
}

/// A version of the kernel, where it is one and not a file: `6.12`, `7.3.4`, `7.3.4+deb13-cloud-amd64`.
fn version_of(given: &Path) -> Option<&str> {
    let text = given.to_str()?;
    let (major, rest) = text.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let minor = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    (is_number(major) && is_number(minor) && !text.contains('/')).then_some(text)
}

/// Whether a full version is one of those that were asked for: 6.12.117 is a 6.12, 6.120 is not.
fn is_of(version: &str, asked: &str) -> bool {
    version.strip_prefix(asked).is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// A kernel that can be asked for by its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailableKernel {
    /// Its full version.
    pub version: String,
    /// Whether it is here already.
    pub kept: bool,
    /// Whether it has sched_ext; absent where its configuration is not here.
    pub sched_ext: Option<bool>,
}

/// Debian's kernels for virtual machines of a kind, the newest first, and those that are kept here.
///
/// # Errors
/// When apt cannot be asked.
pub fn available_kernels(arch: Arch) -> Result<Vec<AvailableKernel>, VmError> {
    let cache = kernels_folder()?;
    let kind = Kind::small(arch);
    let mut versions = apt::available(&cache, kind)?;
    versions
        .extend(names_in(&cache, kind).into_iter().filter(|name| cache.join(name).join("vmlinuz").is_file()));
    versions.sort_by(|left, right| by_version(right, left));
    versions.dedup();
    let of = |version: String| {
        let folder = cache.join(&version);
        let config = Config::read(&folder.join("config")).ok();
        AvailableKernel {
            kept: folder.join("vmlinuz").is_file(),
            sched_ext: config.map(|config| config.first_missing(&SCHED_EXT).is_none()),
            version,
        }
    };
    Ok(versions.into_iter().map(of).collect())
}

/// Where swtch keeps what it has fetched: `$XDG_CACHE_HOME/swtch`, by default `~/.cache/swtch`; absent where neither XDG_CACHE_HOME nor HOME is set.
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("swtch"))
}

/// The versions of this kind that the cache has, the newest first.
fn names_in(cache: &Path, kind: Kind) -> Vec<String> {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| kind.has(name));
    names.sort_by(|left, right| by_version(right, left));
    names
}

/// The file with the configuration of an image, where it is beside it.
pub(crate) fn config_beside(image: &Path) -> Option<PathBuf> {
    config::places(image).into_iter().find(|place| place.is_file())
}

/// The newest kernel of the cache that is of a version, with or without sched_ext.
fn newest_of(cache: &Path, version: &str, kind: Kind) -> Option<Kernel> {
    let name = names_in(cache, kind)
        .into_iter()
        .find(|name| is_of(name, version) && kind.is_whole(&cache.join(name)))?;
    Some(Kernel { image: cache.join(&name).join("vmlinuz"), name })
}

/// The newest kernel of the cache that is complete and has sched_ext.
fn newest_in(cache: &Path, kind: Kind) -> Option<Kernel> {
    names_in(cache, kind).into_iter().find_map(|name| {
        let folder = cache.join(&name);
        let config = Config::read(&folder.join("config")).ok()?;
        let image = folder.join("vmlinuz");
        let fits = config.first_missing(&SCHED_EXT).is_none() && kind.is_whole(&folder);
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

/// The kind of machine that an image is for, where it is an image.
fn arch_of(image: &mut fs::File) -> Option<Arch> {
    Arch::ALL.into_iter().find(|arch| {
        let (place, magic) = arch.facts().image_magic;
        let mut found = [0; 4];
        let read = image.seek(SeekFrom::Start(place)).and_then(|_| image.read_exact(&mut found));
        read.is_ok() && found == magic
    })
}

fn check_given(image: &Path, sched_ext: bool, kind: Kind) -> Result<Kernel, VmError> {
    let arch = kind.arch;
    let refuse = |why: String| VmError::Kernel { path: image.to_owned(), why };
    let mut file = fs::File::open(image).map_err(|error| refuse(error.to_string()))?;
    match arch_of(&mut file) {
        Some(found) if found == arch => {}
        Some(found) => {
            return Err(refuse(format!(
                "it is a kernel for {found}, and the guest is {arch}; run it with --arch {found}"
            )));
        }
        None => {
            let names = arch.facts().image_names;
            return Err(refuse(format!(
                "it is not a kernel image for {arch}; give {names}, not a vmlinux or a package"
            )));
        }
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
    if kind.frequencies && !image.with_file_name(FREQUENCY_DRIVER).is_file() {
        return Err(refuse(format!("for an energy model it needs its module {FREQUENCY_DRIVER} beside it")));
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

    fn image_of(arch: Arch) -> Vec<u8> {
        let (place, magic) = arch.facts().image_magic;
        let mut content = vec![0; usize::try_from(place).unwrap()];
        content.extend_from_slice(&magic);
        content
    }

    const FULL: &str = "CONFIG_SCHED_CLASS_EXT=y\nCONFIG_DEBUG_INFO_BTF=y\n";

    #[test]
    fn the_newest_of_the_cache_is_taken() {
        let cache = tempfile::tempdir().unwrap();
        let newest = |arch| newest_in(cache.path(), Kind::small(arch)).map(|kernel| kernel.name);
        assert_eq!(newest(Arch::X86_64), None);
        keep(cache.path(), "7.9.14-cloud-amd64", FULL);
        keep(cache.path(), "7.10.1-cloud-amd64", FULL);
        keep(cache.path(), "8.0.0-cloud-amd64", "# CONFIG_SCHED_CLASS_EXT is not set\n");
        fs::create_dir(cache.path().join("9.0")).unwrap();
        keep(cache.path(), "7.11.0-cloud-arm64", FULL);
        assert_eq!(newest(Arch::X86_64).as_deref(), Some("7.10.1-cloud-amd64"));
        assert_eq!(newest(Arch::Arm64).as_deref(), Some("7.11.0-cloud-arm64"));
    }

    #[test]
    fn a_version_is_told_from_a_file() {
        for version in ["6.12", "7.3.4", "7.3.4+deb13-cloud-amd64"] {
            assert_eq!(version_of(Path::new(version)), Some(version));
        }
        for file in ["bzImage", "./6.12", "6", "vmlinuz-6.12", "6.x", ".12"] {
            assert_eq!(version_of(Path::new(file)), None, "{file}");
        }
        let cache = tempfile::tempdir().unwrap();
        for name in ["6.12.9+deb13-cloud-amd64", "6.12.117+deb13-cloud-amd64", "6.120.1-cloud-amd64"] {
            keep(cache.path(), name, "");
        }
        let found = |version: &str| {
            newest_of(cache.path(), version, Kind::small(Arch::X86_64)).map(|kernel| kernel.name)
        };
        assert_eq!(found("6.12").as_deref(), Some("6.12.117+deb13-cloud-amd64"));
        assert_eq!(found("6.12.9").as_deref(), Some("6.12.9+deb13-cloud-amd64"));
        assert_eq!(found("6.1"), None);
    }

    #[test]
    fn a_file_that_is_no_kernel_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vmlinux");
        for content in ["", "\x7fELF and so on"] {
            fs::write(&path, content).unwrap();
            let error = check_given(&path, false, Kind::small(Arch::X86_64)).unwrap_err().to_string();
            assert!(error.contains("vmlinux") && error.contains("bzImage"), "{error}");
        }
        let missing =
            check_given(&folder.path().join("missing"), false, Kind::small(Arch::X86_64)).unwrap_err();
        assert!(missing.to_string().contains("missing"));
    }

    #[test]
    fn a_kernel_of_another_kind_is_named_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        for arch in Arch::ALL {
            let image = folder.path().join(arch.name());
            fs::write(&image, image_of(arch)).unwrap();
            assert!(check_given(&image, false, Kind::small(arch)).is_ok());
            let other = Arch::ALL.into_iter().find(|other| *other != arch).unwrap();
            let error = check_given(&image, false, Kind::small(other)).unwrap_err().to_string();
            assert!(error.ends_with(&format!("--arch {arch}")), "{error}");
        }
    }

    #[test]
    fn a_configuration_beside_the_kernel_is_believed() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("vmlinuz-7.1");
        fs::write(&image, image_of(Arch::X86_64)).unwrap();
        let kind = Kind::small(Arch::X86_64);
        assert!(check_given(&image, true, kind).is_ok(), "nothing is known of it");
        let config = folder.path().join("config-7.1");
        let needed = NEEDED.map(|option| format!("CONFIG_{option}=y\n")).concat();
        fs::write(&config, &needed).unwrap();
        assert!(check_given(&image, false, kind).is_ok());
        let error = check_given(&image, true, kind).unwrap_err().to_string();
        assert!(error.contains("CONFIG_SCHED_CLASS_EXT"), "{error}");
        fs::write(&config, needed.replace("VIRTIO_PCI=y", "VIRTIO_PCI=m") + FULL).unwrap();
        let error = check_given(&image, true, kind).unwrap_err().to_string();
        assert!(error.contains("CONFIG_VIRTIO_PCI=y"), "{error}");
    }

    #[test]
    fn an_energy_model_takes_the_kernel_for_all_machines_with_its_driver() {
        let cache = tempfile::tempdir().unwrap();
        let kind = Kind::of(Arch::Arm64, true);
        let newest = || newest_in(cache.path(), kind).map(|kernel| kernel.name);
        for name in ["7.3.4+deb13-cloud-arm64", "7.3.4+deb13-rt-arm64", "7.3.4+deb13-arm64"] {
            keep(cache.path(), name, FULL);
        }
        assert_eq!(newest(), None);
        let image = cache.path().join("7.3.4+deb13-arm64/vmlinuz");
        fs::write(&image, image_of(Arch::Arm64)).unwrap();
        fs::write(
            image.with_file_name("config"),
            NEEDED.map(|option| format!("CONFIG_{option}=y\n")).concat() + FULL,
        )
        .unwrap();
        assert!(check_given(&image, false, kind).unwrap_err().to_string().contains(FREQUENCY_DRIVER));
        fs::write(image.with_file_name(FREQUENCY_DRIVER), "").unwrap();
        assert_eq!(newest().as_deref(), Some("7.3.4+deb13-arm64"));
        assert!(check_given(&image, false, kind).is_ok());
        // Old versions have no word between their number and the flavour.
        assert!(kind.has("6.1.0-42-arm64") && !kind.has("6.1.0-42-cloud-arm64"));
        assert!(Kind::small(Arch::Arm64).has("6.1.0-42-cloud-arm64"));
    }
}
