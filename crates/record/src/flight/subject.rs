//! What a condition is about: tasks, those of a name, or those of a cgroup.

use std::fmt;

/// What a condition is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Subject {
    #[default]
    All,
    /// The tasks of a name.
    Task(String),
    /// The tasks of the cgroup with this path, and of those below it.
    Cgroup(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => Ok(()),
            Self::Task(name) => write!(formatter, " for task {name}"),
            Self::Cgroup(path) => write!(formatter, " for cgroup {path}"),
        }
    }
}
