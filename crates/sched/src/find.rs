//! Which schedulers there are: programs `scx_NAME` next to this one, on PATH, and `scx_NAME@VERSION` in the cache.

use crate::error::SchedError;
use crate::registry::about_in_registry;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// One of swtch's own schedulers, `schedulers/NAME`.
#[derive(Clone, Copy, Debug)]
pub struct OwnScheduler {
    /// Without `scx_`.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Whether `swtch sched compare` runs it by default.
    pub compared: bool,
}

/// Swtch's own schedulers. Help, lists and defaults come from this table; a new scheduler is a crate in `schedulers/` and a row here.
pub static SCHEDULERS: [OwnScheduler; 3] = [
    OwnScheduler {
        name: "flsched",
        about: "few switches for tasks that pass messages or wait for each other; bad for latency",
        compared: true,
    },
    OwnScheduler {
        name: "fair",
        about: "shares of fast and slow cores, by the published fair policies",
        compared: false,
    },
    OwnScheduler {
        name: "global_fifo",
        about: "one queue for all CPUs, to compare others with",
        compared: true,
    },
];
/// Begins the names of schedulers' programs.
pub(crate) const PREFIX: &str = "scx_";
/// Between a name and its version.
const VERSION_MARK: char = '@';
/// The program that runs a scheduler from its file. By itself it is none.
const LOADER: &str = "file";
/// What the names of such files end in.
const FILE_ENDS: [&str; 3] = [".bpf.c", ".bpf.o", ".o"];

/// A scheduler that is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Without `scx_`.
    pub name: String,
    /// Its program.
    pub path: PathBuf,
    /// The file that the program is to run, of a scheduler that is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Whether it is one of swtch's, and understands its options.
    pub own: bool,
    /// What it is for, of swtch's own and of those that `swtch sched get` knows.
    pub about: Option<&'static str>,
    /// Its version, of one that `swtch sched get` installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Where schedulers are looked for.
#[derive(Clone, Debug)]
pub struct SearchPath(Vec<PathBuf>);

impl SearchPath {
    /// The directory of this program, then those of PATH.
    pub fn new(program: &Path, path: &OsStr) -> Self {
        let beside = program.parent().map(Path::to_owned);
        Self(beside.into_iter().chain(std::env::split_paths(path)).collect())
    }

    /// The directory of this program alone: those of PATH have programs of this machine's kind.
    pub fn beside(program: &Path) -> Self {
        Self(program.parent().map(Path::to_owned).into_iter().collect())
    }

    /// The same, after a directory.
    #[must_use]
    pub(crate) fn after(mut self, folder: PathBuf) -> Self {
        self.0.insert(0, folder);
        self
    }

    /// The same, and then a directory.
    #[must_use]
    pub fn and(mut self, folder: Option<PathBuf>) -> Self {
        self.0.extend(folder);
        self
    }

    /// `scx_NAME`, or else the newest `scx_NAME@VERSION`; the name may be given with `scx_` or its version too. A file, `NAME.bpf.c` or `NAME.o`, is a scheduler as well.
    ///
    /// # Errors
    /// [`SchedError::NotFound`], which lists those that are here; [`SchedError::NoFile`] and [`SchedError::NoLoader`] for a file.
    pub fn find(&self, name: &str) -> Result<Found, SchedError> {
        if let Some(stem) = name_of_file(name) {
            return self.of_file(stem, Path::new(name));
        }
        self.program(name)
    }

    /// A scheduler's file, and the program that runs it.
    fn of_file(&self, name: &str, file: &Path) -> Result<Found, SchedError> {
        if !file.is_file() {
            return Err(SchedError::NoFile { path: file.to_owned() });
        }
        let loader = self.program(LOADER).map_err(|_| SchedError::NoLoader)?;
        Ok(Found {
            name: name.to_owned(),
            path: loader.path,
            file: Some(file.to_owned()),
            own: true,
            about: None,
            version: None,
        })
    }

    fn program(&self, name: &str) -> Result<Found, SchedError> {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        self.named(name).ok_or_else(|| SchedError::NotFound {
            name: name.to_owned(),
            found: self.list().into_iter().map(|found| found.name).collect(),
        })
    }

    /// The program of a name without `scx_`.
    fn named(&self, name: &str) -> Option<Found> {
        let program = OsString::from(format!("{PREFIX}{name}"));
        // A name with a slash would lead out of these directories.
        let is_name = !name.is_empty() && !name.contains('/');
        let found =
            self.0.iter().map(|folder| folder.join(&program)).find(|path| is_name && is_executable(path));
        let found = found.or_else(|| {
            let newest = self.versions(name).pop()?;
            Some(newest).filter(|_| is_name)
        });
        found.map(|path| describe(name, path))
    }

    /// The programs `scx_NAME@VERSION`, the newest last.
    fn versions(&self, name: &str) -> Vec<PathBuf> {
        let begin = format!("{PREFIX}{name}{VERSION_MARK}");
        let entries =
            self.0.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
        let is_one = |path: &PathBuf| file_name(path).starts_with(&begin) && is_executable(path);
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
        found.sort_by(|one, other| by_version(file_name(one), file_name(other)));
        found
    }

    /// All that are here, swtch's own first, then by name.
    pub fn list(&self) -> Vec<Found> {
        let mut names = BTreeSet::new();
        for folder in &self.0 {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let Some(name) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
                // Build trees have files like scx_flsched.d next to the programs.
                let bare = name.split(VERSION_MARK).next().unwrap_or_default();
                let is_one = !bare.is_empty() && !bare.contains('.') && name != LOADER;
                if is_one && is_executable(&entry.path()) {
                    names.insert(name.to_owned());
                }
            }
        }
        let mut found: Vec<Found> = names.iter().filter_map(|name| self.named(name)).collect();
        let rank = |found: &Found| {
            SCHEDULERS.iter().position(|own| own.name == found.name).unwrap_or(SCHEDULERS.len())
        };
        found.sort_by_key(rank);
        found
    }
}

fn describe(name: &str, path: PathBuf) -> Found {
    let own = SCHEDULERS.iter().find(|own| own.name == name);
    let bare = name.split(VERSION_MARK).next().unwrap_or_default();
    let about = own.map(|own| own.about).or_else(|| about_in_registry(bare));
    let version = file_name(&path).split_once(VERSION_MARK).map(|(_, version)| version.to_owned());
    Found { name: name.to_owned(), path, file: None, own: own.is_some(), about, version }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// The file of a program of this version.
pub(crate) fn versioned(name: &str, version: &str) -> String {
    format!("{PREFIX}{name}{VERSION_MARK}{version}")
}

/// By the numbers in them: 1.0.20 is newer than 1.0.9.
pub(crate) fn by_version(one: &str, other: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    numbers(one).cmp(&numbers(other)).then_with(|| one.cmp(other))
}

/// The scheduler's name where a word names its file: the file's, without its end, and without `scx_` as that of a program.
pub(crate) fn name_of_file(word: &str) -> Option<&str> {
    let name = word.rsplit('/').next()?;
    let stem = FILE_ENDS.iter().find_map(|end| name.strip_suffix(end))?;
    Some(stem.strip_prefix(PREFIX).unwrap_or(stem)).filter(|name| !name.is_empty())
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(programs: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for program in programs {
            let path = folder.path().join(program);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    #[test]
    fn own_ones_come_first_and_those_beside_before_those_on_path() {
        let beside = folder(&["scx_global_fifo", "scx_flsched", "scx_flsched.d", "swtch"]);
        let other = folder(&["scx_flsched", "scx_bpfland", "ls"]);
        std::fs::write(other.path().join("scx_notes"), "no program").unwrap();
        let search_path = SearchPath::new(&beside.path().join("swtch"), other.path().as_os_str());
        let list = search_path.list();
        let names: Vec<(&str, bool)> = list.iter().map(|found| (found.name.as_str(), found.own)).collect();
        assert_eq!(names, [("flsched", true), ("global_fifo", true), ("bpfland", false)]);
        assert_eq!(list[0].path, beside.path().join("scx_flsched"));
        assert_eq!(search_path.find("scx_bpfland").unwrap().path, other.path().join("scx_bpfland"));
    }

    #[test]
    fn a_file_is_a_scheduler_and_its_loader_is_not() {
        let beside = folder(&["scx_file", "scx_flsched", "mine.bpf.c"]);
        let search_path = SearchPath::new(&beside.path().join("swtch"), OsStr::new(""));
        let names: Vec<String> = search_path.list().into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["flsched"]);
        let file = beside.path().join("mine.bpf.c");
        let found = search_path.find(file.to_str().unwrap()).unwrap();
        assert_eq!((found.name.as_str(), found.own), ("mine", true));
        assert_eq!((found.path, found.file), (beside.path().join("scx_file"), Some(file)));
        let error = search_path.find("nowhere/mine.o").unwrap_err().to_string();
        assert!(error.starts_with("nowhere/mine.o: there is no such file"), "{error}");
        assert!([".o", "x.c", "flsched", "a.o/b", "scx_.o"].iter().all(|word| name_of_file(word).is_none()));
        assert_eq!(name_of_file("a/scx_simple.bpf.c"), Some("simple"));
    }

    #[test]
    fn a_program_whose_name_says_twice_what_it_is_is_found_or_not() {
        let beside = folder(&["scx_scx_simple"]);
        let search_path = SearchPath::new(&beside.path().join("swtch"), OsStr::new(""));
        assert_eq!(search_path.list()[0].name, "scx_simple");
        let error = search_path.find("scx_simple").unwrap_err().to_string();
        assert!(error.contains("simple"), "{error}");
    }

    #[test]
    fn the_newest_version_of_the_cache_is_the_one_without_a_version() {
        let beside = folder(&["swtch", "scx_flsched"]);
        let cache = folder(&["scx_lavd@1.0.9", "scx_lavd@1.0.20", "scx_lavdish@9.9.9", "scx_flsched@9.9.9"]);
        let search_path =
            SearchPath::new(&beside.path().join("swtch"), OsStr::new("")).and(Some(cache.path().to_owned()));
        let found = |name: &str| search_path.find(name).unwrap();
        assert_eq!((found("lavd").name.as_str(), found("lavd").version.as_deref()), ("lavd", Some("1.0.20")));
        assert_eq!(found("scx_lavd@1.0.9").path, cache.path().join("scx_lavd@1.0.9"));
        assert!(found("lavd").about.is_some_and(|about| !about.is_empty()) && !found("lavd").own);
        assert_eq!(found("flsched").path, beside.path().join("scx_flsched"));
        let names: Vec<String> = search_path.list().into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["flsched", "flsched@9.9.9", "lavd@1.0.20", "lavd@1.0.9", "lavdish@9.9.9"]);
        assert!(search_path.find("lav").is_err() && search_path.find("lavd@2").is_err());
    }

    #[test]
    fn what_is_not_here_is_answered_with_what_is() {
        let beside = folder(&["scx_flsched"]);
        let search_path = SearchPath::new(&beside.path().join("swtch"), OsStr::new(""));
        let error = search_path.find("dusty").unwrap_err().to_string();
        assert!(error.contains("scx_dusty") && error.ends_with("there are: flsched"), "{error}");
        let known = search_path.find("rusty").unwrap_err().to_string();
        assert!(known.ends_with("swtch sched get rusty installs it"), "{known}");
        assert!(search_path.find("../scx_flsched").is_err() && search_path.find("").is_err());
        let none = SearchPath::new(Path::new("/nowhere/swtch"), OsStr::new("")).find("x").unwrap_err();
        // A user who installed a wheel has no source tree to build in, so the message names PATH first.
        let text = none.to_string();
        assert!(text.contains("schedulers are separate programs"), "{text}");
        assert!(text.contains("to PATH (make build in swtch's source tree"), "{text}");
    }
}
