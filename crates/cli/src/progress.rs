//! The progress bar, and Ctrl-C.

use crate::signals::interrupted_by;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use swtch_measure::{Observer, Progress};

/// Steps of the bar.
const STEPS: u64 = 1000;
/// The bar is drawn this often at most: drawing takes the processor from what is being measured.
const EVERY: Duration = Duration::from_millis(200);

/// Draws a bar on a terminal and listens for SIGINT and SIGTERM.
pub(crate) struct Bar {
    line: ProgressBar,
    drawn: Option<Instant>,
    interrupted: Arc<AtomicBool>,
}

impl Bar {
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn new() -> io::Result<Self> {
        let interrupted = interrupted_by(&[SIGINT, SIGTERM])?;
        let bar = if io::stderr().is_terminal() {
            ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        let style =
            ProgressStyle::with_template("{bar:30} {percent:>3} %  at most {prefix} left  {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Ok(Self { line: bar, drawn: None, interrupted })
    }

    /// Takes the bar off the terminal.
    pub(crate) fn clear(&self) {
        self.line.finish_and_clear();
    }
}

impl Observer for Bar {
    fn progress(&mut self, progress: &Progress<'_>) {
        if self.line.is_hidden() || self.drawn.is_some_and(|drawn| drawn.elapsed() < EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        self.line.set_prefix(format!("{} s", progress.at_most.as_secs()));
        self.line.set_message(progress.condition.to_string());
        self.line.set_position((progress.fraction * STEPS as f64) as u64);
    }

    fn stop(&mut self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
