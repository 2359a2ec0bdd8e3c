//! Fetches a kernel with apt, with source lists, package lists and caches of its own: nothing of the host's changes.

use super::config::Config;
use super::{Kernel, by_version, is_of};
use crate::error::VmError;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Suites with kernels new enough for sched_ext.
const SUITES: [&str; 2] = ["trixie-backports", "sid"];
/// All suites: old kernels as well.
const ALL_SUITES: [&str; 5] = ["bookworm", "bookworm-backports", "trixie", "trixie-backports", "sid"];
/// The image; the configuration is in another package of the same version.
const IMAGE_PREFIX: &str = "linux-binary-";
/// Before Linux 6.19 both are in one package; after it a package of this name has neither.
const OLD_IMAGE_PREFIX: &str = "linux-image-";
const CONFIG_PREFIX: &str = "linux-base-";
/// For virtual machines: smaller, and with what they need built in.
const FLAVOUR: &str = "-cloud-amd64";
/// How many of the newest kernels are looked at for sched_ext.
const MOST_TRIED: usize = 3;
/// Debian's keys, under the names of different releases.
const KEYRINGS: [&str; 2] =
    ["/usr/share/keyrings/debian-archive-keyring.pgp", "/usr/share/keyrings/debian-archive-keyring.gpg"];

/// Puts the newest kernel with sched_ext into a directory of its version in the cache.
pub(super) fn fetch(cache: &Path) -> Result<(), VmError> {
    fs::create_dir_all(cache).map_err(VmError::system(format!("making {}", cache.display())))?;
    let apt = Apt::new(cache, &SUITES)?;
    let update = apt.run("apt-get", &["update", "-qq"])?;
    let names = apt.run("apt-cache", &["pkgnames", "linux-"])?;
    let versions = versions(&String::from_utf8_lossy(&names.stdout));
    if versions.is_empty() {
        let why = last_line(&update).unwrap_or_else(|| "its package lists name none".to_owned());
        return Err(VmError::NoKernel { why });
    }
    for version in versions.iter().take(MOST_TRIED) {
        let config = apt.extract(&format!("{CONFIG_PREFIX}{version}"))?;
        let Some(config) = found(&config, "config") else { continue };
        if !Config::read(&config).is_ok_and(|config| config.first_missing(&super::SCHED_EXT).is_none()) {
            continue;
        }
        let image = apt.extract(&format!("{IMAGE_PREFIX}{version}"))?;
        let Some(image) = found(&image, "vmlinuz") else { continue };
        return keep(cache, version, &image, Some(&config));
    }
    Err(VmError::NoKernel { why: format!("none of the newest {MOST_TRIED} has it built in") })
}

/// Puts the newest kernel of a version into the cache, with its configuration where Debian still has that.
pub(super) fn fetch_version(cache: &Path, version: &str) -> Result<Kernel, VmError> {
    let (apt, images) = all_images(cache)?;
    let none = || VmError::NoVersion { version: version.to_owned(), known: series_of(&images).join(", ") };
    let image = images.iter().find(|image| is_of(&image.version, version)).ok_or_else(none)?;
    let folder = apt.extract(&image.package)?;
    let no_image = || VmError::NoKernel { why: format!("{} has no vmlinuz", image.package) };
    let vmlinuz = found(&folder, "vmlinuz").ok_or_else(no_image)?;
    let config = match &image.config {
        Some(package) => found(&apt.extract(package)?, "config"),
        None => found(&folder, "config"),
    };
    keep(cache, &image.version, &vmlinuz, config.as_deref())?;
    Ok(Kernel { image: cache.join(&image.version).join("vmlinuz"), name: image.version.clone() })
}

/// The versions of all suites, the newest first.
pub(super) fn available(cache: &Path) -> Result<Vec<String>, VmError> {
    Ok(all_images(cache)?.1.into_iter().map(|image| image.version).collect())
}

/// A kernel's image, by its package, and the package of its configuration where that is another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Image {
    version: String,
    package: String,
    config: Option<String>,
}

fn all_images(cache: &Path) -> Result<(Apt, Vec<Image>), VmError> {
    fs::create_dir_all(cache).map_err(VmError::system(format!("making {}", cache.display())))?;
    let apt = Apt::new(cache, &ALL_SUITES)?;
    let update = apt.run("apt-get", &["update", "-qq"])?;
    let names = apt.run("apt-cache", &["pkgnames", "linux-"])?;
    let images = images(&String::from_utf8_lossy(&names.stdout));
    if images.is_empty() {
        let why = last_line(&update).unwrap_or_else(|| "its package lists name none".to_owned());
        return Err(VmError::NoKernel { why });
    }
    Ok((apt, images))
}

/// Every image that is named, the newest first.
fn images(names: &str) -> Vec<Image> {
    let configs = versions_of(names, CONFIG_PREFIX);
    let config = |version: &String| configs.contains(version).then(|| format!("{CONFIG_PREFIX}{version}"));
    let new = versions_of(names, IMAGE_PREFIX).into_iter().map(|version| Image {
        package: format!("{IMAGE_PREFIX}{version}"),
        config: config(&version),
        version,
    });
    let mut images: Vec<Image> = new.collect();
    let old = versions_of(names, OLD_IMAGE_PREFIX);
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

/// The directory appears whole or not at all.
fn keep(cache: &Path, version: &str, image: &Path, config: Option<&Path>) -> Result<(), VmError> {
    let doing = || VmError::system(format!("keeping the kernel in {}", cache.display()));
    let folder = tempfile::tempdir_in(cache).map_err(doing())?;
    fs::copy(image, folder.path().join("vmlinuz")).map_err(doing())?;
    if let Some(config) = config {
        fs::copy(config, folder.path().join("config")).map_err(doing())?;
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
fn versions(names: &str) -> Vec<String> {
    let configs = versions_of(names, CONFIG_PREFIX);
    let mut versions: Vec<String> =
        versions_of(names, IMAGE_PREFIX).into_iter().filter(|version| configs.contains(version)).collect();
    versions.sort_by(|left, right| by_version(right, left));
    versions
}

/// The versions of the packages whose names begin like that.
fn versions_of(names: &str, prefix: &str) -> Vec<String> {
    let version = |line: &str| Some(line.trim().strip_prefix(prefix)?.to_owned());
    let is_version =
        |text: &String| text.ends_with(FLAVOUR) && text.starts_with(|letter: char| letter.is_ascii_digit());
    names.lines().filter_map(version).filter(is_version).collect()
}

/// apt in a directory of its own, which goes with it.
struct Apt {
    folder: TempDir,
    options: Vec<OsString>,
}

impl Apt {
    fn new(cache: &Path, suites: &[&str]) -> Result<Self, VmError> {
        let doing = || VmError::system(format!("preparing apt's directories in {}", cache.display()));
        let folder = tempfile::tempdir_in(cache).map_err(doing())?;
        for inside in ["lists/partial", "cache/archives/partial", "empty"] {
            fs::create_dir_all(folder.path().join(inside)).map_err(doing())?;
        }
        let keyring = KEYRINGS.into_iter().find(|path| Path::new(path).is_file());
        let sources = sources(&mirror()?, keyring, suites);
        fs::write(folder.path().join("sources.list"), sources).map_err(doing())?;
        let place = |name: &str| folder.path().join(name).display().to_string();
        let options = [
            format!("Dir::Etc::sourcelist={}", place("sources.list")),
            format!("Dir::Etc::sourceparts={}", place("empty")),
            format!("Dir::Etc::preferencesparts={}", place("empty")),
            "Dir::Etc::preferences=/dev/null".to_owned(),
            format!("Dir::State::Lists={}", place("lists")),
            "Dir::State::status=/dev/null".to_owned(),
            format!("Dir::Cache={}", place("cache")),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false".to_owned(),
            // A user's cache may be closed to others, apt's own user among them.
            "APT::Sandbox::User=root".to_owned(),
        ];
        let options = options.into_iter().flat_map(|option| ["-o".into(), OsString::from(option)]).collect();
        Ok(Self { folder, options })
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<Output, VmError> {
        let mut command = Command::new(program);
        command.args(&self.options).args(arguments).current_dir(self.folder.path());
        output(&mut command, program)
    }

    /// Downloads a package and unpacks it into a directory.
    fn extract(&self, package: &str) -> Result<PathBuf, VmError> {
        let downloaded = self.run("apt-get", &["download", "-qq", package])?;
        let archive =
            fs::read_dir(self.folder.path()).into_iter().flatten().flatten().map(|entry| entry.path());
        let archive = archive.into_iter().find(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            // NAME_VERSION_ARCHITECTURE.deb
            path.extension().is_some_and(|ending| ending == "deb") && name.split('_').next() == Some(package)
        });
        let no_kernel = |why: Option<String>| VmError::NoKernel {
            why: format!("{package}: {}", why.unwrap_or_else(|| "apt gave no reason".to_owned())),
        };
        let archive = archive.ok_or_else(|| no_kernel(last_line(&downloaded)))?;
        let folder = self.folder.path().join(package);
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("-x").args([&archive, &folder]);
        let unpacked = output(&mut unpack, "dpkg-deb")?;
        if unpacked.status.success() { Ok(folder) } else { Err(no_kernel(last_line(&unpacked))) }
    }
}

fn output(command: &mut Command, program: &str) -> Result<Output, VmError> {
    let why =
        |error| format!("{program} cannot be run ({error}): only Debian's tools fetch Debian's packages");
    command.stdin(Stdio::null()).output().map_err(|error| VmError::NoKernel { why: why(error) })
}

/// The last thing a program complained about.
fn last_line(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// The mirror of Debian's main archive that this system uses.
fn mirror() -> Result<String, VmError> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]);
    let listed = output(&mut command, "apt-get")?;
    mirror_of(&String::from_utf8_lossy(&listed.stdout)).ok_or_else(|| VmError::NoKernel {
        why: "this system's apt names no mirror of Debian's archive".to_owned(),
    })
}

/// The first repository whose directory is `debian`: the name that every mirror gives it.
fn mirror_of(listed: &str) -> Option<String> {
    let mut repositories = listed.lines().map(|line| line.trim().trim_end_matches('/'));
    repositories.find(|line| line.ends_with("/debian")).map(str::to_owned)
}

fn sources(mirror: &str, keyring: Option<&str>, suites: &[&str]) -> String {
    let options = keyring.map(|path| format!("[signed-by={path}] ")).unwrap_or_default();
    suites.iter().fold(String::new(), |text, suite| text + &format!("deb {options}{mirror} {suite} main\n"))
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

    #[test]
    fn only_versions_with_image_and_configuration_count() {
        let names = "linux-binary-7.2.13+deb14-cloud-amd64\nlinux-base-7.2.13+deb14-cloud-amd64\n\
            linux-binary-7.10.4+deb13-cloud-amd64\nlinux-base-7.10.4+deb13-cloud-amd64\n\
            linux-binary-unsigned-7.11.0+deb13-cloud-amd64\nlinux-base-7.11.0+deb13-cloud-amd64\n\
            linux-binary-6.19.6+deb13-cloud-amd64\nlinux-base-cloud-amd64\nlinux-binary-cloud-amd64\n\
            linux-binary-7.12.0-amd64\nlinux-base-7.12.0-amd64\n";
        assert_eq!(versions(names), ["7.10.4+deb13-cloud-amd64", "7.2.13+deb14-cloud-amd64"]);
        assert!(versions("").is_empty());
    }

    #[test]
    fn every_version_has_its_package() {
        let names = "linux-image-6.12.107+deb13-cloud-amd64\nlinux-image-6.12.117+deb13-cloud-amd64\n\
            linux-image-6.12.117+deb13-cloud-amd64-dbg\nlinux-image-6.12.117+deb13-cloud-amd64-unsigned\n\
            linux-image-cloud-amd64\nlinux-image-7.3.4+deb13-cloud-amd64\nlinux-binary-7.3.4+deb13-cloud-amd64\n\
            linux-base-7.3.4+deb13-cloud-amd64\nlinux-binary-7.0.13+deb13-cloud-amd64\n";
        let images = images(names);
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
    fn the_mirror_is_the_hosts_own() {
        let listed =
            "http://security.example/debian-security/\nhttp://mirror.example/debian/\nhttp://x/debian\n";
        assert_eq!(mirror_of(listed).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(mirror_of("http://archive.example/ubuntu/\n"), None);
    }

    #[test]
    fn sources_are_signed_where_there_are_keys() {
        assert_eq!(
            sources("http://m/debian", Some("/keys"), &SUITES),
            "deb [signed-by=/keys] http://m/debian trixie-backports main\ndeb [signed-by=/keys] http://m/debian sid main\n"
        );
        assert!(sources("http://m/debian", None, &SUITES).starts_with("deb http://m/debian "));
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
