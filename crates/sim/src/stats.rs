//! What is counted during a run. It does not grow with simulated time.

use crate::hook::HOOKS;
use serde::Serialize;
use swtch_trace::tables::CLASS_BITS;

/// Counts of durations, ns, in the classes that a Trace has: a quantile is off by 0.8 % at most. Memory does not grow with simulated time.
pub type Histogram = swtch_stats::Histogram<CLASS_BITS>;

/// A distribution of times, ns. A percentile is the middle of the class that holds it, off by 0.8 % at most. Absent without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Durations {
    /// How many.
    pub count: u64,
    /// The median.
    pub p50: Option<u64>,
    /// Nine of ten are at most this long.
    pub p90: Option<u64>,
    /// 99 of 100 are at most this long.
    pub p99: Option<u64>,
    /// The longest.
    pub max: Option<u64>,
}

impl Durations {
    /// Of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        Self {
            count: histogram.count(),
            p50: histogram.quantile(0.5),
            p90: histogram.quantile(0.9),
            p99: histogram.quantile(0.99),
            max: histogram.max(),
        }
    }
}

/// Where the time of a CPU, or of all, went, ns. The sum is the span of the run, for each CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuTimes {
    /// Tasks' own work, their system calls included.
    #[serde(rename = "run")]
    pub run_ns: u64,
    /// Nothing to do.
    #[serde(rename = "idle")]
    pub idle_ns: u64,
    /// The kernel switched, woke, and ran hooks.
    #[serde(rename = "switch")]
    pub switch_ns: u64,
    /// The kernel waited for a run queue's lock.
    #[serde(rename = "spin")]
    pub spin_ns: u64,
    /// Timer ticks.
    #[serde(rename = "tick")]
    pub tick_ns: u64,
    /// Caches were refilled after others had used them or the task had moved.
    #[serde(rename = "refill")]
    pub refill_ns: u64,
    /// Tasks looked whether a barrier had opened, or their team had work, without giving way.
    #[serde(rename = "barrier")]
    pub barrier_ns: u64,
}

impl CpuTimes {
    /// Time in tasks, refilling caches and looking at barriers among it, ns.
    pub(crate) fn user_ns(&self) -> u64 {
        self.run_ns + self.refill_ns + self.barrier_ns
    }

    /// Time in switches, spinning for locks among it, ns.
    pub(crate) fn system_ns(&self) -> u64 {
        self.switch_ns + self.spin_ns
    }

    /// With its name, each use, in the order of tables.
    pub fn parts(&self) -> [(&'static str, u64); 7] {
        [
            ("run", self.run_ns),
            ("idle", self.idle_ns),
            ("switch", self.switch_ns),
            ("spin", self.spin_ns),
            ("tick", self.tick_ns),
            ("refill", self.refill_ns),
            ("barrier", self.barrier_ns),
        ]
    }

    /// The sum, ns.
    pub fn sum_ns(&self) -> u64 {
        self.parts().iter().map(|(_, ns)| ns).sum()
    }

    /// Part of the sum; 0 of nothing.
    pub fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.sum_ns().max(1) as f64
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

/// What a cgroup went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupStats {
    /// Time of its tasks and of those in groups below it on CPUs, ns.
    pub run_ns: u64,
    /// Periods of its quota in which anything of it ran.
    pub periods: u64,
    /// Of those, the ones at whose end it was throttled on a CPU.
    pub throttled_periods: u64,
    /// For how long it was throttled, summed over CPUs, ns.
    pub throttled_ns: u64,
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
    /// By cgroup, where the policy knows them.
    pub cgroups: Vec<CgroupStats>,
    /// Times that tasks waited in run queues.
    pub waits: Histogram,
    /// Times between a request's beginning and end.
    pub requests: Histogram,
    /// Times between an answer and the beginning of the request that it lets a task begin.
    pub answers: Histogram,
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
        let sum = |of: fn(&CpuTimes) -> u64| self.cpus.iter().map(of).sum();
        CpuTimes {
            run_ns: sum(|times| times.run_ns),
            idle_ns: sum(|times| times.idle_ns),
            switch_ns: sum(|times| times.switch_ns),
            spin_ns: sum(|times| times.spin_ns),
            tick_ns: sum(|times| times.tick_ns),
            refill_ns: sum(|times| times.refill_ns),
            barrier_ns: sum(|times| times.barrier_ns),
        }
    }
}
