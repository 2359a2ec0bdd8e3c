//! Programs for guests of another architecture: Debian's packages, unpacked into a directory of the cache.

use crate::arch::Arch;
use crate::debian::{Apt, unpack};
use crate::error::VmError;
use crate::kernel::cache_folder;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static FETCHING: Mutex<()> = Mutex::new(());
/// All its packages have their files below `/usr`.
const SUITE: &str = "trixie";
/// A shell, what scripts use, and hackbench.
const USUAL: [&str; 10] =
    ["bash", "coreutils", "dash", "findutils", "grep", "mawk", "procps", "rt-tests", "sed", "util-linux"];
/// In the directory: the packages that were asked for, one a line.
const LIST: &str = ".packages";
/// Links of a system whose programs are all below `/usr`; one of Debian's packages has them, which nothing here depends on.
const LINKS: [&str; 3] = ["bin", "sbin", "lib"];

/// The packages that a guest has: the usual ones and these.
pub(crate) fn named(more: &[String]) -> BTreeSet<String> {
    USUAL.iter().map(|name| (*name).to_owned()).chain(more.iter().cloned()).collect()
}

/// Whether Debian's packages may have such a name (Debian policy, 5.6.1).
pub(crate) fn is_name(name: &str) -> bool {
    let may_be = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() >= 2
        && may_be(name.as_bytes()[0])
        && name.bytes().all(|byte| may_be(byte) || b"+-.".contains(&byte))
}

/// The directory with the usual packages and these, and all that they depend on. `tell` hears of a download.
pub(crate) fn root(arch: Arch, more: &[String], mut tell: impl FnMut(&str)) -> Result<PathBuf, VmError> {
    let no_packages = |why: String| VmError::NoPackages { arch, why };
    let why = || "neither XDG_CACHE_HOME nor HOME says where to keep them".to_owned();
    let cache = cache_folder().ok_or_else(|| no_packages(why()))?.join("packages");
    let place = cache.join(arch.name());
    // Guests of several threads wait for one download.
    let _fetching = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut wanted = named(more);
    let kept = kept(&place);
    if wanted.is_subset(&kept) {
        return Ok(place);
    }
    wanted.extend(kept);
    tell(&format!("fetching programs for {arch} from Debian's packages (once, some 30 MB)"));
    fetch(arch, &cache, &place, &wanted).map_err(no_packages)?;
    Ok(place)
}

/// What is here already.
fn kept(place: &Path) -> BTreeSet<String> {
    let list = fs::read_to_string(place.join(LIST)).unwrap_or_default();
    list.lines().map(str::to_owned).collect()
}

/// The directory appears whole or not at all.
fn fetch(arch: Arch, cache: &Path, place: &Path, wanted: &BTreeSet<String>) -> Result<(), String> {
    let apt = Apt::new(cache, &[SUITE], arch)?;
    let all = apt.with_dependencies(&wanted.iter().cloned().collect::<Vec<_>>())?;
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    let archives = apt.download(&names)?;
    let unpacked = apt.folder().join("unpacked");
    for archive in archives {
        unpack(&archive, &unpacked)?;
    }
    let list = wanted.iter().fold(String::new(), |text, name| text + name + "\n");
    let finish = || -> io::Result<()> {
        for link in LINKS.map(|name| unpacked.join(name)) {
            if let (false, Some(name)) = (link.exists(), link.file_name()) {
                symlink(Path::new("usr").join(name), &link)?;
            }
        }
        fs::write(unpacked.join(LIST), &list)?;
        if place.exists() {
            // It goes with apt's directory.
            fs::rename(place, apt.folder().join("replaced"))?;
        }
        fs::rename(&unpacked, place)
    };
    finish().map_err(|error| format!("cannot keep them in {}: {error}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packages_are_told_from_options() {
        for name in ["stress-ng", "g++", "libc6", "0ad"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "x", "-y", "--force-yes", "Stress", "a b", "a/b", "libc6:arm64"] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn what_was_asked_for_before_stays() {
        let folder = tempfile::tempdir().unwrap();
        assert!(kept(folder.path()).is_empty());
        fs::write(folder.path().join(LIST), "dash\nstress-ng\n").unwrap();
        assert!(kept(folder.path()).contains("stress-ng"));
        assert!(named(&[]).is_subset(&named(&["stress-ng".to_owned()])));
    }
}
