//! Workloads by name: the benchmarks that schedulers are compared by.
//!
//! Each is a struct of parameters whose defaults are those of the program it stands for, where there is one.

mod build;
pub mod hackbench;
pub mod mix;
pub mod npb;
pub mod ping_pong;
pub mod replay;
pub mod schbench;
pub mod spin;
#[cfg(test)]
pub(crate) mod tests;

pub use hackbench::Hackbench;
pub use mix::Mix;
pub use npb::Npb;
pub use ping_pong::PingPong;
pub use schbench::Schbench;
pub use spin::Spin;

use crate::error::SimError;
use crate::machine::Machine;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// The names of workloads, with what each is.
pub const NAMES: [(&str, &str); 6] = [
    ("hackbench", "groups of senders and receivers (perf bench sched messaging)"),
    ("schbench", "message threads that hand requests to workers"),
    ("ping-pong", "pairs that send a message back and forth (perf bench sched pipe)"),
    ("npb", "a NAS Parallel Benchmark: threads that meet at barriers"),
    ("mix", "applications with speeds of their own on each kind of core"),
    ("spin", "tasks that only compute"),
];

/// The most tasks that a workload by name may have.
pub const MOST_TASKS: u64 = 1_000_000;

/// A workload by name, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Named {
    /// [`Hackbench`].
    Hackbench(Hackbench),
    /// [`Schbench`].
    Schbench(Schbench),
    /// [`PingPong`].
    PingPong(PingPong),
    /// [`Npb`].
    Npb(Npb),
    /// [`Mix`].
    Mix(Mix),
    /// [`Spin`].
    Spin(Spin),
}

impl Named {
    /// The workload. `machine` is the one it will run on: the speeds of applications must match its kinds of core.
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn build(&self, machine: &Machine) -> Result<Workload, SimError> {
        match self {
            Self::Hackbench(hackbench) => hackbench.build(),
            Self::Schbench(schbench) => schbench.build(),
            Self::PingPong(ping_pong) => ping_pong.build(),
            Self::Npb(npb) => npb.build(),
            Self::Mix(mix) => mix.build(machine),
            Self::Spin(spin) => spin.build(),
        }
    }
}

/// How tasks that work together share memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tasks {
    /// Threads of one process.
    Threads,
    /// A process each.
    #[default]
    Processes,
}

/// What messages go through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Pipes.
    Pipe,
    /// Connected Unix stream sockets.
    #[default]
    Socket,
}
