//! What the live schedulers share: loading a sched_ext scheduler, attaching it, watching it, ending it, and reporting on it.
//!
//! A scheduler is a compiled BPF object, its own arguments, and a [`Worker`] that may act every 50 ms while the scheduler runs. [`run`]
//! does the rest. It checks that a scheduler can run here, loads and attaches it, takes over the tasks that were asked for, and prints
//! counters. It ends when time is up, on a signal, or when the kernel ends the scheduler; then it reports why.
//!
//! Reports are [`SchedulerEvent`]s: lines for people, or JSON, one object a line.
//!
//! Modules: `layout` (where variables are in a compiled object, by its BTF), `attach` (open, set, load, attach), `verifier`,
//! `counters`, `ending` (whether it ended), `exit` (why), `partial` (policies of single tasks), `hotplug`, `options`, `names` (files that
//! give commands numbers), `program` (from beginning to end), `reporter`, `error`.

mod attach;
mod counters;
mod ending;
mod error;
mod exit;
mod hotplug;
mod layout;
mod names;
mod options;
mod partial;
mod program;
mod reporter;
mod verifier;

pub use attach::{Loaded, Running, Settings};
pub use counters::total;
pub use error::SchedulerError;
pub use names::{NamedNumbers, NamesError};
pub use options::{Options, parse_duration};
pub use program::{Source, Worker, complain, report_usage, run};
pub use reporter::Reporter;
pub use swtch_sched_ext::SchedulerEvent;
