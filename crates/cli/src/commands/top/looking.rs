//! Looking again and again.

use super::signals::Signals;
use std::path::Path;
use std::time::{Duration, Instant};
use swtch_cost::CostModel;
use swtch_record::watch::Watch;
use swtch_report::terminal::top::Window;
use swtch_trace::{PodNames, Snapshot};

/// How waiting for the next window ended.
pub(super) enum Waited {
    /// The time is over.
    Over,
    /// The watched processes have exited, or the watched cgroup was removed.
    Gone,
    /// A signal came.
    Signal(i32),
}

/// A watch and the snapshot before.
pub(super) struct Looking {
    watch: Watch,
    before: Snapshot,
    model: Option<CostModel>,
    looked: Instant,
}

impl Looking {
    pub(super) fn begin(mut watch: Watch, model: Option<CostModel>) -> Self {
        let before = watch.snapshot();
        Self { watch, before, model, looked: Instant::now() }
    }

    /// When to look at the latest, if a window takes so long.
    pub(super) fn next_look(&self, interval: Duration) -> Instant {
        self.looked + self.watch.period(interval)
    }

    /// Takes in what happened, if it is time.
    pub(super) fn look_if_due(&mut self, interval: Duration) {
        if Instant::now() >= self.next_look(interval) {
            self.watch.poll();
            self.looked = Instant::now();
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        !self.watch.alive()
    }

    /// What happened since the last window.
    pub(super) fn window(&mut self) -> Window {
        let now = self.watch.snapshot();
        self.looked = Instant::now();
        let mut window = Window::between(&self.before, &now, self.model.as_ref());
        window.name_cgroups(&PodNames::read(Path::new("/")));
        self.before = now;
        window
    }

    /// Lets a window's time pass, or less when there is nothing left to see.
    pub(super) fn wait(&mut self, interval: Duration, signals: &Signals) -> Waited {
        let due = Instant::now() + interval;
        loop {
            if let Some(signal) = signals.came() {
                return Waited::Signal(signal);
            }
            let now = Instant::now();
            if now >= due {
                return if self.is_gone() { Waited::Gone } else { Waited::Over };
            }
            // A signal wakes only the sleeping thread, so no sleep is long.
            let next = due.min(self.next_look(interval)).min(now + Duration::from_millis(200));
            std::thread::sleep(next.saturating_duration_since(now));
            self.look_if_due(interval);
            if self.is_gone() {
                return Waited::Gone;
            }
        }
    }
}
