//! Workloads by name: the benchmarks that schedulers are compared by.
//!
//! Each is a struct of parameters whose defaults are those of the program it stands for, where there is one.

mod build;
pub mod hackbench;
pub mod mix;
pub mod npb;
mod parameters;
pub mod ping_pong;
pub mod replay;
pub mod schbench;
pub mod spin;
#[cfg(test)]
pub(crate) mod tests;

pub use hackbench::Hackbench;
pub use mix::Mix;
pub use npb::Npb;
pub use parameters::{PARAMETERS, ParameterRow, with_parameters};
pub use ping_pong::PingPong;
pub use schbench::Schbench;
pub use spin::Spin;

use crate::error::SimError;
use crate::machine::Machine;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// The most tasks that a workload by name may have.
pub const MOST_TASKS: u64 = 1_000_000;

/// A workload's name and what it is, in one line.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadRow {
    /// The name.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
}

/// The table: a name, what it is, the type of its parameters, and how it is built from them for a machine.
macro_rules! workloads {
    ($($name:literal, $meaning:literal, $Parameters:ident => $build:expr;)+) => {
        /// All workloads by name.
        pub const WORKLOADS: &[WorkloadRow] = &[$(WorkloadRow { name: $name, meaning: $meaning }),+];

        /// A workload by name, with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Named {
            $(#[doc = $meaning] #[serde(rename = $name)] $Parameters($Parameters),)+
        }

        impl Named {
            /// The workload. `machine` is the one it will run on: the speeds of applications must match its kinds of core.
            ///
            /// # Errors
            /// When a parameter is out of range.
            pub fn build(&self, machine: &Machine) -> Result<Workload, SimError> {
                match self {
                    $(Self::$Parameters(parameters) => {
                        let build: fn(&$Parameters, &Machine) -> Result<Workload, SimError> = $build;
                        build(parameters, machine)
                    })+
                }
            }
        }
    };
}

workloads! {
    "hackbench", "groups of senders and receivers (perf bench sched messaging)", Hackbench => |own, _| own.build();
    "schbench", "message threads that hand requests to workers", Schbench => |own, _| own.build();
    "ping-pong", "pairs that send a message back and forth (perf bench sched pipe)", PingPong => |own, _| own.build();
    "npb", "a NAS Parallel Benchmark: threads that meet at barriers", Npb => |own, _| own.build();
    "mix", "applications with speeds of their own on each kind of core", Mix => Mix::build;
    "spin", "tasks that only compute", Spin => |own, _| own.build();
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
