//! What the live schedulers share: loading a sched_ext scheduler, attaching it, watching it, ending it, and telling about it.
//!
//! A scheduler is a compiled BPF object, its own arguments, and possibly a [`Worker`] that does something every now and then while the
//! scheduler runs. [`run`] does the rest: it refuses where a scheduler cannot run, loads and attaches, takes over the tasks that were asked
//! for, prints counters, and ends when time is up, on a signal, or when the kernel ends the scheduler; then it says why.
//!
//! What is told are [`Event`]s: lines for people, or JSON, one object a line.

mod attach;
mod counters;
mod duration;
mod error;
mod event;
mod exit;
mod kernel;
mod layout;
mod options;
mod partial;
mod program;
mod verifier;

pub use attach::{Loaded, Running, Settings};
pub use counters::{CpuCounters, total};
pub use duration::parse_duration;
pub use error::SchedulerError;
pub use event::{Event, Reporter};
pub use exit::ExitInfo;
pub use options::Options;
pub use program::{Source, Worker, report_usage, run};
pub use verifier::Verified;
