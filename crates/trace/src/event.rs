//! Events of the scheduler, whatever source saw them: the one vocabulary of all sources.

use crate::tables::SchedPolicy;
use swtch_units::CpuList;

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A CPU went from one task to another.
    Switch(Switch),
    /// A task was made runnable.
    Wake(Wake),
    /// A task was made, renamed, or ended.
    Life(Life),
    /// Interrupts took time of a CPU.
    Interrupts(Interrupts),
    /// CPUs are idle, or are no longer, where a source that does not see all switches says so.
    Idle(Idle),
}

impl Event {
    /// When it happened, ns of CLOCK_MONOTONIC.
    pub fn at_ns(&self) -> u64 {
        match self {
            Self::Switch(switch) => switch.at_ns,
            Self::Wake(wake) => wake.at_ns,
            Self::Life(life) => life.at_ns,
            Self::Interrupts(interrupts) => interrupts.at_ns,
            Self::Idle(idle) => idle.at_ns,
        }
    }
}

/// A context switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// When the scheduler was entered, ns.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// The task that left; 0 is the idle task.
    pub prev_tid: u32,
    /// The task that came; 0 is the idle task.
    pub next_tid: u32,
    /// The state of the task that left.
    pub prev_state: PrevState,
    /// The scheduler was entered to preempt, not because the task asked.
    pub preempted: bool,
    /// Whether the address space changed, where the source says.
    pub address_space_changed: Option<bool>,
    /// From the scheduler's entry to its exit, ns, where it was measured.
    pub cost_ns: Option<u32>,
    /// The kernel's own counts of the one that left, from before this switch.
    pub prev_counts: Option<Counts>,
    /// This CPU made switches without an event since the last one: when the task that leaves came is not known.
    pub after_gap: bool,
    /// An interrupt was served between the scheduler's entry and its exit; its time is in `cost_ns`.
    pub interrupted: bool,
    /// Whether the quota of a cgroup stopped the task that left, where the source says.
    pub throttled: Option<bool>,
    /// Whether the task that left, and could go on, was waiting on its CPU, where the source says.
    pub spinning: Option<Spinning>,
}

/// How a task that could go on used its CPU when it lost it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spinning {
    /// It worked, as far as that can be seen.
    No,
    /// It waited in a loop: its next instruction was near one that tells the CPU so, such as `pause`.
    Loop,
    /// It waited by `sched_yield`.
    Yield,
}

impl Switch {
    /// A switch of which no more is known: neither cost nor counts, nor whether the address space changed.
    pub fn bare(at_ns: u64, cpu: u32, prev_tid: u32, next_tid: u32, prev_state: PrevState) -> Self {
        Self {
            at_ns,
            cpu,
            prev_tid,
            next_tid,
            prev_state,
            preempted: false,
            address_space_changed: None,
            cost_ns: None,
            prev_counts: None,
            after_gap: false,
            interrupted: false,
            throttled: None,
            spinning: None,
        }
    }

    /// When the scheduler was left, as far as that was measured: when the task that comes runs, ns.
    pub fn left_ns(&self) -> u64 {
        self.at_ns.saturating_add(self.cost_ns.unwrap_or(0).into())
    }

    /// Whether this looks like a voluntary switch of the task that left. The kernel's counts, where there are any, decide: a task whose
    /// sleep is cut off by a signal counts as having asked.
    pub fn looks_voluntary(&self) -> bool {
        !self.preempted && self.prev_state != PrevState::Runnable
    }
}

/// Low bits of the kernel's counts of a task's switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// `nvcsw`.
    pub voluntary: u32,
    /// `nivcsw`.
    pub involuntary: u16,
}

/// In which state a task left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrevState {
    /// It could go on: it was preempted, or it yielded.
    Runnable,
    /// It waits and can be interrupted.
    Sleeping,
    /// It waits, for the disk most often, and cannot be interrupted.
    Uninterruptible,
    /// It is gone for good.
    Dead,
    /// Stopped, traced, parked.
    Other,
}

impl PrevState {
    /// From `task_struct.__state` (include/linux/sched.h, v6.18).
    pub fn from_kernel(state: u32) -> Self {
        match state {
            0 => Self::Runnable,
            state if state & 0x80 != 0 => Self::Dead,
            state if state & 0x1 != 0 => Self::Sleeping,
            state if state & 0x2 != 0 => Self::Uninterruptible,
            _ => Self::Other,
        }
    }
}

/// A wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When, ns.
    pub at_ns: u64,
    /// The CPU it was ordered on.
    pub cpu: u32,
    /// The task that is woken.
    pub wakee_tid: u32,
    /// The task that woke it; none for an interrupt.
    pub waker_tid: Option<u32>,
    /// The task was just made.
    pub new: bool,
}

/// Time in interrupts on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupts {
    /// Until when, ns.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// How long interrupts had it, ns.
    pub ns: u64,
    /// In how much time until then, ns.
    pub over_ns: u64,
}

/// Which CPUs are idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// When, ns.
    pub at_ns: u64,
    /// One bit for each of the first 64 CPUs.
    pub cpus: u64,
}

/// How the scheduler treats a task, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Its policy.
    pub policy: Option<SchedPolicy>,
    /// Its nice value.
    pub nice: Option<i32>,
    /// Its real-time priority, where it has one.
    pub realtime_priority: Option<u32>,
    /// The CPUs that it may use.
    pub cpus: Option<CpuList>,
}

/// Something in the life of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// When, ns.
    pub at_ns: u64,
    /// The task.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Its parent process.
    pub parent_pid: u32,
    /// Its name, at most 15 bytes.
    pub comm: String,
    /// It has no user space.
    pub kernel_thread: bool,
    /// The number of its cgroup, that of the directory's inode, where the source says.
    pub group: Option<u64>,
    /// How it is scheduled.
    pub scheduling: Scheduling,
    /// What happened.
    pub kind: LifeKind,
}

/// What happened in the life of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeKind {
    /// It was made.
    Fork,
    /// It took another program.
    Exec,
    /// It ends; only its last switch is still to come.
    Exit,
    /// It took another name, and goes on with its program.
    Name,
    /// It exists, and is not recorded itself: it had the CPU while a recorded task waited.
    Seen,
}
