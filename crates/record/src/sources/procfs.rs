//! Sampling of `/proc`: sees the switches of single threads without any privilege, where neither BPF nor perf is permitted.
//!
//! The kernel keeps the counters itself, so what a thread did between two samples is not lost. Two things are lost: a thread that came
//! and went between two samples, and what a thread did after the last sample of its life. [`Collected::unavailable`] says so.
//!
//! This source has no wake-up pairs, no preemption pairs, no single waits or slices, and no switches of CPUs.

#![forbid(unsafe_code)]

mod collected;
mod counters;
mod members;
mod reading;
mod sampler;
#[cfg(test)]
mod tests;
mod tracked;
mod verdict;

pub(crate) use collected::Collected;
pub(crate) use counters::Counters;
pub(crate) use sampler::{Sampled, Sampler};

use crate::system::Cgroup;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Whose threads to sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SampleTarget {
    /// A process and all that descend from it. A process whose parent died before any sample saw it is missed.
    Descendants {
        /// The process.
        pid: u32,
        /// Whether everything since the birth of the process counts: for a command that was started for this recording.
        /// Otherwise counting begins with the first sample.
        since_birth: bool,
    },
    /// These processes, without their children.
    Processes(Vec<u32>),
    /// The threads of a cgroup and of all groups below it.
    Cgroup(Cgroup),
    /// Every thread that can be seen from here.
    Machine,
}

/// Why a sampling could not begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProcfsError {
    /// No such directory, or no permission.
    #[error("cannot read {}: {source}; is procfs mounted there?", path.display())]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A process that was asked for is not there.
    #[error("no process {pid}; it has ended, or it is in another container or of another user")]
    NoProcess {
        /// The process.
        pid: u32,
    },
    /// The cgroup that was asked for is not there.
    #[error("cannot list the threads of cgroup {group}: {source}; was it removed?")]
    NoCgroup {
        /// The group's directory.
        group: String,
        /// The system's reason.
        source: io::Error,
    },
}
