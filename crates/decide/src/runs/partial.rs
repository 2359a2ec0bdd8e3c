//! A sched_ext scheduler that has one command's runs only.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use swtch_sched::{Found, SchedError, Scheduler};

/// A scheduler that is started before each run of a command, for the tasks of its cgroup, and ended after it.
#[derive(Clone, Debug)]
pub struct PartialScheduler {
    found: Found,
    /// This program, with which it ends.
    program: PathBuf,
}

impl PartialScheduler {
    /// Of one of swtch's own schedulers: others have no option for a single cgroup.
    pub fn new(found: Found, program: PathBuf) -> Self {
        Self { found, program }
    }

    /// Starts it, and waits until the kernel has it.
    ///
    /// # Errors
    /// When it does not start, or `stop` says so.
    pub(crate) fn start(
        &self,
        cgroup: &Path,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Scheduler, SchedError> {
        let arguments: [OsString; 2] = ["--only-cgroup".into(), cgroup.into()];
        let mut scheduler = Scheduler::start(&self.found, &arguments, &self.program)?;
        scheduler.wait_enabled(stop)?;
        Ok(scheduler)
    }
}
