//! Records what a workload does and what its context switches cost it.
//!
//! [`system`] reads the kernel's own counters of the whole machine and of a cgroup, against which every recording is
//! reconciled. [`record`] writes a Trace; [`watch`] watches without end.
//!
//! Modules: `options` and `plan` (which source, and why), `session` (a recording from its beginning to its end: a source, collectors, one
//! loop), `sources` (BPF, perf, procfs), `stacks` (which code), `working_set`, `workload` (the command), `task_info`, `thread_files` (texts of
//! /proc/PID), `flight` (the flight recorder), `rights` (capabilities that are kept), `scheduling` (settings of a command), `import`
//! (text of other recorders), `clock`, `files`, `error`.
//!
//! ```
//! use std::path::Path;
//! use swtch_record::system::{Detail, Snapshot, difference};
//!
//! let earlier = Snapshot::read(Path::new("/"), None, Detail::Everything);
//! let later = Snapshot::read(Path::new("/"), None, Detail::Everything);
//! let between = difference(&earlier, &later);
//! match between.context_switches {
//!     Some(count) => println!("{count} context switches in {} ns", between.length_ns),
//!     None => println!("unavailable: {:?}", between.unavailable),
//! }
//! ```

pub mod flight;
pub mod import;
pub mod plan;
pub mod system;
pub mod watch;

mod clock;
mod error;
mod files;
mod options;
mod rights;
mod scheduling;
mod session;
mod sources;
mod stacks;
mod task_info;
mod thread_files;
mod working_set;
mod workload;

pub use error::RecordError;
pub use options::{CommandStart, Cost, DEFAULT_SAMPLE, Mode, Options, STACK_ENTRIES, Target};
pub use scheduling::Scheduling;
pub use session::{Progress, Recording, record};
pub use workload::{ChildCommand, CommandEnd};
