//! Ctrl-C while files are converted: the conversion ends as if its file had failed, so that nothing half-made stays.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A reader or a writer that fails once a signal came.
pub(crate) struct Interruptible<T> {
    inner: T,
    interrupted: Arc<AtomicBool>,
}

impl<T> Interruptible<T> {
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn new(inner: T) -> io::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // A second signal ends the command at once, with the status a shell expects.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&interrupted))?;
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        Ok(Self { inner, interrupted })
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
        read
    }
}

impl<T: Write> Write for Interruptible<T> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.inner.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
