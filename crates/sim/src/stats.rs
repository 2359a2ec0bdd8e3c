//! What is counted during a run. It does not grow with simulated time.

use crate::hook::HOOKS;
use swtch_trace::tables::CLASS_BITS;

/// Counts of durations, ns, in the classes that a Trace has: a quantile is off by 0.8 % at most. Memory does not grow with simulated time.
pub type Histogram = swtch_stats::Histogram<CLASS_BITS>;

/// Where the time of a CPU went, ns. The sum is the span of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Tasks' own work, their system calls included.
    pub run_ns: u64,
    /// Nothing to do.
    pub idle_ns: u64,
    /// The kernel switched, woke, and ran hooks.
    pub switch_ns: u64,
    /// The kernel waited for a run queue's lock.
    pub spin_ns: u64,
    /// Timer ticks.
    pub tick_ns: u64,
    /// Caches were refilled after others had used them or the task had moved.
    pub refill_ns: u64,
    /// Tasks looked whether a barrier had opened, without giving way.
    pub barrier_ns: u64,
}

impl CpuTimes {
    /// The sum, ns.
    pub fn sum_ns(&self) -> u64 {
        self.run_ns
            + self.idle_ns
            + self.switch_ns
            + self.spin_ns
            + self.tick_ns
            + self.refill_ns
            + self.barrier_ns
    }

    /// Adds another CPU's times.
    pub fn add(&mut self, other: &Self) {
        self.run_ns += other.run_ns;
        self.idle_ns += other.idle_ns;
        self.switch_ns += other.switch_ns;
        self.spin_ns += other.spin_ns;
        self.tick_ns += other.tick_ns;
        self.refill_ns += other.refill_ns;
        self.barrier_ns += other.barrier_ns;
    }
}

/// Calls of a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookStats {
    /// How often it was called.
    pub calls: u64,
    /// Time in it, waiting for locks included, ns.
    pub ns: u64,
    /// Of that, waiting for locks, ns.
    pub spin_ns: u64,
}

/// What a task went through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskStats {
    /// Switches it asked for.
    pub voluntary: u64,
    /// Switches it did not ask for.
    pub involuntary: u64,
    /// Times it was woken.
    pub wakeups: u64,
    /// Moves to another CPU.
    pub migrations: u64,
    /// When it started, ns.
    pub started_ns: u64,
    /// When it ended, ns; `None` if it had not.
    pub ended_ns: Option<u64>,
    /// Work it did, in units of 1/1024 ns on the reference core.
    pub work: u64,
    /// Its longest wait in a run queue, ns.
    pub longest_wait_ns: u64,
    /// Work by kind of core and time there, ns, where a machine has several.
    pub run_by_type_ns: Vec<u64>,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStats {
    /// By CPU.
    pub cpus: Vec<CpuTimes>,
    /// By task.
    pub tasks: Vec<TaskStats>,
    /// By [`Hook`](crate::hook::Hook).
    pub hooks: [HookStats; HOOKS],
    /// Times that tasks waited in run queues.
    pub waits: Histogram,
    /// Times between a request's beginning and end.
    pub requests: Histogram,
    /// Events that were simulated.
    pub events: u64,
    /// Switches from one task to another or to idle because the task blocked or ended.
    pub voluntary: u64,
    /// Switches from a task that could have gone on.
    pub involuntary: u64,
    /// Switches from the idle task.
    pub from_idle: u64,
    /// Migrations by [`Distance`](crate::machine::Distance).
    pub migrations: [u64; 6],
    /// Wake-ups.
    pub wakeups: u64,
    /// Ticks, those that were not simulated included.
    pub ticks: u64,
}

impl RunStats {
    /// Switches from a task: voluntary and involuntary ones.
    pub fn context_switches(&self) -> u64 {
        self.voluntary + self.involuntary
    }

    /// The times of all CPUs.
    pub fn times(&self) -> CpuTimes {
        let mut sum = CpuTimes::default();
        self.cpus.iter().for_each(|times| sum.add(times));
        sum
    }
}
