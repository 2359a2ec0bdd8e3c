//! What somebody sees and can do while files are converted: how far it is, and Ctrl-C, upon which the conversion ends as if its file had
//! failed, so that nothing half-made stays.

use crate::progress_line::ProgressLine;
use crate::signals::interrupted_by;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A reader or a writer that fails once a signal came, and shows on a terminal how far it is when it takes long.
pub(crate) struct Interruptible<T> {
    inner: T,
    interrupted: Arc<AtomicBool>,
    bytes: u64,
    line: ProgressLine,
}

impl<T> Interruptible<T> {
    /// `in_all`: how many bytes there are, where that is known.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn new(inner: T, in_all: Option<u64>) -> io::Result<Self> {
        let interrupted = interrupted_by(&[SIGINT, SIGTERM])?;
        let template = match in_all {
            Some(_) => "{wide_bar} {bytes} of {total_bytes}, {eta} left",
            None => "{spinner} {bytes} written, {elapsed}",
        };
        Ok(Self { inner, interrupted, bytes: 0, line: ProgressLine::new(template, in_all) })
    }

    fn show(&mut self, more: usize) {
        self.bytes += more as u64;
        self.line.show(|bar| bar.set_position(self.bytes));
    }

    fn check(&self) -> io::Result<()> {
        // Not the kind `Interrupted`: readers and writers try that again.
        if self.interrupted.load(Ordering::Relaxed) { Err(io::Error::other("interrupted")) } else { Ok(()) }
    }
}

impl<T: Read> Read for Interruptible<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        self.check()?;
        self.show(*read.as_ref().unwrap_or(&0));
        read
    }
}

impl<T: Write> Write for Interruptible<T> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.show(buffer.len());
        self.inner.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
