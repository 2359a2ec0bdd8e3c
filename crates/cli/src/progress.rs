//! What is shown while something is measured, and Ctrl-C.

use crate::progress_line::ProgressLine;
use crate::signals::interrupted_by;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use swtch_measure::{MeasureObserver, Progress};

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Draws a bar on a terminal and listens for SIGINT and SIGTERM.
pub(crate) struct Bar {
    line: ProgressLine,
    interrupted: Arc<AtomicBool>,
}

impl Bar {
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn new() -> io::Result<Self> {
        let interrupted = interrupted_by(&[SIGINT, SIGTERM])?;
        let template = "{bar:30} {percent:>3} %  at most {prefix} left  {wide_msg}";
        Ok(Self { line: ProgressLine::at_once(template, Some(STEPS)), interrupted })
    }

    /// Takes the bar off the terminal.
    pub(crate) fn clear(&self) {
        self.line.clear();
    }
}

impl MeasureObserver for Bar {
    fn progress(&mut self, progress: &Progress<'_>) {
        self.line.show(|bar| {
            bar.set_prefix(format!("{} s", progress.at_most.as_secs()));
            bar.set_message(progress.condition.to_string());
            bar.set_position((progress.fraction * STEPS as f64) as u64);
        });
    }

    fn stop(&mut self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
