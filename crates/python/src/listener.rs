//! Keeps what runs in touch with Python: reports progress, and asks whether a signal came in.

use pyo3::prelude::*;
use pyo3::types::PyBool;
use swtch_measure::Progress;
use swtch_units::Observer;

/// SIGTERM's number on Linux.
const SIGTERM: i32 = 15;

/// Measurements, recordings and simulations run detached from the interpreter, so that other threads of Python run; each call here attaches for a moment.
pub(crate) struct Listener {
    progress: Option<Py<PyAny>>,
    /// What stops it: `KeyboardInterrupt`, what another signal's handler raised, or what `progress` raised.
    pub(crate) raised: Option<PyErr>,
    interpreter_gone: bool,
    /// Whether `progress` answered False, with which it ends a recording.
    enough: bool,
    /// Whether the recorded command was asked to end too.
    ended_command: bool,
}

impl Listener {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, raised: None, interpreter_gone: false, enough: false, ended_command: false }
    }

    fn ask(&mut self, question: impl FnOnce(Python<'_>) -> PyResult<()>) {
        // A thread that outlives the interpreter (a daemon thread at exit) must not attach, and has no caller to run for.
        match Python::try_attach(question) {
            Some(answer) => self.raised = answer.err(),
            None => self.interpreter_gone = true,
        }
    }

    /// Whether what runs is to end. Asked by the thread that Python called: signals come to no other.
    pub(crate) fn stops(&mut self) -> bool {
        if self.raised.is_none() {
            // Python's own handler only sets a flag; the handler proper, such as the one for Ctrl-C, runs in here.
            self.ask(check_signals);
        }
        self.raised.is_some() || self.interpreter_gone
    }

    /// Calls `progress` with the news.
    fn tell(&mut self, call: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<Py<PyAny>>) {
        if self.raised.is_some() {
            return;
        }
        if let Some(callback) = self.progress.take() {
            let mut enough = false;
            self.ask(|py| {
                enough = call(py, &callback)?.bind(py).is(PyBool::new(py, false));
                Ok(())
            });
            self.enough |= enough;
            self.progress = Some(callback);
        }
    }
}

fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

impl Observer<swtch_record::Progress> for Listener {
    fn event(&mut self, progress: &swtch_record::Progress) {
        let news = (progress.elapsed_ns as f64 / 1e9, progress.switches, progress.tasks, progress.lost);
        self.tell(|py, callback| callback.call1(py, news));
    }

    fn stop(&mut self) -> bool {
        self.stops() || self.enough
    }

    fn signal(&mut self) -> Option<i32> {
        // A caller that stops the recording has no other way to end the recorded command.
        let first = Observer::<swtch_record::Progress>::stop(self)
            && !std::mem::replace(&mut self.ended_command, true);
        first.then_some(SIGTERM)
    }
}

impl Observer<swtch_sim::Progress> for Listener {
    fn event(&mut self, _: &swtch_sim::Progress) {}

    fn stop(&mut self) -> bool {
        self.stops()
    }
}

impl Observer<Progress> for Listener {
    fn event(&mut self, progress: &Progress) {
        let news = (progress.fraction, progress.at_most.as_secs_f64(), progress.condition.clone());
        self.tell(|py, callback| callback.call1(py, news));
    }

    fn stop(&mut self) -> bool {
        self.stops()
    }
}
