//! Runs a sched_ext scheduler as a process of its own, says what the kernel says of it, and compares schedulers on a workload.
//!
//! [`run()`] starts `scx_NAME`, watches it and tells why it ended. [`Status`] is what the kernel says. [`compare()`] runs a command under
//! several schedulers in turn; [`compare_in_vm`] does the same in a virtual machine. Schedulers are other programs, under another
//! licence: nothing of them is linked in. They end with this process, whatever ends it (see [`tether`]).
#![forbid(unsafe_code)]

mod compare;
mod error;
mod event;
mod find;
mod kernel_log;
mod lock;
mod process;
mod run;
mod status;
pub mod tether;

pub use compare::{
    BillFigures, Comparison, Figure, Guest, Machine, Policy, PolicyRuns, Waits, Workload, compare,
    compare_in_vm, table,
};
pub use error::{LiveError, NO_SCHEDULERS};
pub use event::{Event, ExitInfo, Told, parse};
pub use find::{Found, Places};
pub use lock::{Holder, Lock};
pub use process::Scheduler;
pub use run::{Ended, Job, run};
pub use status::Status;

/// Watches what takes long.
pub trait Observer {
    /// A scheduler said something.
    fn told(&mut self, told: &Told) {
        let _ = told;
    }

    /// So many of so many steps are done, and this comes next.
    fn step(&mut self, done: usize, of: usize, next: &str) {
        let _ = (done, of, next);
    }

    /// Whether to stop; asked many times a second.
    fn stop(&self) -> bool {
        false
    }
}
