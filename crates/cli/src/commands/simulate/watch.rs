//! What somebody sees and can do while a simulation runs: how far it is, and Ctrl-C.

use crate::progress_line::ProgressLine;
use crate::signals::interrupted_by;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use swtch_sim::sink::{Sink, SwitchEvent, WakeEvent};
use swtch_sim::trace_writer::TraceWriter;

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

    /// The next run begins.
    pub(super) fn begin(&mut self, policy: &str) {
        policy.clone_into(&mut self.policy);
    }

    /// Whether a signal came.
    pub(super) fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn look(&mut self, now_ns: u64, events: u64) -> bool {
        let policy = &self.policy;
        self.line.show(|bar| {
            let simulated = now_ns as f64 / 1e9;
            bar.set_position(now_ns);
            bar.set_message(format!("{policy}: {simulated:.3} s simulated, {events} events"));
        });
        !self.interrupted()
    }
}

/// A run's sink: the watch, and a Trace where one is wanted.
pub(super) struct Watched<'a> {
    pub(super) watch: &'a mut Watch,
    pub(super) recorder: Option<&'a mut TraceWriter>,
}

impl Sink for Watched<'_> {
    fn switch(&mut self, event: SwitchEvent) {
        if let Some(recorder) = &mut self.recorder {
            recorder.switch(event);
        }
    }

    fn wake(&mut self, event: WakeEvent) {
        if let Some(recorder) = &mut self.recorder {
            recorder.wake(event);
        }
    }

    fn fork(&mut self, at_ns: u64, parent: Option<usize>, child: usize) {
        if let Some(recorder) = &mut self.recorder {
            recorder.fork(at_ns, parent, child);
        }
    }

    fn exit(&mut self, at_ns: u64, task: usize) {
        if let Some(recorder) = &mut self.recorder {
            recorder.exit(at_ns, task);
        }
    }

    fn goes_on(&mut self, now_ns: u64, events: u64) -> bool {
        // What cannot be written need not be simulated any further.
        let failed = self.recorder.as_ref().is_some_and(|recorder| recorder.failed());
        self.watch.look(now_ns, events) && !failed
    }
}

/// Any sink. The engine is compiled once for each kind of sink and policy, so all runs of the command go through this one.
pub(super) struct Through<'a>(pub(super) &'a mut dyn Sink);

impl Sink for Through<'_> {
    fn switch(&mut self, event: SwitchEvent) {
        self.0.switch(event);
    }

    fn wake(&mut self, event: WakeEvent) {
        self.0.wake(event);
    }

    fn fork(&mut self, at_ns: u64, parent: Option<usize>, child: usize) {
        self.0.fork(at_ns, parent, child);
    }

    fn exit(&mut self, at_ns: u64, task: usize) {
        self.0.exit(at_ns, task);
    }

    fn goes_on(&mut self, now_ns: u64, events: u64) -> bool {
        self.0.goes_on(now_ns, events)
    }
}
