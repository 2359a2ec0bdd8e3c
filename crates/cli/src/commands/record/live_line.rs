//! The line that is shown while something is recorded, and the signals that end it.

use crate::console::ProgressLine;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use swtch_record::Progress;
use swtch_units::Observer;

/// Draws on a terminal and listens for signals.
pub(crate) struct LiveLine {
    line: ProgressLine,
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
        let line = ProgressLine::at_once("recording  {wide_msg}", None);
        Ok(Self { line, before: Progress::default(), duration, interrupted, passed_on, is_command })
    }
}

impl Observer<Progress> for LiveLine {
    fn event(&mut self, progress: &Progress) {
        let (before, duration) = (&mut self.before, self.duration);
        self.line.show(|bar| {
            bar.set_message(message(before, progress, duration));
            *before = *progress;
        });
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

/// How long, how fast, how busy, how many, and what was lost. What the source does not know meanwhile is left out.
fn message(before: &Progress, now: &Progress, duration: Option<Duration>) -> String {
    let passed_ns = now.elapsed_ns.saturating_sub(before.elapsed_ns).max(1) as f64;
    let rate = |of: fn(&Progress) -> Option<u64>| {
        Some(of(now)?.saturating_sub(of(before).unwrap_or(0)) as f64 / passed_ns)
    };
    let mut parts = vec![format!(
        "{:.1}{} s",
        now.elapsed_ns as f64 / 1e9,
        duration.map_or(String::new(), |duration| format!(" of {:.0}", duration.as_secs_f64()))
    )];
    parts.extend(rate(|progress| progress.switches).map(|rate| format!("{:.0} switches/s", rate * 1e9)));
    parts.extend(rate(|progress| progress.run_ns).map(|cpus| format!("{cpus:.2} CPUs")));
    parts.push(format!("{} tasks", now.tasks));
    if now.lost > 0 {
        parts.push(format!("{} events lost", now.lost));
    }
    parts.join("   ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_rates_since_it_was_last_drawn() {
        let before = Progress {
            elapsed_ns: 1_000_000_000,
            switches: Some(500),
            run_ns: Some(7),
            ..Progress::default()
        };
        let now = Progress {
            elapsed_ns: 3_000_000_000,
            switches: Some(2500),
            run_ns: Some(3_000_000_007),
            tasks: 4,
            lost: 1,
        };
        let line = message(&before, &now, Some(Duration::from_secs(10)));
        assert_eq!(line, "3.0 of 10 s   1000 switches/s   1.50 CPUs   4 tasks   1 events lost");
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let now = Progress { elapsed_ns: 1_000_000_000, tasks: 2, ..Progress::default() };
        assert_eq!(message(&Progress::default(), &now, None), "1.0 s   2 tasks");
    }
}
