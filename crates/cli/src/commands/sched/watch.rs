//! What somebody sees while a scheduler runs or schedulers are compared, and the signals that end it.

use crate::output;
use crate::progress_line::ProgressLine;
use crate::signals::interrupted_by;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use swtch_sched::{Observer, Told};

/// The bar turns this often, in emulated guests' boots; nothing is drawn while a command is measured here.
const EVERY: Duration = Duration::from_millis(500);

pub(super) struct Watch {
    name: String,
    json: bool,
    line: Option<ProgressLine>,
    interrupted: Arc<AtomicBool>,
}

impl Watch {
    /// For one scheduler.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub(super) fn new(name: &str, json: bool) -> io::Result<Self> {
        let interrupted = interrupted_by(&[SIGINT, SIGTERM, SIGHUP])?;
        Ok(Self { name: name.to_owned(), json, line: None, interrupted })
    }

    /// For a comparison; `turns` where the bar may move while a command runs, which is not on this machine then.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub(super) fn with_bar(turns: bool) -> io::Result<Self> {
        let mut watch = Self::new("compare", false)?;
        let template = "{spinner} {bar:20} {pos} of {len}  {elapsed}  {wide_msg}";
        let mut line = ProgressLine::at_once(template, Some(0));
        if turns {
            line.show_always(|bar| bar.enable_steady_tick(EVERY));
        }
        watch.line = Some(line);
        Ok(watch)
    }

    /// Takes the bar off the terminal.
    pub(super) fn clear(&self) {
        if let Some(line) = &self.line {
            line.clear();
        }
    }
}

impl Observer for Watch {
    fn told(&mut self, told: &Told) {
        match told {
            Told::Event(_, line) | Told::Unknown(line) if self.json => output::print(&format!("{line}\n")),
            Told::Event(event, _) => output::print(&format!("{}: {}\n", self.name, event.in_words())),
            Told::Unknown(line) | Told::Text(line) if !self.json => output::print(&format!("{line}\n")),
            // JSON stays JSON: whatever else is said goes where complaints go.
            Told::Unknown(line) | Told::Text(line) | Told::Complaint(line) => output::complain_text(line),
        }
    }

    fn step(&mut self, done: usize, of: usize, next: &str) {
        if let Some(line) = &mut self.line {
            line.show_always(|bar| {
                bar.set_length(of as u64);
                bar.set_position(done as u64);
                bar.set_message(next.to_owned());
            });
        }
    }

    fn stop(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
