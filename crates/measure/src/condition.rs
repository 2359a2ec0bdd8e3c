//! What is measured: one [`Condition`] is one figure-to-be.

use crate::traversal::Pattern;
use std::fmt;
use std::str::FromStr;
use swtch_topology::Placement;

/// How two or more tasks hand the processor to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Two pipes, one byte (Ousterhout 1990; Li, Ding, Shen 2007).
    Pipe,
    /// A flag, a mutex and a condition variable (Bendersky 2018).
    Condvar,
    /// Two futex words.
    Futex,
    /// Two eventfds.
    Eventfd,
    /// A token round a ring of pipes (McVoy & Staelin 1996, `lat_ctx`).
    Ring,
    /// The ring whose token is a running sum of process ids, checked (Yao 2022).
    PidSumRing,
    /// Two tasks that yield to each other.
    Yield,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 7] =
        [Self::Pipe, Self::Condvar, Self::Futex, Self::Eventfd, Self::Ring, Self::PidSumRing, Self::Yield];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Condvar => "condvar",
            Self::Futex => "futex",
            Self::Eventfd => "eventfd",
            Self::Ring => "ring",
            Self::PidSumRing => "pid-sum-ring",
            Self::Yield => "yield",
        }
    }

    /// The kinds of task it is defined for.
    pub fn tasks(self) -> &'static [Tasks] {
        match self {
            Self::Condvar => &[Tasks::Thread],
            Self::PidSumRing => &[Tasks::Process],
            _ => &[Tasks::Thread, Tasks::Process],
        }
    }

    /// Whether it means anything with the tasks on this placement.
    pub fn works_on(self, placement: Placement) -> bool {
        self != Self::Yield || placement == Placement::SameCpu
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|method| method.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|method| method.name()).collect();
            format!("unknown method '{text}'; the methods are {}", names.join(", "))
        })
    }
}

/// What is switched between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tasks {
    /// Threads of one process: the address space stays.
    Thread,
    /// Processes: the address space changes.
    Process,
}

impl Tasks {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Process => "process",
        }
    }
}

/// The scheduling class of the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// `SCHED_OTHER`.
    Normal,
    /// `SCHED_FIFO`.
    Fifo,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 2] = [Self::Normal, Self::Fifo];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Fifo => "fifo",
        }
    }
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|class| class.name() == text)
            .ok_or_else(|| format!("unknown class '{text}'; write normal or fifo"))
    }
}

/// An operation measured for scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// `getppid`.
    Syscall,
    /// fork, `_exit`, wait.
    Fork,
    /// Thread create and join.
    ThreadCreate,
}

/// What messages go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// A pipe.
    Pipe,
    /// A stream socket of the family `AF_UNIX`.
    Socket,
}

impl Carrier {
    /// Each of them.
    pub const ALL: [Self; 2] = [Self::Pipe, Self::Socket];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Socket => "socket",
        }
    }
}

/// The work of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Tasks handing the processor to each other.
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
    /// Messages that are written and then read, without a switch: on two processors by a task on each, on one by one task.
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
            Work::Switch { method: Method::Yield, .. } => 2.0,
            Work::Switch { count, .. } => f64::from(count),
            Work::Messages { .. } | Work::Reference(_) => 0.0,
        }
    }

    /// Runs of the baseline's operation that one round contains.
    pub fn baseline_operations_per_round(&self) -> f64 {
        match self.work {
            Work::Switch { method: Method::Ring | Method::PidSumRing, .. } => 1.0,
            Work::Switch { .. } => 2.0,
            Work::Messages { .. } if self.cpus.len() > 1 => 1.0,
            Work::Messages { .. } | Work::Reference(_) => 0.0,
        }
    }

    /// Messages that a round writes and reads; 1 for what is no message.
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
                let plural = match tasks {
                    Tasks::Thread => "threads",
                    Tasks::Process => "processes",
                };
                write!(f, "{method}, {count} {plural}")?;
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
