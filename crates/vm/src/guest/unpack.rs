//! Unpacks what [`crate::cpio`] packs, as the kernel would, over what is there.

use crate::cpio::{FILE, FOLDER, HEAD_BYTES, KIND, LINK, MAGIC, TRAILER};
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Fields of a head: which number of eight digits each is.
const MODE: usize = 1;
const SIZE: usize = 6;
const NAME_BYTES: usize = 11;
/// Longer than any path that Linux takes.
const MOST_NAME_BYTES: u32 = 4096;

/// Files take the place of files that are there, which programs that run go on with; directories and links stay as they are.
pub(super) fn unpack(mut from: impl Read, root: &Path) -> io::Result<()> {
    loop {
        let mut head = [0; HEAD_BYTES];
        from.read_exact(&mut head)?;
        if !head.starts_with(MAGIC.as_bytes()) {
            return Err(bad("an entry does not begin as one"));
        }
        let (mode, size, name_bytes) = (field(&head, MODE)?, field(&head, SIZE)?, field(&head, NAME_BYTES)?);
        if !(1..=MOST_NAME_BYTES).contains(&name_bytes) {
            return Err(bad("an entry has no name"));
        }
        let mut name = read(&mut from, name_bytes)?;
        name.pop();
        skip_padding(&mut from, HEAD_BYTES as u32 + name_bytes)?;
        let name = PathBuf::from(OsString::from_vec(name));
        if name == Path::new(TRAILER) {
            return Ok(());
        }
        let place = root.join(name);
        match mode & KIND {
            FOLDER if place.is_dir() => {}
            FOLDER => {
                fs::create_dir(&place)?;
                fs::set_permissions(&place, Permissions::from_mode(mode & 0o7777))?;
            }
            LINK => {
                let target = PathBuf::from(OsString::from_vec(read(&mut from, size)?));
                if place.symlink_metadata().is_err() {
                    symlink(target, &place)?;
                }
            }
            FILE => file(&mut from, &place, mode, size)?,
            // Devices are the kernel's own by now.
            _ => io::copy(&mut from.by_ref().take(size.into()), &mut io::sink()).map(drop)?,
        }
        skip_padding(&mut from, size)?;
    }
}

fn file(from: &mut impl Read, place: &Path, mode: u32, size: u32) -> io::Result<()> {
    match fs::remove_file(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut to = File::create_new(place)?;
    let written = io::copy(&mut from.take(size.into()), &mut to)?;
    if written < u64::from(size) {
        return Err(bad("it ends in the middle of a file"));
    }
    to.set_permissions(Permissions::from_mode(mode & 0o7777))
}

fn field(head: &[u8; HEAD_BYTES], which: usize) -> io::Result<u32> {
    let digits = &head[MAGIC.len() + 8 * which..][..8];
    let text = str::from_utf8(digits).map_err(|_| bad("a number is none"))?;
    u32::from_str_radix(text, 16).map_err(|_| bad("a number is none"))
}

fn read(from: &mut impl Read, bytes: u32) -> io::Result<Vec<u8>> {
    let mut found = vec![0; bytes as usize];
    from.read_exact(&mut found)?;
    Ok(found)
}

/// Names and files end at multiples of four.
fn skip_padding(from: &mut impl Read, bytes: u32) -> io::Result<()> {
    read(from, bytes.next_multiple_of(4) - bytes).map(drop)
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the files for the guest cannot be unpacked: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpio::Archive;
    use proptest::prelude::*;

    #[test]
    fn what_was_packed_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("bin")).unwrap();
        fs::write(root.join("bin/a"), "old").unwrap();
        fs::hard_link(root.join("bin/a"), root.join("in-use")).unwrap();
        symlink("elsewhere", root.join("kept")).unwrap();
        let mut archive = Archive::new(Vec::new());
        archive.folder(Path::new("/bin"), 0o755).unwrap();
        archive.folder(Path::new("/tmp"), 0o1777).unwrap();
        archive.file(Path::new("/bin/a"), 0o755, b"hello").unwrap();
        archive.file(Path::new("/tmp/empty"), 0o600, b"").unwrap();
        archive.link(Path::new("/bin/b"), Path::new("a")).unwrap();
        archive.link(Path::new("/kept"), Path::new("a")).unwrap();
        archive.character_device(Path::new("/console"), 0o600, (5, 1)).unwrap();
        let bytes = archive.finish().unwrap();
        unpack(&bytes[..], root).unwrap();
        assert_eq!(fs::read(root.join("bin/b")).unwrap(), b"hello");
        assert_eq!(fs::read(root.join("in-use")).unwrap(), b"old", "a program that has it open keeps it");
        assert_eq!(fs::read_link(root.join("kept")).unwrap(), Path::new("elsewhere"));
        let mode = |name: &str| fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("bin/a"), mode("tmp"), mode("tmp/empty")), (0o755, 0o1777, 0o600));
        assert!(!root.join("console").exists());
        for cut in [0, 50, bytes.len() - 300] {
            assert!(unpack(&bytes[..cut], root).is_err(), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), begins_well: bool) {
            let folder = tempfile::tempdir().unwrap();
            if begins_well {
                bytes.splice(0..0, MAGIC.bytes().chain([b'0'; 48]));
            }
            prop_assert!(unpack(&bytes[..], folder.path()).is_err());
        }
    }
}
