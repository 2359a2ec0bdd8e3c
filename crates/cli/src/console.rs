//! The terminal of a command that takes long: its progress line, and the signals that end it.

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use swtch_units::Observer;

/// A command that takes less needs no progress line.
const DELAY: Duration = Duration::from_secs(2);
/// The least time between two changes of the line: drawing takes the CPU from what is measured.
const EVERY: Duration = Duration::from_millis(200);

/// A line on standard error that shows how far a command is; none where standard error is not a terminal. Dropping it removes it.
pub(crate) struct ProgressLine {
    /// In indicatif's notation.
    template: &'static str,
    /// What the position counts to, where that is known.
    length: Option<u64>,
    delay: Duration,
    began: Instant,
    drawn: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl ProgressLine {
    /// A line that appears after two seconds.
    pub(crate) fn new(template: &'static str, length: Option<u64>) -> Self {
        Self::after(DELAY, template, length)
    }

    /// A line that appears at once.
    pub(crate) fn at_once(template: &'static str, length: Option<u64>) -> Self {
        Self::after(Duration::ZERO, template, length)
    }

    fn after(delay: Duration, template: &'static str, length: Option<u64>) -> Self {
        Self { template, length, delay, began: Instant::now(), drawn: None, bar: None }
    }

    /// Changes the line, unless it changed less than 200 ms ago.
    pub(crate) fn show(&mut self, change: impl FnOnce(&ProgressBar)) {
        let soon = self.drawn.is_some_and(|drawn| drawn.elapsed() < EVERY);
        if soon || self.began.elapsed() < self.delay {
            return;
        }
        self.drawn = Some(Instant::now());
        self.show_always(change);
    }

    /// Changes the line in any case, for rare changes.
    pub(crate) fn show_always(&mut self, change: impl FnOnce(&ProgressBar)) {
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(self.length, ProgressDrawTarget::stderr_with_hz(5));
            let style = ProgressStyle::with_template(self.template);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        if !bar.is_hidden() {
            change(bar);
        }
    }

    /// Removes the line from the terminal.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The signals that interrupt a command. SIGHUP is not among them: under nohup(1) a command outlives its terminal.
pub(crate) const INTERRUPTS: [i32; 2] = [SIGINT, SIGTERM];

/// Set once one of the signals has come. A second SIGINT ends the command at once, with the exit status a shell expects; supervisors such as
/// timeout(1) may send the others twice.
///
/// # Errors
/// When the signals cannot be caught.
pub(crate) fn interrupted_by(signals: &[i32]) -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in signals.iter().copied() {
        if signal == SIGINT {
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&interrupted))?;
        }
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Observes any operation: shows its events on the progress line, and stops it on a signal.
pub(crate) struct Console<Show> {
    line: ProgressLine,
    interrupted: Arc<AtomicBool>,
    show: Show,
}

impl<Show> Console<Show> {
    /// `show` puts an event on the line; `signals` stop the operation.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn new(line: ProgressLine, signals: &[i32], show: Show) -> anyhow::Result<Self> {
        let interrupted = interrupted_by(signals).context("cannot listen for Ctrl-C")?;
        Ok(Self { line, interrupted, show })
    }
}

impl<Event: ?Sized, Show: FnMut(&mut ProgressLine, &Event)> Observer<Event> for Console<Show> {
    fn event(&mut self, event: &Event) {
        (self.show)(&mut self.line, event);
    }

    fn stop(&mut self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// A reader or a writer that fails once a signal came, as if its file had failed, and shows how many bytes have passed.
pub(crate) struct Interruptible<T> {
    inner: T,
    interrupted: Arc<AtomicBool>,
    bytes: u64,
    line: ProgressLine,
}

impl<T> Interruptible<T> {
    /// `total`: how many bytes there are, where that is known.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn new(inner: T, total: Option<u64>) -> io::Result<Self> {
        let template = match total {
            Some(_) => "{wide_bar} {bytes} of {total_bytes}, {eta} left",
            None => "{spinner} {bytes} written, {elapsed}",
        };
        Ok(Self {
            inner,
            interrupted: interrupted_by(&INTERRUPTS)?,
            bytes: 0,
            line: ProgressLine::new(template, total),
        })
    }

    fn show(&mut self, more: usize) {
        self.bytes += more as u64;
        self.line.show(|bar| bar.set_position(self.bytes));
    }

    fn check(&self) -> io::Result<()> {
        // Not the kind `Interrupted`: readers and writers try again after that.
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
