//! Files that come back: written here as the guest sends them, below the directory they were asked into and nowhere else.

use crate::error::VmError;
use crate::protocol::{EntryKind, FileHead};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use tempfile::NamedTempFile;

/// Takes files in.
#[derive(Debug)]
pub(crate) struct GuestResult {
    /// Where each file asked for goes.
    destinations: Vec<PathBuf>,
    /// The file that is being written: whole under its name, or not there.
    open: Option<(NamedTempFile, PathBuf, u32)>,
}

impl GuestResult {
    /// Each path comes back to the same place relative to `here`; an absolute one, or one that leads out, under its last name.
    pub(crate) fn new(paths: &[PathBuf], here: &Path) -> Result<Self, VmError> {
        let destination = |wish: &PathBuf| {
            let inside =
                wish.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            let name = if inside { Some(wish.as_path()) } else { wish.file_name().map(Path::new) };
            name.filter(|name| name.file_name().is_some())
                .map(|name| here.join(name))
                .ok_or_else(|| VmError::Wish(format!("--fetch {} names no file", wish.display())))
        };
        Ok(Self { destinations: paths.iter().map(destination).collect::<Result<_, _>>()?, open: None })
    }

    /// Begins a file or makes a directory.
    pub(crate) fn head(&mut self, head: &FileHead) -> Result<(), VmError> {
        let refuse = || {
            VmError::Wish(format!("the guest sent a file that was not asked for: {}", head.below.display()))
        };
        let root = self.destinations.get(head.wish).ok_or_else(refuse)?;
        let below = Path::new(&head.below);
        if !below.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(refuse());
        }
        let place = if head.below.is_empty() { root.clone() } else { root.join(below) };
        let doing = || VmError::system(format!("bringing back {}", place.display()));
        if head.kind == EntryKind::Folder {
            return fs::create_dir_all(&place).map_err(doing());
        }
        let folder = place.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(doing())?;
        let file = NamedTempFile::new_in(folder).map_err(doing())?;
        self.open = Some((file, place, head.mode));
        Ok(())
    }

    /// The next piece of the file.
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> Result<(), VmError> {
        let Some((file, place, _)) = &mut self.open else {
            return Err(VmError::Wish("the guest sent a piece of no file".to_owned()));
        };
        file.write_all(bytes).map_err(VmError::system(format!("bringing back {}", place.display())))
    }

    /// The file is complete; its path.
    pub(crate) fn end(&mut self) -> Result<PathBuf, VmError> {
        let Some((file, place, mode)) = self.open.take() else {
            return Err(VmError::Wish("the guest ended no file".to_owned()));
        };
        let done = || -> io::Result<()> {
            fs::set_permissions(file.path(), Permissions::from_mode(mode & 0o777))?;
            file.persist(&place).map_err(|error| error.error)?;
            Ok(())
        };
        done().map_err(VmError::system(format!("bringing back {}", place.display())))?;
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(wish: usize, below: &str, kind: EntryKind) -> FileHead {
        FileHead { wish, below: below.into(), kind, mode: 0o640 }
    }

    fn returned(paths: &[&str], here: &Path) -> GuestResult {
        GuestResult::new(&paths.iter().map(PathBuf::from).collect::<Vec<_>>(), here).unwrap()
    }

    #[test]
    fn files_and_folders_come_back_to_their_places() {
        let here = tempfile::tempdir().unwrap();
        let mut returned = returned(&["out/run.swtch", "/root/now.json"], here.path());
        returned.head(&head(0, "", EntryKind::Folder)).unwrap();
        returned.head(&head(0, "header.json", EntryKind::File)).unwrap();
        returned.piece(b"{").unwrap();
        returned.piece(b"}").unwrap();
        assert!(!here.path().join("out/run.swtch/header.json").exists(), "not before it is whole");
        assert_eq!(returned.end().unwrap(), here.path().join("out/run.swtch/header.json"));
        returned.head(&head(1, "", EntryKind::File)).unwrap();
        returned.end().unwrap();
        assert_eq!(fs::read(here.path().join("out/run.swtch/header.json")).unwrap(), b"{}");
        let mode = fs::metadata(here.path().join("now.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[test]
    fn a_guest_cannot_write_elsewhere() {
        let here = tempfile::tempdir().unwrap();
        let mut returned = returned(&["a"], here.path());
        for (wish, below) in [(0, "../b"), (0, "/etc/passwd"), (1, ""), (0, "x/../../b")] {
            assert!(returned.head(&head(wish, below, EntryKind::File)).is_err(), "{below}");
        }
        assert!(returned.piece(b"x").is_err() && returned.end().is_err());
        assert_eq!(fs::read_dir(here.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_leads_out_comes_back_under_its_last_name() {
        let here = Path::new("/here");
        let returned = returned(&["../x/y", "./z"], here);
        assert_eq!(returned.destinations, [Path::new("/here/y"), Path::new("/here/./z")]);
        for bad in ["/", "..", "a/.."] {
            assert!(GuestResult::new(&[bad.into()], here).is_err(), "{bad}");
        }
    }
}
