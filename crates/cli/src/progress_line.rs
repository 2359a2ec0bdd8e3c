//! The line on a terminal that says how far a command is.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// What takes less is over before a line is any use.
const PATIENCE: Duration = Duration::from_secs(2);
/// The line is drawn so often at most: drawing takes the CPU from what is measured.
const EVERY: Duration = Duration::from_millis(200);

/// Nothing where standard error is no terminal. It is gone when this is dropped.
pub(crate) struct ProgressLine {
    /// In indicatif's notation.
    template: &'static str,
    /// What the position counts to, where that is known.
    length: Option<u64>,
    patience: Duration,
    began: Instant,
    drawn: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl ProgressLine {
    /// A line that appears after two seconds.
    pub(crate) fn new(template: &'static str, length: Option<u64>) -> Self {
        Self::after(PATIENCE, template, length)
    }

    /// A line that appears at once.
    pub(crate) fn at_once(template: &'static str, length: Option<u64>) -> Self {
        Self::after(Duration::ZERO, template, length)
    }

    fn after(patience: Duration, template: &'static str, length: Option<u64>) -> Self {
        Self { template, length, patience, began: Instant::now(), drawn: None, bar: None }
    }

    /// Changes the line; does nothing so soon after the last change that nobody could read it.
    pub(crate) fn show(&mut self, change: impl FnOnce(&ProgressBar)) {
        let soon = self.drawn.is_some_and(|drawn| drawn.elapsed() < EVERY);
        if soon || self.began.elapsed() < self.patience {
            return;
        }
        self.drawn = Some(Instant::now());
        self.show_always(change);
    }

    /// Changes the line at once, for changes that are rare.
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

    /// Takes the line off the terminal.
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
