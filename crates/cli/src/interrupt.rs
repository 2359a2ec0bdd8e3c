//! What somebody sees and can do while files are converted: how far it is, and Ctrl-C, upon which the conversion ends as if its file had
//! failed, so that nothing half-made stays.

use crate::signals::interrupted_by;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What takes less is over before a bar is any use.
const PATIENCE: Duration = Duration::from_secs(2);

/// A reader or a writer that fails once a signal came, and shows on a terminal how far it is when it takes long.
pub(crate) struct Interruptible<T> {
    inner: T,
    interrupted: Arc<AtomicBool>,
    began: Instant,
    bytes: u64,
    /// Of how many bytes, where that is known.
    in_all: Option<u64>,
    bar: Option<ProgressBar>,
}

impl<T> Interruptible<T> {
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn new(inner: T, in_all: Option<u64>) -> io::Result<Self> {
        let interrupted = interrupted_by(&[SIGINT, SIGTERM])?;
        Ok(Self { inner, interrupted, began: Instant::now(), bytes: 0, in_all, bar: None })
    }

    fn show(&mut self, more: usize) {
        self.bytes += more as u64;
        if self.bar.is_none() && self.began.elapsed() >= PATIENCE {
            self.bar = Some(bar(self.in_all));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.bytes);
        }
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

impl<T> Drop for Interruptible<T> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Hidden where standard error is no terminal.
fn bar(in_all: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(in_all, ProgressDrawTarget::stderr_with_hz(5));
    let template = match in_all {
        Some(_) => "{wide_bar} {bytes} of {total_bytes}, {eta} left",
        None => "{spinner} {bytes} written, {elapsed}",
    };
    bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
}
