//! Sweeps.

use crate::errors::UsageError;
use crate::listener::Listener;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use swtch_sim::plan::PlanError;
use swtch_sim::sweep::{Request, SweepError, Swept, sweep as run};

/// How often it is looked whether a signal came.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs in the table, those of them that were run now, and what failed.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    file: PathBuf,
    out: PathBuf,
    profile: Option<PathBuf>,
    part: (u64, u64),
    jobs: Option<usize>,
) -> PyResult<(usize, usize, Vec<String>)> {
    let stop = AtomicBool::new(false);
    let mut listener = Listener::new(None);
    let found = py.detach(|| {
        let request = Request { file: &file, out: &out, profile: profile.as_deref(), part, jobs };
        std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&request, &stop, &mut |_, _| ()));
            while !running.is_finished() {
                std::thread::sleep(LOOK_EVERY);
                if listener.stops() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            running.join()
        })
    });
    match (found, listener.raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(Ok(Swept { runs, run_now, failures })), None) => Ok((runs, run_now, failures)),
        (Ok(Err(error)), None) => Err(exception(error)),
        (Err(_), None) => {
            Err(io::Error::other("the sweep's thread panicked; please report this defect").into())
        }
    }
}

fn exception(error: SweepError) -> PyErr {
    match error {
        SweepError::Interrupted { .. } => PyKeyboardInterrupt::new_err(()),
        SweepError::File { what, source } => {
            io::Error::new(source.kind(), format!("{what}: {source}")).into()
        }
        SweepError::Plan(PlanError::Read { path, source }) => {
            io::Error::new(source.kind(), format!("cannot read {}: {source}", path.display())).into()
        }
        error => UsageError::new_err(error.to_string()),
    }
}
