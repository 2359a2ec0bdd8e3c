//! What the simulated machine is given to do: tasks, their programs, and the objects they meet at.

use crate::program::Program;
use serde::{Deserialize, Serialize};
use swtch_units::CpuId;

/// Tasks and objects. Everything refers to everything by its place in these tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Its name in tables, such as `hackbench`.
    pub name: String,
    /// The programs.
    pub programs: Vec<Program>,
    /// The speeds of applications on each kind of core; empty: tasks run at the cores' own speeds.
    pub applications: Vec<Application>,
    /// The tasks that are there at the beginning or start later by themselves.
    pub tasks: Vec<TaskSpec>,
    /// Tasks that [`Op::Fork`](crate::program::Op::Fork) makes.
    pub templates: Vec<TaskSpec>,
    /// Pipes and sockets.
    pub pipes: Vec<Pipe>,
    /// How many locks there are.
    pub locks: u32,
    /// How many conditions there are.
    pub conditions: u32,
    /// Barriers.
    pub barriers: Vec<Barrier>,
    /// Teams that share loops.
    pub teams: Vec<Team>,
    /// The semaphores' first values.
    pub semaphores: Vec<u32>,
    /// Cgroups, each behind the one that it is in.
    pub cgroups: Vec<Cgroup>,
    /// When it ends at the latest, ns; without it, when the last task that counts has ended.
    pub duration_ns: Option<u64>,
}

/// The process of a template of which each fork makes a new process.
pub const NEW_PROCESS: u32 = u32::MAX;

/// A task before it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskSpec {
    /// Its name.
    pub name: String,
    /// Its process: tasks with the same number share an address space. Or [`NEW_PROCESS`].
    pub process: u32,
    /// What it does: a place in [`Workload::programs`].
    pub program: u32,
    /// The application it belongs to: a place in [`Workload::applications`].
    pub application: Option<u32>,
    /// Its nice value, -20 to 19.
    pub nice: i8,
    /// Its class among ordinary tasks.
    pub class: TaskClass,
    /// Its cgroup: a place in [`Workload::cgroups`]; none: the root.
    pub cgroup: Option<u32>,
    /// Its real-time priority, 1 to 99; the real-time policies serve higher ones first.
    pub priority: u8,
    /// The kernel's numbers of the CPUs it may use; empty: all.
    pub allowed: Vec<CpuId>,
    /// Memory that it uses between switches, bytes: what refilling the caches takes depends on it.
    pub working_set_bytes: u64,
    /// When it starts, ns.
    pub start_ns: u64,
    /// The run does not wait for its end.
    pub background: bool,
    /// One of the kernel's own threads: real-time policies serve it after all others, and schedulers in C know it (`PF_KTHREAD`).
    pub kernel_thread: bool,
}

/// A cgroup. The fair classes heed it, other policies do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroup {
    /// Its path below the root, such as `web/db`.
    pub name: String,
    /// The group that it is in, which stands before it; none: the root.
    pub parent: Option<u32>,
    /// Its weight, as version 1 has it (`cpu.shares`): 1024 is `cpu.weight` 100, and that of a task of nice 0.
    pub shares: u32,
    /// Its quota (`cpu.max`).
    pub quota: Option<Quota>,
}

/// A quota: so much time of CPUs a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Time of all CPUs together, ns.
    pub runtime_ns: u64,
    /// The period, ns.
    pub period_ns: u64,
}

/// The class of an ordinary task. The fair classes heed it; to other policies all tasks are [`Normal`](Self::Normal).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskClass {
    /// `SCHED_OTHER`.
    #[default]
    Normal,
    /// `SCHED_BATCH`: it preempts no other task when it wakes up.
    Batch,
    /// `SCHED_IDLE`: the least weight, and every other task preempts it.
    Idle,
}

/// The speeds of an application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// Work per ns by kind of core, 1024 for the reference.
    pub speeds: Vec<u32>,
}

/// A pipe or a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipe {
    /// How many bytes it holds; Linux's pipes hold 65,536.
    pub capacity_bytes: u32,
    /// What a message takes of that beyond its length: a buffer of a pipe takes a page, a message in a socket its header.
    pub overhead_bytes: u32,
    /// A socket: its calls take longer.
    pub socket: bool,
}

/// A barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// How many tasks meet.
    pub members: u32,
    /// How they wait.
    pub waiting: Waiting,
}

/// Tasks that share loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Team {
    /// How they wait for a loop.
    pub waiting: Waiting,
    /// How the one that opened a loop waits for its end.
    pub joining: Waiting,
    /// Whom the one that opens a loop calls.
    pub calls: Calls,
}

/// Whom the task that opens a loop calls to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Every worker.
    #[default]
    All,
    /// One, always the same, which calls the others when it comes to the loop.
    One,
}

/// How a task waits at a barrier, or for its team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// It sleeps.
    #[default]
    Block,
    /// It looks again and again, and lets others run in between (`sched_yield`), as OpenMP's passive spinning does.
    SpinYield,
    /// It looks again and again.
    Spin,
}

mod check;
mod kernel_threads;

pub(crate) use kernel_threads::KERNEL_THREADS;

/// A task's name without the numbers at its end: `receiver` of `receiver-3-7`.
pub(crate) fn stem(name: &str) -> &str {
    let mut stem = name;
    while let Some((before, number)) = stem.rsplit_once(['-', '/']) {
        if before.is_empty() || number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        stem = before;
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn numbers_at_the_end_of_names_do_not_part_tasks() {
        assert_eq!(stem("receiver-3-7"), "receiver");
        assert_eq!(stem("make/123"), "make");
        assert_eq!((stem("a-b"), stem("-7"), stem("7")), ("a-b", "-7", "7"));
    }
}
