//! Reads a file while another process writes it, and gives its room back.

use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Room is given back in steps of this size.
const STEP_BYTES: u64 = 4 << 20;

/// A growing file.
#[derive(Debug)]
pub(crate) struct Tail {
    file: File,
    read_bytes: u64,
    freed_bytes: u64,
}

impl Tail {
    /// Makes the file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        Ok(Self { file, read_bytes: 0, freed_bytes: 0 })
    }

    /// What came since the last time, as much as fits; nothing when there is nothing yet.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.read_bytes += length as u64;
        let step = self.read_bytes / STEP_BYTES * STEP_BYTES;
        if step > self.freed_bytes {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // File systems without holes keep it all; that is only room.
            let _ = fallocate(&self.file, hole, self.freed_bytes, step - self.freed_bytes);
            self.freed_bytes = step;
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn everything_is_read_once_and_room_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grows");
        let mut tail = Tail::create(&path).unwrap();
        let mut writer = File::options().write(true).open(&path).unwrap();
        let (piece, mut buffer) = (vec![7; 1 << 20], vec![0; 1 << 20]);
        for _ in 0..9 {
            assert_eq!(tail.read(&mut buffer).unwrap(), 0);
            writer.write_all(&piece).unwrap();
            assert_eq!(tail.read(&mut buffer).unwrap(), piece.len());
            assert_eq!(buffer, piece);
        }
        let blocks_bytes = std::fs::metadata(&path).unwrap().blocks() * 512;
        assert!(blocks_bytes < 9 << 20, "{blocks_bytes}");
        assert!(Tail::create(&path).is_err(), "never a file that is there");
    }
}
