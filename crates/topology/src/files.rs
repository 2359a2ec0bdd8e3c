//! Reads the small files of sysfs and procfs under a root. A file that is missing, unreadable or malformed reads as nothing,
//! because that is how a kernel without the feature looks.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use swtch_units::CpuList;

/// A tree of machine files: `/` for the live machine, a directory of fixtures in tests.
pub(crate) struct Files {
    root: PathBuf,
}

impl Files {
    pub(crate) fn under(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Whether these are the files of the machine that the program runs on.
    pub(crate) fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where `path` really is. A leading slash is dropped, since joining an absolute path would leave the root.
    pub(crate) fn locate(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a file without white space at its ends. Bytes that are not UTF-8 are replaced: environments and device
    /// trees may hold anything, and one odd byte must not hide the rest.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.locate(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// As [`Files::text`], with an empty file as nothing.
    pub(crate) fn word(&self, path: &str) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    pub(crate) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The CPUs of a list such as `0-3,8`.
    pub(crate) fn cpu_list(&self, path: &str) -> Option<Vec<u32>> {
        self.text(path)?.parse::<CpuList>().ok().map(|list| list.numbers())
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.locate(path).exists()
    }

    /// The names in a directory, sorted, because the order in which the kernel lists them means nothing.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.locate(folder)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The numbers N of the entries `prefixN` in a directory, ascending; `cpu0` yes, `cpufreq` no.
    pub(crate) fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.names(folder).iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}
