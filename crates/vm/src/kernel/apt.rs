//! Fetches a kernel from Debian's packages.

use super::config::Config;
use super::{FREQUENCY_DRIVER, Kernel, Kind, by_version, is_of};
use crate::debian::{Apt, unpack};
use crate::error::VmError;
use std::fs;
use std::path::{Path, PathBuf};

/// Suites with kernels new enough for sched_ext.
const SUITES: [&str; 2] = ["trixie-backports", "sid"];
/// All suites: old kernels as well.
const ALL_SUITES: [&str; 5] = ["bookworm", "bookworm-backports", "trixie", "trixie-backports", "sid"];
/// The image; the configuration is in another package of the same version.
const IMAGE_PREFIX: &str = "linux-binary-";
/// Before Linux 6.19 both are in one package; after it a package of this name has neither.
const OLD_IMAGE_PREFIX: &str = "linux-image-";
const CONFIG_PREFIX: &str = "linux-base-";
const MODULES_PREFIX: &str = "linux-modules-";
/// How many of the newest kernels are looked at for sched_ext.
const MOST_TRIED: usize = 3;

/// Puts the newest kernel with sched_ext into a directory of its version in the cache.
pub(super) fn fetch(cache: &Path, kind: Kind) -> Result<(), VmError> {
    let apt = Apt::new(cache, &SUITES, kind.arch).map_err(no_kernel)?;
    let versions = versions(&names(&apt)?, kind);
    if versions.is_empty() {
        return Err(no_kernel(apt.why_nothing_is_listed()));
    }
    for version in versions.iter().take(MOST_TRIED) {
        let config = extract(&apt, &format!("{CONFIG_PREFIX}{version}"))?;
        let Some(config) = found(&config, "config") else { continue };
        if !Config::read(&config).is_ok_and(|config| config.first_missing(&super::SCHED_EXT).is_none()) {
            continue;
        }
        let folder = extract(&apt, &format!("{IMAGE_PREFIX}{version}"))?;
        let Some(image) = found_image(&folder) else { continue };
        let driver = driver(&apt, kind, version, &folder)?;
        return keep(
            cache,
            version,
            &[("vmlinuz", Some(image)), ("config", Some(config)), (FREQUENCY_DRIVER, driver)],
        );
    }
    Err(no_kernel(format!("none of the newest {MOST_TRIED} has it built in")))
}

fn no_kernel(why: String) -> VmError {
    VmError::NoKernel { why }
}

/// The names of packages that may be kernels, one a line.
fn names(apt: &Apt) -> Result<String, VmError> {
    let names = apt.run("apt-cache", &["pkgnames", "linux-"]).map_err(no_kernel)?;
    Ok(String::from_utf8_lossy(&names.stdout).into_owned())
}

/// Downloads a package and unpacks it into a directory.
fn extract(apt: &Apt, package: &str) -> Result<PathBuf, VmError> {
    let folder = apt.folder().join(package);
    let archives = apt.download(&[package]).map_err(no_kernel)?;
    archives.iter().try_for_each(|archive| unpack(archive, &folder)).map_err(no_kernel)?;
    Ok(folder)
}

/// Puts the newest kernel of a version into the cache, with its configuration where Debian still has that.
pub(super) fn fetch_version(cache: &Path, version: &str, kind: Kind) -> Result<Kernel, VmError> {
    let (apt, images) = all_images(cache, kind)?;
    let none = || VmError::NoVersion { version: version.to_owned(), known: series_of(&images).join(", ") };
    let image = images.iter().find(|image| is_of(&image.version, version)).ok_or_else(none)?;
    let folder = extract(&apt, &image.package)?;
    let no_image = || VmError::NoKernel { why: format!("{} has no vmlinuz", image.package) };
    let vmlinuz = found_image(&folder).ok_or_else(no_image)?;
    let config = match &image.config {
        Some(package) => found(&extract(&apt, package)?, "config"),
        None => found(&folder, "config"),
    };
    let driver = driver(&apt, kind, &image.version, &folder)?;
    keep(
        cache,
        &image.version,
        &[("vmlinuz", Some(vmlinuz)), ("config", config), (FREQUENCY_DRIVER, driver)],
    )?;
    Ok(Kernel { image: cache.join(&image.version).join("vmlinuz"), name: image.version.clone() })
}

/// The driver of CPUs' frequencies, where it is needed: in the package of modules, or in the image's of older kernels.
fn driver(apt: &Apt, kind: Kind, version: &str, image: &Path) -> Result<Option<PathBuf>, VmError> {
    if !kind.frequencies {
        return Ok(None);
    }
    if let Some(driver) = found(image, FREQUENCY_DRIVER) {
        return Ok(Some(driver));
    }
    let package = format!("{MODULES_PREFIX}{version}");
    let driver = found(&extract(apt, &package)?, FREQUENCY_DRIVER);
    driver.map(Some).ok_or_else(|| no_kernel(format!("{package} has no {FREQUENCY_DRIVER}")))
}

/// The versions of all suites, the newest first.
pub(super) fn available(cache: &Path, kind: Kind) -> Result<Vec<String>, VmError> {
    Ok(all_images(cache, kind)?.1.into_iter().map(|image| image.version).collect())
}

/// A kernel's image, by its package, and the package of its configuration where that is another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Image {
    version: String,
    package: String,
    config: Option<String>,
}

fn all_images(cache: &Path, kind: Kind) -> Result<(Apt, Vec<Image>), VmError> {
    let apt = Apt::new(cache, &ALL_SUITES, kind.arch).map_err(no_kernel)?;
    let images = images(&names(&apt)?, kind);
    if images.is_empty() {
        return Err(no_kernel(apt.why_nothing_is_listed()));
    }
    Ok((apt, images))
}

/// Every image that is named, the newest first.
fn images(names: &str, kind: Kind) -> Vec<Image> {
    let configs = versions_of(names, CONFIG_PREFIX, kind);
    let config = |version: &String| configs.contains(version).then(|| format!("{CONFIG_PREFIX}{version}"));
    let new = versions_of(names, IMAGE_PREFIX, kind).into_iter().map(|version| Image {
        package: format!("{IMAGE_PREFIX}{version}"),
        config: config(&version),
        version,
    });
    let mut images: Vec<Image> = new.collect();
    let old = versions_of(names, OLD_IMAGE_PREFIX, kind);
    for version in old
        .into_iter()
        .filter(|version| images.iter().all(|image| image.version != *version))
        .collect::<Vec<_>>()
    {
        images.push(Image { package: format!("{OLD_IMAGE_PREFIX}{version}"), config: None, version });
    }
    images.sort_by(|left, right| by_version(&right.version, &left.version));
    images
}

/// `7.3, 7.2, 6.12` of the versions, each once.
fn series_of(images: &[Image]) -> Vec<String> {
    let mut series: Vec<String> = images
        .iter()
        .map(|image| image.version.splitn(3, '.').take(2).collect::<Vec<_>>().join("."))
        .collect();
    series.dedup();
    series
}

/// Copies an image and what belongs to it, under these names. The directory appears whole or not at all.
fn keep(cache: &Path, version: &str, files: &[(&str, Option<PathBuf>)]) -> Result<(), VmError> {
    let doing = || VmError::system(format!("keeping the kernel in {}", cache.display()));
    let folder = tempfile::tempdir_in(cache).map_err(doing())?;
    for (name, from) in files {
        if let Some(from) = from {
            fs::copy(from, folder.path().join(name)).map_err(doing())?;
        }
    }
    let place = cache.join(version);
    if place.exists() {
        fs::remove_dir_all(&place).map_err(doing())?;
    }
    match fs::rename(folder.path(), &place) {
        // Another process fetched it meanwhile.
        Err(_) if place.join("vmlinuz").is_file() => Ok(()),
        other => other.map_err(doing()),
    }
}

/// Versions of which there is both an image and a configuration, the newest first.
fn versions(names: &str, kind: Kind) -> Vec<String> {
    let configs = versions_of(names, CONFIG_PREFIX, kind);
    let mut versions: Vec<String> = versions_of(names, IMAGE_PREFIX, kind)
        .into_iter()
        .filter(|version| configs.contains(version))
        .collect();
    versions.sort_by(|left, right| by_version(right, left));
    versions
}

/// The versions of the packages whose names begin like that.
fn versions_of(names: &str, prefix: &str, kind: Kind) -> Vec<String> {
    let version = |line: &str| Some(line.trim().strip_prefix(prefix)?.to_owned());
    let is_version =
        |text: &String| kind.has(text) && text.starts_with(|letter: char| letter.is_ascii_digit());
    names.lines().filter_map(version).filter(is_version).collect()
}

/// A kernel's image. That of riscv64 is called vmlinux in older packages, and is none of the ELF files with that name.
fn found_image(folder: &Path) -> Option<PathBuf> {
    found(folder, "vmlinuz").or_else(|| found(folder, "vmlinux"))
}

/// The file of this name, however deep, the first in the order of names.
fn found(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut inside: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    let is_it = |path: &&PathBuf| {
        let file = path.file_name().and_then(|found| found.to_str()).unwrap_or_default();
        path.is_file() && (file == name || file.starts_with(&format!("{name}-")))
    };
    inside.iter().find(is_it).cloned().or_else(|| {
        inside
            .iter()
            .filter(|path| path.is_dir() && !path.is_symlink())
            .find_map(|path| self::found(path, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;

    fn of(arch: Arch) -> Kind {
        Kind::small(arch)
    }

    #[test]
    fn only_versions_with_image_and_configuration_count() {
        let names = "linux-binary-7.2.13+deb14-cloud-amd64\nlinux-base-7.2.13+deb14-cloud-amd64\n\
            linux-binary-7.10.4+deb13-cloud-amd64\nlinux-base-7.10.4+deb13-cloud-amd64\n\
            linux-binary-unsigned-7.11.0+deb13-cloud-amd64\nlinux-base-7.11.0+deb13-cloud-amd64\n\
            linux-binary-6.19.6+deb13-cloud-amd64\nlinux-base-cloud-amd64\nlinux-binary-cloud-amd64\n\
            linux-binary-7.12.0-amd64\nlinux-base-7.12.0-amd64\n";
        assert_eq!(
            versions(names, of(Arch::X86_64)),
            ["7.10.4+deb13-cloud-amd64", "7.2.13+deb14-cloud-amd64"]
        );
        assert!(versions("", of(Arch::X86_64)).is_empty() && versions(names, of(Arch::Arm64)).is_empty());
        let names = names.replace("amd64", "arm64");
        assert_eq!(versions(&names, of(Arch::Arm64))[0], "7.10.4+deb13-cloud-arm64");
    }

    #[test]
    fn every_version_has_its_package() {
        let names = "linux-image-6.12.107+deb13-cloud-amd64\nlinux-image-6.12.117+deb13-cloud-amd64\n\
            linux-image-6.12.117+deb13-cloud-amd64-dbg\nlinux-image-6.12.117+deb13-cloud-amd64-unsigned\n\
            linux-image-cloud-amd64\nlinux-image-7.3.4+deb13-cloud-amd64\nlinux-binary-7.3.4+deb13-cloud-amd64\n\
            linux-base-7.3.4+deb13-cloud-amd64\nlinux-binary-7.0.13+deb13-cloud-amd64\n";
        let images = images(names, of(Arch::X86_64));
        let found: Vec<(&str, bool)> =
            images.iter().map(|image| (image.package.as_str(), image.config.is_some())).collect();
        assert_eq!(
            found,
            [
                ("linux-binary-7.3.4+deb13-cloud-amd64", true),
                ("linux-binary-7.0.13+deb13-cloud-amd64", false),
                ("linux-image-6.12.117+deb13-cloud-amd64", false),
                ("linux-image-6.12.107+deb13-cloud-amd64", false),
            ]
        );
        assert_eq!(series_of(&images), ["7.3", "7.0", "6.12"]);
    }

    #[test]
    fn a_file_is_found_however_deep() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("usr/lib/modules/7.3");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("config"), "").unwrap();
        fs::create_dir_all(folder.path().join("boot")).unwrap();
        fs::write(folder.path().join("boot/vmlinuz-7.3"), "").unwrap();
        assert_eq!(found(folder.path(), "config"), Some(deep.join("config")));
        assert_eq!(found(folder.path(), "vmlinuz"), Some(folder.path().join("boot/vmlinuz-7.3")));
        assert_eq!(found(folder.path(), "initrd"), None);
    }
}
