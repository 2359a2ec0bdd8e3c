//! Whose switches are recorded, as far as it is known beforehand.

use crate::known;
use crate::options::Target;
use crate::system::Cgroup;
use std::path::PathBuf;

/// The tasks of a target.
#[derive(Debug)]
pub(super) enum Members {
    All,
    Processes(Vec<u32>),
    Group(PathBuf),
}

impl Members {
    pub(super) fn of(target: &Target, group: Option<&Cgroup>) -> Self {
        match (target, group) {
            (Target::Machine, _) => Self::All,
            (Target::Cgroup(_), Some(group)) => Self::Group(PathBuf::from(&group.folder)),
            (Target::Processes(pids), _) => Self::Processes(pids.clone()),
            (Target::Command(_) | Target::Cgroup(_), _) => Self::Processes(Vec::new()),
        }
    }

    /// A process that was started since.
    pub(super) fn add(&mut self, pid: u32) {
        if let Self::Processes(pids) = self {
            pids.push(pid);
        }
    }

    /// Numbers of the tasks that are there now.
    pub(super) fn tids(&self) -> Vec<u32> {
        match self {
            Self::All => known::all(),
            Self::Processes(pids) => pids.iter().flat_map(|pid| known::threads(*pid)).collect(),
            Self::Group(folder) => known::in_folder(folder),
        }
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Whether there is still something to record.
    pub(super) fn alive(&self) -> bool {
        match self {
            Self::All => true,
            Self::Processes(pids) => pids.iter().any(|pid| known::exists(*pid)),
            Self::Group(folder) => folder.exists(),
        }
    }
}
