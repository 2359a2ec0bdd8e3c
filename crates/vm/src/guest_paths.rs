//! Paths in a guest whose figures must not depend on the names of the host's directories.
//!
//! The current directory is always `/here` there, swtch and its schedulers are in a directory of their own, and PATH is the usual one. What else
//! travels keeps its place: programs find their libraries and files by it.

use crate::file_closure::{GuestEntry, GuestFiles};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// The current directory.
const HERE: &str = "/here";
/// Swtch and the schedulers next to it.
const OWN: &str = "/.swtch/bin";
/// How schedulers' programs are called.
const SCHEDULER_PREFIX: &str = "scx_";
/// The default PATH of root.
pub(crate) const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Directories that programs and libraries expect under their names.
const SYSTEM_FOLDERS: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/var"];

/// Paths of the host, and what they are in the guest. By default all are the same.
#[derive(Debug, Default)]
pub(crate) struct GuestPaths {
    /// The current directory, where it is moved.
    here: Option<PathBuf>,
    /// This program, where it is moved.
    own: Option<PathBuf>,
    /// What an argument names is where that says, too.
    named: BTreeSet<PathBuf>,
    /// Programs that are next to swtch, and their directory.
    beside: BTreeSet<PathBuf>,
    beside_folder: PathBuf,
}

impl GuestPaths {
    /// The same on every host, as far as the command permits.
    pub(crate) fn fixed(files: &GuestFiles, here: &Path, own: &Path, words: &[OsString]) -> Self {
        let keeps_its_name = leads_out(words)
            || (is_of_the_system(here) && words.iter().any(|word| names_a_file_in(here, word)));
        Self {
            here: (!keeps_its_name).then(|| here.to_owned()),
            own: Some(files.absolute(own)),
            named: files.named.clone(),
            ..Self::default()
        }
    }

    /// Puts these programs next to swtch, which is `own` here.
    pub(crate) fn put_beside(&mut self, programs: BTreeSet<PathBuf>, own: &Path) {
        self.of(own).parent().unwrap_or(Path::new("/")).clone_into(&mut self.beside_folder);
        self.beside = programs;
    }

    /// Where this file or directory is in the guest.
    pub(crate) fn of(&self, path: &Path) -> PathBuf {
        if self.beside.contains(path)
            && let Some(name) = path.file_name()
        {
            return self.beside_folder.join(name);
        }
        if self.is_own(path)
            && let Some(name) = path.file_name()
        {
            return Path::new(OWN).join(name);
        }
        self.of_anything(path)
    }

    fn of_anything(&self, path: &Path) -> PathBuf {
        let below = self.here.as_ref().filter(|here| moves_what_is_below(here));
        match below.and_then(|here| path.strip_prefix(here).ok()) {
            Some(below) if below.as_os_str().is_empty() => PathBuf::from(HERE),
            Some(below) => Path::new(HERE).join(below),
            None => path.to_owned(),
        }
    }

    /// The directory that the command runs in.
    pub(crate) fn working_folder(&self, here: &Path) -> PathBuf {
        if self.here.is_some() { PathBuf::from(HERE) } else { here.to_owned() }
    }

    fn is_own(&self, path: &Path) -> bool {
        self.own.as_ref().is_some_and(|own| {
            let is_scheduler =
                path.file_name().is_some_and(|name| name.as_bytes().starts_with(SCHEDULER_PREFIX.as_bytes()));
            path == own || (is_scheduler && path.parent() == own.parent())
        })
    }

    /// Everything that travels, where it is in the guest.
    pub(crate) fn items(&self, items: &BTreeMap<PathBuf, GuestEntry>) -> BTreeMap<PathBuf, GuestEntry> {
        let mut moved = BTreeMap::new();
        for (path, item) in items {
            moved.insert(self.of(path), item.clone());
            if self.named.contains(path) {
                moved.insert(self.of_anything(path), item.clone());
            }
        }
        moved
    }

    /// A word of the command with the current directory's name in the guest, wherever it is named from the root on.
    pub(crate) fn word(&self, word: &OsStr) -> OsString {
        let Some(here) = self.here.as_ref().filter(|here| moves_what_is_below(here)) else {
            return word.to_owned();
        };
        let (name, bytes) = (here.as_os_str().as_bytes(), word.as_bytes());
        let mut rest = 0;
        let mut written = Vec::with_capacity(bytes.len());
        while rest < bytes.len() {
            let begins = rest == 0 || !continues_a_path(bytes[rest - 1]);
            let ends =
                |after: usize| bytes.get(after).is_none_or(|byte| *byte == b'/' || !continues_a_path(*byte));
            if begins && bytes[rest..].starts_with(name) && ends(rest + name.len()) {
                written.extend_from_slice(HERE.as_bytes());
                rest += name.len();
            } else {
                written.push(bytes[rest]);
                rest += 1;
            }
        }
        OsString::from_vec(written)
    }

    /// PATH in the guest. `searched` is the host's: of it, those unusual directories stay that programs were taken from.
    pub(crate) fn path(&self, searched: &OsStr, items: &BTreeMap<PathBuf, GuestEntry>) -> OsString {
        if self.own.is_none() {
            return searched.to_owned();
        }
        let usual: Vec<PathBuf> = env::split_paths(USUAL_PATH).collect();
        let is_used = |folder: &PathBuf| {
            !usual.contains(folder)
                && items.keys().any(|path| path.parent() == Some(folder) && !self.is_own(path))
        };
        let mut folders: Vec<PathBuf> =
            env::split_paths(searched).filter(is_used).map(|folder| self.of_anything(&folder)).collect();
        folders.push(OWN.into());
        folders.extend(usual);
        // A directory with a colon came from no PATH.
        env::join_paths(folders).unwrap_or_else(|_| USUAL_PATH.into())
    }
}

fn is_of_the_system(here: &Path) -> bool {
    here == Path::new("/") || SYSTEM_FOLDERS.iter().any(|folder| here.starts_with(folder))
}

/// A system's directories stay where they are, though the command may run elsewhere.
fn moves_what_is_below(here: &Path) -> bool {
    !is_of_the_system(here)
}

/// Words of a shell's script are looked at one by one.
fn parts(word: &OsStr) -> impl Iterator<Item = &[u8]> {
    word.as_bytes().split(|byte| !continues_a_path(*byte)).filter(|part| !part.is_empty())
}

/// Whether a word goes up from the current directory: what is above has no fixed name.
fn leads_out(words: &[OsString]) -> bool {
    let goes_up = |part: &[u8]| {
        let path = Path::new(OsStr::from_bytes(part));
        path.is_relative() && path.components().any(|component| component == Component::ParentDir)
    };
    words.iter().any(|word| parts(word).any(goes_up))
}

fn names_a_file_in(here: &Path, word: &OsStr) -> bool {
    parts(word).any(|part| {
        let path = Path::new(OsStr::from_bytes(part));
        path.is_relative() && here.join(path).exists()
    })
}

fn continues_a_path(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b";|&()<>`$'\"{}=:,".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(here: &str, words: &[&str]) -> GuestPaths {
        let files = GuestFiles::new(Vec::new(), here.into());
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        GuestPaths::fixed(&files, Path::new(here), Path::new("/opt/s/swtch"), &words)
    }

    fn file(from: &str) -> GuestEntry {
        GuestEntry::File { from: from.into(), mode: 0o755 }
    }

    #[test]
    fn folders_of_any_name_are_one() {
        for here in ["/home/me", "/tmp/x-8d3", "/"] {
            let places = places(here, &["hackbench", "-p"]);
            assert_eq!(places.working_folder(Path::new(here)), Path::new(HERE), "{here}");
            assert_eq!(places.of(Path::new("/usr/bin/hackbench")), Path::new("/usr/bin/hackbench"));
            assert_eq!(places.of(Path::new("/opt/s/swtch")), Path::new("/.swtch/bin/swtch"));
            assert_eq!(places.of(Path::new("/opt/s/scx_flsched")), Path::new("/.swtch/bin/scx_flsched"));
            assert_eq!(places.of(Path::new("/opt/other/scx_flsched")), Path::new("/opt/other/scx_flsched"));
        }
        let places = places("/home/me", &[]);
        assert_eq!(places.of(Path::new("/home/me/data/x")), Path::new("/here/data/x"));
        assert_eq!(places.of(Path::new("/home/me2/x")), Path::new("/home/me2/x"));
    }

    #[test]
    fn words_name_the_folder_as_the_guest_does() {
        let places = places("/home/me", &[]);
        let word = |text: &str| places.word(OsStr::new(text)).into_string().unwrap();
        assert_eq!(word("cat /home/me/a '/home/me'>/home/me2"), "cat /here/a '/here'>/home/me2");
        assert_eq!(word("--out=/home/me/o"), "--out=/here/o");
        assert_eq!(word("/x/home/me/a"), "/x/home/me/a");
    }

    #[test]
    fn a_folder_keeps_its_name_where_the_command_needs_it() {
        for (here, words) in [("/home/me", ["cat", "../data"]), ("/", ["cat", "etc/passwd"])] {
            let places = places(here, &words);
            assert_eq!(places.working_folder(Path::new(here)), Path::new(here), "{words:?}");
            let inside = Path::new(here).join("x");
            assert_eq!(places.of(&inside), inside);
        }
    }

    #[test]
    fn what_an_argument_names_is_there_too() {
        let mut files = GuestFiles::new(Vec::new(), "/home/me".into());
        files.named.insert("/home/me/swtch".into());
        let places = GuestPaths::fixed(&files, Path::new("/home/me"), Path::new("/home/me/swtch"), &[]);
        let items = BTreeMap::from([(PathBuf::from("/home/me/swtch"), file("/home/me/swtch"))]);
        let moved: Vec<PathBuf> = places.items(&items).into_keys().collect();
        assert_eq!(moved, [Path::new("/.swtch/bin/swtch"), Path::new("/here/swtch")]);
    }

    #[test]
    fn only_folders_that_are_used_stay_in_path() {
        let places = places("/home/me", &[]);
        let items = BTreeMap::from([
            (PathBuf::from("/home/me/bin/a"), file("a")),
            (PathBuf::from("/opt/s/swtch"), file("swtch")),
        ]);
        let path = |searched: &str| places.path(OsStr::new(searched), &items).into_string().unwrap();
        let usual = format!("/.swtch/bin:{USUAL_PATH}");
        assert_eq!(path("/opt/s:/usr/games:/bin:/usr/bin"), usual);
        assert_eq!(path("/bin:/home/me/bin:/nowhere"), format!("/here/bin:{usual}"));
        let same = GuestPaths::default();
        assert_eq!(same.path(OsStr::new("/bin:/x"), &items), "/bin:/x");
    }
}
