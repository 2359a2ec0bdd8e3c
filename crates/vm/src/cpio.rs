//! Writes an archive that the kernel unpacks as its first file system: cpio in the "newc" format.
//!
//! Source: the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`, 7.3. Times are 0 and numbers count up, so that
//! the same files give the same bytes. It is not compressed: unpacking under emulation takes longer than copying.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Of an entry's mode, what kind it is of.
pub(crate) const KIND: u32 = 0o170_000;
pub(crate) const FOLDER: u32 = 0o040_000;
pub(crate) const FILE: u32 = 0o100_000;
pub(crate) const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
/// The name of the entry that ends an archive.
pub(crate) const TRAILER: &str = "TRAILER!!!";
/// How each entry begins; thirteen numbers of eight digits follow.
pub(crate) const MAGIC: &str = "070701";
pub(crate) const HEAD_BYTES: usize = MAGIC.len() + 13 * 8;

/// Writes one entry after the other. Directories have to come before what is in them.
#[derive(Debug)]
pub(crate) struct Archive<W> {
    out: W,
    entries: u32,
    /// So far; the largest archive has 4 GiB a file, and no bound in all.
    pub(crate) bytes: u64,
}

impl<W: Write> Archive<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, entries: 0, bytes: 0 }
    }

    pub(crate) fn folder(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        self.entry(path, FOLDER | mode, (0, 0), &[])
    }

    pub(crate) fn file(&mut self, path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
        self.entry(path, FILE | mode, (0, 0), content)
    }

    pub(crate) fn link(&mut self, path: &Path, to: &Path) -> io::Result<()> {
        self.entry(path, LINK | 0o777, (0, 0), to.as_os_str().as_bytes())
    }

    pub(crate) fn character_device(&mut self, path: &Path, mode: u32, device: (u32, u32)) -> io::Result<()> {
        self.entry(path, CHARACTER_DEVICE | mode, device, &[])
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.entry(Path::new(TRAILER), 0, (0, 0), &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, path: &Path, mode: u32, device: (u32, u32), content: &[u8]) -> io::Result<()> {
        let name = path.strip_prefix("/").unwrap_or(path).as_os_str();
        let size = u32::try_from(content.len())
            .map_err(|_| io::Error::other(format!("{} has more than 4 GiB", path.display())))?;
        self.entries += 1;
        let links = 1;
        let fields = [
            self.entries,
            mode,
            0, // uid
            0, // gid
            links,
            0, // mtime
            size,
            0, // device of the file, major
            0, // and minor
            device.0,
            device.1,
            name.len() as u32 + 1,
            0, // checksum, unused in this format
        ];
        let mut head = String::from(MAGIC);
        for field in fields {
            head.push_str(&format!("{field:08X}"));
        }
        self.put(head.as_bytes())?;
        self.put(&nul_terminated(name))?;
        self.align()?;
        self.put(content)?;
        self.align()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn align(&mut self) -> io::Result<()> {
        let missing = self.bytes.next_multiple_of(4) - self.bytes;
        self.put(&[0; 3][..missing as usize])
    }
}

fn nul_terminated(name: &OsStr) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn archive() -> Vec<u8> {
        let mut archive = Archive::new(Vec::new());
        archive.folder(Path::new("/bin"), 0o755).unwrap();
        archive.file(Path::new("/bin/a"), 0o755, b"hello").unwrap();
        archive.link(Path::new("/bin/b"), Path::new("a")).unwrap();
        archive.character_device(Path::new("/console"), 0o600, (5, 1)).unwrap();
        archive.finish().unwrap()
    }

    #[test]
    fn an_entry_is_as_the_kernel_documents_it() {
        let mut archive = Archive::new(Vec::new());
        archive.file(Path::new("/ab"), 0o644, b"xyz").unwrap();
        let bytes = archive.finish().unwrap();
        let head = "070701000000010000".to_owned() + "81A4";
        assert!(bytes.starts_with(head.as_bytes()), "{}", String::from_utf8_lossy(&bytes));
        assert_eq!(&bytes[54..62], b"00000003", "the file's size");
        assert_eq!(&bytes[94..102], b"00000003", "the name's length with its end");
        assert_eq!(&bytes[110..116], b"ab\0\0\0\0"[..6].as_ref());
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.windows(11).any(|window| window == b"TRAILER!!!\0"));
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        assert_eq!(archive(), archive());
    }

    #[test]
    fn another_program_reads_it() {
        let Ok(mut child) =
            Command::new("cpio").arg("-itv").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
        else {
            eprintln!("SKIP another_program_reads_it: cpio is not installed");
            return;
        };
        child.stdin.take().unwrap().write_all(&archive()).unwrap();
        let listed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        for (kind, name) in [("drwxr-xr-x", "bin"), ("-rwxr-xr-x", "bin/a"), ("lrwxrwxrwx", "bin/b -> a")] {
            assert!(listed.lines().any(|line| line.starts_with(kind) && line.ends_with(name)), "{listed}");
        }
        assert!(listed.contains("5,   1"), "{listed}");
    }
}
