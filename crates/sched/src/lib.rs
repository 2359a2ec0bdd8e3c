//! Runs a sched_ext scheduler as a process of its own, and compares schedulers on a job.
//!
//! [`run()`] starts `scx_NAME`, watches it and reports why it ended. [`status`] is the kernel's view. [`compare()`] runs a command under
//! several schedulers in turn; [`compare_in_vm`] does the same in a virtual machine, [`bench()`] many loads. Schedulers are other programs, under another
//! licence: none of their code is linked in. They die with this process (see [`die_with_parent`]).
//!
//! Modules: `find` (which there are), `file` (one that is a file), `registry` and `get` (those of Cargo's registry), `new` (one to begin with), `process` and `lock` (started, watched, ended), `message` (what ours print), `kernel_log`, `kernels`
//! (kernel against kernel), `bisect` (which version made a load slower), `programs` (loads that no package has), `better`, `error`.
#![forbid(unsafe_code)]

mod bench;
mod better;
mod bisect;
mod compare;
pub mod die_with_parent;
mod error;
mod file;
mod find;
mod get;
mod kernel_log;
mod kernels;
mod lock;
mod message;
mod new;
mod process;
pub mod programs;
mod registry;
mod run;

pub use bench::{
    AGAIN, BenchJob, Benched, Boot, Column, Load, LoadMetric, LoadRuns, PreemptedBy, RecordedRun, Run, Runs,
    Shard, SimulatedFigure, SimulatedLoad, SimulatedTimes, Statistic, WHOLE_RUN, bench, guests_at_a_time,
    loads, loads_named, run_boot, run_load_here,
};
pub use better::Better;
pub use bisect::{
    BisectJob, BisectStep, Bisected, Judged, RepositoryVersions, Versions, bisect, steps_table,
};
pub use compare::{
    BillFigures, Comparison, ComparisonJob, Guest, Machine, Metric, MetricRuns, Policy, PolicyRuns,
    RunFigure, Waits, compare, compare_in_vm, run_in_guest, take_along,
};
pub use error::{NO_SCHEDULERS, SchedError};
pub use file::make_program_for;
pub use find::{Found, OwnScheduler, SCHEDULERS, SearchPath};
pub use get::{Gotten, cache_of_schedulers, get};
pub use kernels::{KernelRun, kernels_table, measures};
pub use lock::{Lock, permit, status};
pub use message::SchedulerMessage;
pub use new::write_new;
pub use process::Scheduler;
pub use registry::{REGISTRY, RegistryScheduler, registry_table};
pub use run::{Ended, Job, run};

/// What an observer of a scheduler or of a comparison sees.
#[derive(Clone, Debug)]
pub enum SchedProgress {
    /// The scheduler printed a line.
    Message(SchedulerMessage),
    /// Steps of a comparison that are done.
    Step {
        /// How many.
        done: usize,
        /// Of how many.
        of: usize,
        /// The next one.
        next: String,
    },
}
