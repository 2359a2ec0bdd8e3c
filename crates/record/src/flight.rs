//! The flight recorder: the last events of the whole machine in bounded memory. They are written as a Trace when a condition begins to
//! hold, or on request.
//!
//! A thread of its own reads the rings, so that nothing that is served disturbs it; a second one, of low priority, writes a Trace.

mod condition;
mod kept;
mod limits;
mod recorder;
mod requests;
mod subject;
mod tasks;
mod window;

pub use condition::{Condition, ConditionError, FIELDS};
pub use limits::{DumpLimits, Suppression};
pub use recorder::{DumpCause, FlightStatus, Notice};
pub use requests::{DumpAnswer, RequestError, ask};

use crate::error::RecordError;
use recorder::{Recorder, Shared};
use requests::Requests;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a flight recorder keeps, and when it writes a Trace.
#[derive(Clone, Debug)]
pub struct FlightOptions {
    /// The time that is kept.
    pub keep: Duration,
    /// The most memory for it. Where that is too little, the time is shorter.
    pub most_bytes: u64,
    /// A Trace is written when one of these begins to hold.
    pub when: Vec<Condition>,
    /// The directory of the Traces.
    pub folder: PathBuf,
    /// How much may be written there.
    pub limits: DumpLimits,
}

/// A flight recorder that runs. It ends when it is dropped, after a Trace that is being written.
#[derive(Debug)]
pub struct FlightRecorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl FlightRecorder {
    /// Begins to keep events. The capabilities that the rest does not need are given up by its own threads.
    ///
    /// # Errors
    /// When BPF cannot be used, or the directory cannot be written to or belongs to another flight recorder.
    pub fn begin(options: FlightOptions) -> Result<Self, RecordError> {
        let requests = Requests::open(&options.folder)?;
        let shared = Arc::new(Shared::default());
        let (begun, result) = mpsc::sync_channel(1);
        let of_thread = Arc::clone(&shared);
        let run = move || match Recorder::begin(options, requests, of_thread) {
            Ok(mut recorder) => {
                let _ = begun.send(Ok(()));
                recorder.run();
            }
            Err(error) => {
                let _ = begun.send(Err(error));
            }
        };
        let started = std::thread::Builder::new().name("swtch-flight".to_owned()).spawn(run);
        let thread = started
            .map_err(|source| RecordError::System { doing: "starting the flight recorder", source })?;
        let new = Self { shared, thread: Some(thread) };
        let gone = || {
            Err(RecordError::System {
                doing: "starting the flight recorder",
                source: std::io::Error::other("its thread ended"),
            })
        };
        result.recv().unwrap_or_else(|_| gone()).map(|()| new)
    }

    /// Asks for a Trace of what is kept, as a signal does.
    pub fn dump(&self) {
        self.shared.asked.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// What it keeps and has written.
    pub fn status(&self) -> FlightStatus {
        self.shared.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Messages since the last call.
    pub fn notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.shared.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends it, after a Trace that is being written. Returns the last messages.
    pub fn end(mut self) -> Vec<Notice> {
        self.stop();
        self.notices()
    }

    fn stop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for FlightRecorder {
    fn drop(&mut self) {
        self.stop();
    }
}
