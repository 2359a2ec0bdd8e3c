//! Whose switches are recorded, as far as it is known beforehand.

use crate::clock::monotonic_ns;
use crate::options::{Target, TargetTasks};
use crate::system::Cgroup;
use crate::task_info;
use std::collections::HashSet;

/// The time between two searches for tasks that moved into the cgroup, ns.
const LOOK_EVERY_NS: u64 = 200_000_000;

/// The tasks of a target.
#[derive(Debug)]
pub(super) struct Members {
    tasks: TargetTasks,
    /// Those of a cgroup that were found already, and when it was last looked.
    found: HashSet<u32>,
    looked_ns: u64,
}

impl Members {
    pub(super) fn of(target: &Target, group: Option<&Cgroup>) -> Self {
        Self { tasks: TargetTasks::of(target, group), found: HashSet::new(), looked_ns: 0 }
    }

    /// Numbers of the tasks that are there now, at the beginning.
    pub(super) fn tids(&mut self) -> Vec<u32> {
        match &self.tasks {
            TargetTasks::All => task_info::all(),
            TargetTasks::Processes(pids) => pids.iter().flat_map(|pid| task_info::threads(*pid)).collect(),
            TargetTasks::Group(_) => self.newcomers(monotonic_ns()),
        }
    }

    /// Numbers of the tasks that moved into the cgroup since this was last called: no event reports that.
    pub(super) fn newcomers(&mut self, now_ns: u64) -> Vec<u32> {
        let TargetTasks::Group(folder) = &self.tasks else { return Vec::new() };
        if self.looked_ns > 0 && now_ns.saturating_sub(self.looked_ns) < LOOK_EVERY_NS {
            return Vec::new();
        }
        self.looked_ns = now_ns;
        let there: HashSet<u32> = task_info::in_folder(folder).into_iter().collect();
        let new = there.difference(&self.found).copied().collect();
        self.found = there;
        new
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self.tasks, TargetTasks::All)
    }

    /// Whether there is still something to record; of a command, its caller knows.
    pub(super) fn alive(&self) -> bool {
        match &self.tasks {
            TargetTasks::All => true,
            TargetTasks::Processes(pids) => pids.iter().any(|pid| task_info::exists(*pid)),
            TargetTasks::Group(folder) => folder.exists(),
        }
    }
}
