//! What somebody sees and can do while a simulation runs: how far it is, and Ctrl-C.

use crate::progress_line::ProgressLine;
use crate::signals::interrupted_by;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use swtch_sim::SimulationObserver;

/// Watches the runs of a command.
pub(super) struct Watch {
    interrupted: Arc<AtomicBool>,
    line: ProgressLine,
    /// The policy that runs.
    policy: String,
}

impl Watch {
    /// `until_ns`: simulated time when it ends, where that is known.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub(super) fn new(until_ns: Option<u64>) -> io::Result<Self> {
        let template = match until_ns {
            Some(_) => "{bar:30} {percent:>3} %  {wide_msg}",
            None => "{spinner} {wide_msg}",
        };
        let interrupted = interrupted_by(&[SIGINT, SIGTERM])?;
        Ok(Self { interrupted, line: ProgressLine::new(template, until_ns), policy: String::new() })
    }
}

impl SimulationObserver for Watch {
    fn begins(&mut self, policy: &str) {
        policy.clone_into(&mut self.policy);
    }

    fn goes_on(&mut self, now_ns: u64, events: u64) -> bool {
        let policy = &self.policy;
        self.line.show(|bar| {
            let simulated = now_ns as f64 / 1e9;
            bar.set_position(now_ns);
            bar.set_message(format!("{policy}: {simulated:.3} s simulated, {events} events"));
        });
        !self.interrupted.load(Ordering::Relaxed)
    }
}
