//! What is measured: one [`Condition`] is one figure-to-be.

use crate::traversal::Pattern;
use std::fmt;
use swtch_profile::vocabulary::{Carrier, Class, HandOff, Method, Tasks};
use swtch_topology::Placement;

/// An operation measured for scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// `getppid`.
    Syscall,
    /// fork, `_exit`, wait, of a small process.
    Fork,
    /// Thread create and join.
    ThreadCreate,
}

/// The work of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Tasks handing the CPU to each other.
    Switch {
        /// How.
        method: Method,
        /// Between what.
        tasks: Tasks,
        /// How many tasks: 2, or a ring's length.
        count: u32,
        /// What each task does when it has been woken.
        pattern: Pattern,
    },
    /// Messages that are written and then read, without a switch: on two CPUs by a task on each, on one by one task.
    Messages {
        /// Through what.
        carrier: Carrier,
        /// Pipes or sockets.
        channels: u32,
        /// Messages in each before it is read.
        depth: u32,
    },
    /// An operation measured for scale.
    Reference(Reference),
}

/// One figure-to-be: the work, where it runs and in which class.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What is done.
    pub work: Work,
    /// Where, by name.
    pub placement: Placement,
    /// Where, by number: task i is pinned to `cpus[i % len]`; empty for unpinned.
    pub cpus: Vec<u32>,
    /// In which class.
    pub class: Class,
}

impl Condition {
    /// Switches per round (round trip or lap) that the method makes when nothing disturbs it.
    pub fn expected_switches_per_round(&self) -> f64 {
        match self.work {
            Work::Switch { count, .. } => f64::from(count),
            Work::Messages { .. } | Work::Reference(_) => 0.0,
        }
    }

    /// Runs of the baseline's operation that one round contains.
    pub fn baseline_operations_per_round(&self) -> f64 {
        match self.work {
            Work::Switch { method, .. } if method.facts().hand_off == HandOff::Ring => 1.0,
            Work::Switch { .. } => 2.0,
            Work::Messages { .. } if self.cpus.len() > 1 => 1.0,
            Work::Messages { .. } | Work::Reference(_) => 0.0,
        }
    }

    /// Messages that a round writes and reads; 1 where the work sends none.
    pub fn messages_per_round(&self) -> f64 {
        match self.work {
            Work::Messages { channels, depth, .. } => f64::from(channels) * f64::from(depth),
            _ => 1.0,
        }
    }

    /// Bytes that all the tasks' arrays take together.
    pub fn memory_bytes(&self) -> u64 {
        match self.work {
            Work::Switch { count, pattern, .. } => u64::from(count) * pattern.array_bytes,
            Work::Messages { .. } | Work::Reference(_) => 0,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.work {
            Work::Switch { method, tasks, count, pattern } => {
                write!(f, "{method}, {count} {}", tasks.plural())?;
                if pattern.array_bytes > 0 {
                    write!(
                        f,
                        ", {} each ({}, stride {})",
                        swtch_units::Bytes::new(pattern.array_bytes),
                        pattern.access,
                        pattern.stride_bytes
                    )?;
                }
            }
            Work::Messages { carrier, channels, depth } => {
                write!(f, "messages, {channels} {}s of {depth}", carrier.name())?;
            }
            Work::Reference(Reference::Syscall) => f.write_str("system call")?,
            Work::Reference(Reference::Fork) => f.write_str("fork + exit + wait")?,
            Work::Reference(Reference::ThreadCreate) => f.write_str("thread create + join")?,
        }
        write!(f, ", {}, {}", self.placement, self.class.name())
    }
}
