//! Reads a thread's files cheaply. They are read relative to an open `/proc`, into one buffer, and kept open as far as the
//! limit of open files allows. Opening is most of the cost: `schedstat` takes 0.6 us kept open and 5 us opened each time.

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, pread};
use std::fmt::Write;
use std::io;
use std::path::Path;

/// Larger than any of the files; `status` of a machine with 8192 CPUs has 5 KiB.
const BUFFER_BYTES: usize = 16 << 10;
/// An open file of procfs that was read holds a page of kernel memory.
const MOST_KEPT: usize = 4096;

/// Which file of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Schedstat,
    Stat,
    Sched,
    Status,
}

/// Their names, in this order.
const NAMES: [&str; 4] = ["schedstat", "stat", "sched", "status"];

/// The files of a thread that are kept open. An open file stays with its thread: when the number is used again, it reads as
/// gone and not as the new thread.
#[derive(Debug, Default)]
pub(super) struct OpenFiles([Option<OwnedFd>; 4]);

/// An open `/proc` and the buffers.
#[derive(Debug)]
pub(super) struct Reader {
    proc: OwnedFd,
    buffer: Vec<u8>,
    path: String,
    most_kept: usize,
    kept: usize,
}

impl Reader {
    /// Opens `proc` under `root`.
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        let proc = openat(CWD, root.join("proc"), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        // Half of what this process may open: the rest is for other recordings in the process.
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let half = limit.map_or(MOST_KEPT, |limit| (limit / 2).min(MOST_KEPT as u64) as usize);
        // A file of a fixture does not end with a thread, as one of procfs does.
        let most_kept = if root == Path::new("/") { half } else { 0 };
        Ok(Self { proc, buffer: vec![0; BUFFER_BYTES], path: String::new(), most_kept, kept: 0 })
    }

    /// The contents of a thread's file.
    pub(super) fn thread(
        &mut self,
        pid: u32,
        tid: u32,
        file: File,
        kept: &mut OpenFiles,
    ) -> Result<&[u8], Errno> {
        let place = &mut kept.0[file as usize];
        if let Some(open) = place {
            let length = pread(open, &mut self.buffer[..], 0)?;
            return Ok(&self.buffer[..length]);
        }
        self.path.clear();
        let _ = write!(self.path, "{pid}/task/{tid}/{}", NAMES[file as usize]);
        let open = openat(&self.proc, self.path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let length = pread(&open, &mut self.buffer[..], 0)?;
        // The first half is for any file, the second for `schedstat` alone: it is what an idle thread costs.
        let share = if file == File::Schedstat { self.most_kept } else { self.most_kept / 2 };
        if self.kept < share {
            *place = Some(open);
            self.kept += 1;
        }
        Ok(&self.buffer[..length])
    }

    /// Closes the kept files of a thread that is gone.
    pub(super) fn close(&mut self, kept: OpenFiles) {
        self.kept -= kept.0.iter().flatten().count();
        drop(kept);
    }

    /// The contents of another file below `/proc`.
    pub(super) fn other(&mut self, path: &str) -> Result<&[u8], Errno> {
        let open = openat(&self.proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let length = pread(&open, &mut self.buffer[..], 0)?;
        Ok(&self.buffer[..length])
    }

    /// The entries of a directory below `/proc` whose names are numbers, appended to `numbers`.
    pub(super) fn numbers(&mut self, folder: &str, numbers: &mut Vec<u32>) -> Result<(), Errno> {
        let open =
            openat(&self.proc, folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        for entry in rustix::fs::Dir::new(open)? {
            let number = crate::thread_files::number(entry?.file_name().to_bytes());
            numbers.extend(number.and_then(|number| u32::try_from(number).ok()));
        }
        Ok(())
    }
}
