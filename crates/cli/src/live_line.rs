//! The line that is shown while something is recorded, and the signals that end it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use swtch_record::{Observer, Progress};

const EVERY: Duration = Duration::from_millis(250);

/// Draws on a terminal and listens for signals.
pub(crate) struct LiveLine {
    line: ProgressBar,
    drawn: Option<Instant>,
    before: Progress,
    duration: Option<Duration>,
    interrupted: Arc<AtomicBool>,
    /// With the signals to pass on to the command, and which have been.
    passed_on: Vec<(i32, Arc<AtomicBool>)>,
    is_command: bool,
}

impl LiveLine {
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn new(is_command: bool, duration: Option<Duration>) -> io::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let on_terminal = io::stdin().is_terminal() || io::stderr().is_terminal();
        let mut passed_on = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            // A terminal sends its interrupt to the command too; passing it on would be a second one.
            let own = on_terminal && (signal == SIGINT || signal == SIGQUIT);
            if is_command && !own {
                let came = Arc::new(AtomicBool::new(false));
                signal_hook::flag::register(signal, Arc::clone(&came))?;
                passed_on.push((signal, came));
            } else {
                signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
            }
        }
        let line = if io::stderr().is_terminal() {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("recording  {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        line.set_style(style);
        Ok(Self {
            line,
            drawn: None,
            before: Progress::default(),
            duration,
            interrupted,
            passed_on,
            is_command,
        })
    }

    /// Takes the line off the terminal.
    pub(crate) fn clear(&self) {
        self.line.finish_and_clear();
    }
}

impl Observer for LiveLine {
    fn progress(&mut self, progress: &Progress) {
        if self.line.is_hidden() || self.drawn.is_some_and(|drawn| drawn.elapsed() < EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let seconds = (progress.elapsed_ns.saturating_sub(self.before.elapsed_ns)) as f64 / 1e9;
        let rate = (progress.switches.saturating_sub(self.before.switches)) as f64 / seconds.max(1e-3);
        self.before = *progress;
        let elapsed = progress.elapsed_ns as f64 / 1e9;
        let of = self.duration.map_or(String::new(), |duration| format!(" of {:.0}", duration.as_secs_f64()));
        let lost =
            if progress.lost > 0 { format!("   {} events lost", progress.lost) } else { String::new() };
        self.line.set_message(format!(
            "{elapsed:.1}{of} s   {rate:.0} switches/s   {} tasks{lost}",
            progress.tasks
        ));
    }

    fn stop(&mut self) -> bool {
        // While a command runs, Ctrl-C is its own affair: what it makes of it decides.
        !self.is_command && self.interrupted.load(Ordering::Relaxed)
    }

    fn signal(&mut self) -> Option<i32> {
        let (signal, _) = self.passed_on.iter().find(|(_, came)| came.swap(false, Ordering::Relaxed))?;
        Some(*signal)
    }
}
