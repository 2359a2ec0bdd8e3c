//! The guest's first file system: what travels, and `swtch` as its first process.

use crate::cpio::Archive;
use crate::elf;
use crate::error::VmError;
use crate::file_closure::GuestEntry;
use crate::guest::{FIRST_PROCESS, GuestJob, JOB_FILE};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Of a guest's memory, what its files may take: they are copied once while the kernel boots.
pub(crate) const SHARE_FOR_FILES: u64 = 2;
/// Directories that every guest has; the first process mounts file systems on some.
const FOLDERS: [&str; 9] = ["/dev", "/etc", "/proc", "/root", "/run", "/sys", "/tmp", "/usr", "/var"];
/// Programs look up their user here.
const SMALL_FILES: [(&str, &str); 3] = [
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"),
    ("/etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n"),
];
/// What Linux calls its console: major and minor number (Documentation/admin-guide/devices.txt).
const CONSOLE: (u32, u32) = (5, 1);

/// What a guest's first file system is made of.
#[derive(Clone, Debug)]
pub(crate) struct Content<'a> {
    /// What travels, by its places in the guest; the first process is among them.
    pub(crate) items: &'a BTreeMap<PathBuf, GuestEntry>,
    /// The root directory whose links the guest has.
    pub(crate) system: &'a Path,
    pub(crate) first_process: &'a Path,
    /// What it is to do; absent where that is not known yet.
    pub(crate) job: Option<&'a GuestJob>,
    pub(crate) memory_bytes: u64,
    /// Programs travel without what is not loaded, unless their symbols are asked for.
    pub(crate) keeps_symbols: bool,
}

/// Writes the archive, of at most a share of the guest's memory. `path` is where; it is for messages.
pub(crate) fn write(out: &File, path: &Path, content_of: &Content) -> Result<(), VmError> {
    let Content { system, first_process, job, memory_bytes, keeps_symbols, .. } = *content_of;
    let doing = || VmError::system(format!("writing the guest's file system to {}", path.display()));
    let most_bytes = memory_bytes / SHARE_FOR_FILES;
    let links = merged_folders(system);
    let items = placed(content_of.items, &links);
    let mut archive = Archive::new(BufWriter::new(out));
    let working = job.map_or_else(|| PathBuf::from("/"), GuestJob::folder);
    for folder in folders(&items, &working) {
        let mode = if folder == Path::new("/tmp") { 0o1777 } else { 0o755 };
        archive.folder(&folder, mode).map_err(doing())?;
    }
    for (link, target) in &links {
        archive.link(link, target).map_err(doing())?;
    }
    archive.character_device(Path::new("/dev/console"), 0o600, CONSOLE).map_err(doing())?;
    for (path, text) in SMALL_FILES {
        if !items.contains_key(Path::new(path)) {
            archive.file(Path::new(path), 0o644, text.as_bytes()).map_err(doing())?;
        }
    }
    archive.link(Path::new(FIRST_PROCESS), first_process).map_err(doing())?;
    if let Some(job) = job {
        let text = serde_json::to_vec(job).map_err(io::Error::from).map_err(doing())?;
        archive.file(Path::new(JOB_FILE), 0o644, &text).map_err(doing())?;
    }
    for (path, item) in &items {
        let GuestEntry::File { from, mode } = item else { continue };
        // Asked before it is read: it may be larger than this machine's memory.
        let size = fs::metadata(from).map_or(0, |found| found.len());
        let bytes = archive.bytes + size;
        if bytes > most_bytes {
            let (bytes, memory) = (bytes >> 20, memory_bytes >> 20);
            return Err(VmError::TooLarge { path: from.clone(), bytes, memory });
        }
        archive.file(path, *mode, &content(from, keeps_symbols && path != first_process)?).map_err(doing())?;
    }
    archive.finish().map(drop).map_err(doing())
}

/// A file's bytes; of a program, those that are loaded, unless all are kept.
fn content(path: &Path, keeps_all: bool) -> Result<Vec<u8>, VmError> {
    let bytes = fs::read(path).map_err(|source| VmError::Copy { path: path.to_owned(), source })?;
    Ok(match (!keeps_all && elf::is_elf(&bytes)).then(|| elf::needs(&bytes)) {
        Some(Ok(needs)) => elf::without_sections(&bytes, needs.loaded_bytes),
        _ => bytes,
    })
}

/// `/bin` and the like, where they are links here: programs name each other by either path.
fn merged_folders(root: &Path) -> BTreeMap<PathBuf, PathBuf> {
    let names = ["/bin", "/sbin", "/lib", "/lib32", "/lib64"].map(PathBuf::from);
    let target = |link: &PathBuf| fs::read_link(root.join(link.strip_prefix("/").unwrap_or(link))).ok();
    names.into_iter().filter_map(|link| target(&link).map(|target| (link, target))).collect()
}

/// Items where they lie once the links are followed.
fn placed(
    items: &BTreeMap<PathBuf, GuestEntry>,
    links: &BTreeMap<PathBuf, PathBuf>,
) -> BTreeMap<PathBuf, GuestEntry> {
    let place = |path: &PathBuf| {
        let link = links.iter().find_map(|(link, target)| Some((target, path.strip_prefix(link).ok()?)));
        link.map_or_else(|| path.clone(), |(target, below)| Path::new("/").join(target).join(below))
    };
    items.iter().map(|(path, item)| (place(path), item.clone())).collect()
}

/// Every directory that has to be made, parents first.
fn folders(items: &BTreeMap<PathBuf, GuestEntry>, working: &Path) -> BTreeSet<PathBuf> {
    let mut folders: BTreeSet<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    let mut add = |path: &Path| folders.extend(path.ancestors().map(Path::to_owned));
    add(working);
    add(Path::new(FIRST_PROCESS).parent().unwrap_or(Path::new("/")));
    // The targets of links like /lib64 are there even if nothing is in them.
    for path in ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64"] {
        add(Path::new(path));
    }
    for (path, item) in items {
        let folder = if *item == GuestEntry::Folder { Some(path.as_path()) } else { path.parent() };
        add(folder.unwrap_or(Path::new("/")));
    }
    folders.remove(Path::new("/"));
    folders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_closure::GuestFiles;

    fn file(from: &str) -> GuestEntry {
        GuestEntry::File { from: from.into(), mode: 0o755 }
    }

    #[test]
    fn what_lies_behind_a_link_is_stored_once() {
        let links = BTreeMap::from([(PathBuf::from("/bin"), PathBuf::from("usr/bin"))]);
        let items = BTreeMap::from([
            (PathBuf::from("/bin/sh"), file("/bin/sh")),
            (PathBuf::from("/usr/bin/sh"), file("/usr/bin/sh")),
            (PathBuf::from("/binary"), file("/binary")),
        ]);
        let placed = placed(&items, &links);
        assert_eq!(
            placed.keys().collect::<Vec<_>>(),
            [Path::new("/binary"), Path::new("/usr/bin/sh")],
            "only whole names are links"
        );
    }

    #[test]
    fn parents_come_first() {
        let items = BTreeMap::from([
            (PathBuf::from("/a/b/c"), file("/c")),
            (PathBuf::from("/a/d"), GuestEntry::Folder),
        ]);
        let folders: Vec<_> = folders(&items, Path::new("/work/here")).into_iter().collect();
        let at = |path: &str| folders.iter().position(|folder| folder == Path::new(path)).unwrap();
        assert!(at("/a") < at("/a/b") && at("/work") < at("/work/here"));
        assert!(at("/a/d") > 0 && !folders.contains(&"/a/b/c".into()) && !folders.contains(&"/".into()));
    }

    #[test]
    fn too_much_is_refused_with_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::env::current_exe().unwrap();
        let job = GuestJob::default();
        let mut files = GuestFiles::new(Vec::new(), folder.path().to_owned());
        files.program(&own).unwrap();
        let to = folder.path().join("i.cpio");
        let content = Content {
            items: &files.items,
            system: Path::new("/"),
            first_process: &own,
            job: Some(&job),
            memory_bytes: 4096,
            keeps_symbols: false,
        };
        let error = write(&File::create(&to).unwrap(), &to, &content).unwrap_err();
        assert!(error.to_string().contains("--memory"), "{error}");
    }
}
