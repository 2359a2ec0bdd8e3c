//! What building workloads has in common.

use super::{MOST_TASKS, Tasks, Transport};
use crate::costs::SOCKET_OVERHEAD_BYTES;
use crate::error::SimError;
use crate::program::{Op, Program};
use crate::workload::{Pipe, TaskSpec, Workload};

/// A struct of parameters as a specification has them, with the default of each behind its type.
macro_rules! with_defaults {
    ($(#[$about:meta])* pub struct $Name:ident {
        $($(#[$meta:meta])* pub $field:ident: $Type:ty = $default:expr,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $Name {
            $($(#[$meta])* pub $field: $Type,)+
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }
    };
}
pub(super) use with_defaults;

impl Transport {
    /// An empty one.
    pub(crate) fn pipe(self) -> Pipe {
        match self {
            // 16 buffers of a page; short messages share a page, of which 40 of 100 bytes leave 96 unused (fs/pipe.c, Linux 6.18).
            Self::Pipe => Pipe { capacity_bytes: 65_536, overhead_bytes: 2, socket: false },
            // net.core.wmem_default is 212,992 on a 64-bit kernel.
            Self::Socket => {
                Pipe { capacity_bytes: 212_992, overhead_bytes: SOCKET_OVERHEAD_BYTES, socket: true }
            }
        }
    }

    /// Instructions of `pipe` and of `socketpair`, counted in a guest of Linux 7.3.4 (x86-64).
    pub(super) fn making_instructions(self) -> u32 {
        match self {
            Self::Pipe => 3_695,
            Self::Socket => 7_720,
        }
    }
}

impl Tasks {
    /// The process of the task with this number.
    pub(super) fn process_of(self, task: u32) -> u32 {
        match self {
            Self::Threads => 0,
            Self::Processes => task,
        }
    }
}

/// Adds steps that are done `times` times, using a loop counter of the task; `times` 0 is for ever.
pub(crate) fn repeat(ops: &mut Vec<Op>, times: u32, counter: u8, body: impl FnOnce(&mut Vec<Op>)) {
    let to = ops.len() as u32;
    body(ops);
    if times != 1 {
        ops.push(Op::Loop { to, times, counter });
    }
}

impl Workload {
    /// Adds a program; its place.
    pub(crate) fn add_program(&mut self, ops: Vec<Op>) -> u32 {
        self.programs.push(Program { ops });
        self.programs.len() as u32 - 1
    }

    /// Adds a pipe; its place.
    pub(super) fn add_pipe(&mut self, channel: Transport) -> u32 {
        self.pipes.push(channel.pipe());
        self.pipes.len() as u32 - 1
    }

    /// Adds a task that is there from the beginning.
    pub(super) fn add_task(&mut self, name: String, program: u32, tasks: Tasks, working_set_bytes: u64) {
        let process = tasks.process_of(self.tasks.len() as u32);
        self.tasks.push(TaskSpec { name, process, program, working_set_bytes, ..TaskSpec::default() });
    }

    /// Adds the task that makes those of the templates, with its steps.
    pub(super) fn add_maker(&mut self, name: &str, ops: Vec<Op>, tasks: Tasks, working_set_bytes: u64) {
        let program = self.add_program(ops);
        self.add_task(name.to_owned(), program, tasks, working_set_bytes);
        self.tasks[0].process = tasks.process_of(self.templates.len() as u32);
    }
}

/// Refuses counts of zero.
pub(super) fn at_least_one(workload: &str, counts: &[(&str, u32)]) -> Result<(), SimError> {
    match counts.iter().find(|(_, count)| *count == 0) {
        None => Ok(()),
        Some((what, _)) => Err(SimError::of_workload(workload, format!("{what} is 0; expected at least 1"))),
    }
}

/// Refuses more tasks than anybody means.
pub(super) fn at_most(workload: &str, tasks: u64) -> Result<(), SimError> {
    if tasks <= MOST_TASKS {
        return Ok(());
    }
    Err(SimError::of_workload(workload, format!("{tasks} tasks; expected at most {MOST_TASKS}")))
}
