//! Keeps what runs in touch with Python: reports progress, and asks whether a signal came in.

use pyo3::prelude::*;
use swtch_measure::{MeasureObserver, Progress};

/// Measurements and simulations run detached from the interpreter, so that other threads of Python run; each call here attaches for a moment.
pub(crate) struct Listener {
    progress: Option<Py<PyAny>>,
    /// What stops it: `KeyboardInterrupt`, what another signal's handler raised, or what `progress` raised.
    pub(crate) raised: Option<PyErr>,
    interpreter_gone: bool,
}

impl Listener {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, raised: None, interpreter_gone: false }
    }

    fn ask(&mut self, question: impl FnOnce(Python<'_>) -> PyResult<()>) {
        // A thread that outlives the interpreter (a daemon thread at exit) must not attach, and has nobody to run for.
        match Python::try_attach(question) {
            Some(answer) => self.raised = answer.err(),
            None => self.interpreter_gone = true,
        }
    }
}

fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

impl Listener {
    /// Whether what runs is to end. Asked by the thread that Python called: signals come to no other.
    pub(crate) fn stops(&mut self) -> bool {
        if self.raised.is_none() {
            // Python's own handler only sets a flag; the handler proper, such as the one for Ctrl-C, runs in here.
            self.ask(check_signals);
        }
        self.raised.is_some() || self.interpreter_gone
    }
}

impl swtch_sim::SimulationObserver for Listener {
    fn goes_on(&mut self, _now_ns: u64, _events: u64) -> bool {
        !self.stops()
    }
}

impl MeasureObserver for Listener {
    fn progress(&mut self, progress: &Progress<'_>) {
        if self.raised.is_some() {
            return;
        }
        if let Some(callback) = self.progress.take() {
            let news = (progress.fraction, progress.at_most.as_secs_f64(), progress.condition.to_string());
            self.ask(|py| callback.call1(py, news).map(drop));
            self.progress = Some(callback);
        }
    }

    fn stop(&mut self) -> bool {
        self.stops()
    }
}
