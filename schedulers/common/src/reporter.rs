//! Prints events.

use std::io::Write;
use swtch_sched_ext::SchedulerEvent;

/// Prints events on standard output: text for people, or JSON, one object a line.
#[derive(Clone, Debug)]
pub struct Reporter {
    name: &'static str,
    json: bool,
}

impl Reporter {
    /// For the scheduler `name`.
    pub fn new(name: &'static str, json: bool) -> Self {
        Self { name, json }
    }

    /// Prints one event. A reader that has closed the pipe is not a failure of the scheduler.
    pub fn report(&self, event: &SchedulerEvent) {
        let line = if self.json {
            serde_json::to_string(event).unwrap_or_default()
        } else {
            format!("{}: {}", self.name, event.in_words())
        };
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}
