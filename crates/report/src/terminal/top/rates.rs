//! What a task, a process or a cgroup did in a window, a second.

use serde::Serialize;
use swtch_cost::Range;
use swtch_trace::tables::InFront;

/// Rates of a task, or of several together. What the source does not see is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Voluntary switches a second.
    pub voluntary_per_s: f64,
    /// Involuntary switches a second.
    pub involuntary_per_s: f64,
    /// Direct cost of its switches as a share of one CPU.
    pub cost_share: Option<Range>,
    /// Direct cost of one of its switches, ns.
    pub cost_ns: Option<Range>,
    /// Share of one CPU that it ran on.
    pub cpu_share: f64,
    /// Time in run queues as a share of the time: 1 is one task that waits all the time.
    pub wait_share: Option<f64>,
    /// Median of one wait in the window, ns; of several tasks none.
    pub wait_p50_ns: Option<u64>,
    /// Nine waits of ten were at most this long, ns; of several tasks none.
    pub wait_p90_ns: Option<u64>,
    /// 99 waits of 100 were at most this long, ns; of several tasks a bound, the largest of theirs.
    pub wait_p99_ns: Option<u64>,
    /// Longest wait, ns.
    pub wait_max_ns: Option<u64>,
    /// Wake-ups a second.
    pub wakeups_per_s: Option<f64>,
    /// Moves to another CPU a second.
    pub migrations_per_s: Option<f64>,
}

impl Rates {
    /// Switches a second of both kinds.
    pub fn switches_per_s(&self) -> f64 {
        self.voluntary_per_s + self.involuntary_per_s
    }

    /// Both together.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let add = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        let switches = self.switches_per_s() + other.switches_per_s();
        let cost_share = self.cost_share.zip(other.cost_share).map(|(one, other)| one.plus(other));
        Self {
            voluntary_per_s: self.voluntary_per_s + other.voluntary_per_s,
            involuntary_per_s: self.involuntary_per_s + other.involuntary_per_s,
            cost_share,
            cost_ns: cost_share.filter(|_| switches > 0.0).map(|share| share.times(1e9 / switches)),
            cpu_share: self.cpu_share + other.cpu_share,
            wait_share: add(self.wait_share, other.wait_share),
            wait_p50_ns: None,
            wait_p90_ns: None,
            wait_p99_ns: self.wait_p99_ns.max(other.wait_p99_ns),
            wait_max_ns: self.wait_max_ns.max(other.wait_max_ns),
            wakeups_per_s: add(self.wakeups_per_s, other.wakeups_per_s),
            migrations_per_s: add(self.migrations_per_s, other.migrations_per_s),
        }
    }
}

/// The other task of a preemption or a wake-up, and how often a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskPair {
    /// The other task.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// Times a second.
    pub per_s: f64,
    /// Time that was waited for it, as a share of the time; of preemptions only.
    pub wait_share: Option<f64>,
}

/// What had the CPU that a task waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Behind {
    /// What it is.
    pub cause: InFront,
    /// The name of the tasks, where tasks had it.
    pub program: Option<String>,
    /// Time that was waited for it, as a share of the time.
    pub wait_share: f64,
}

impl Behind {
    /// Its name in a line.
    pub(super) fn name(&self) -> &str {
        match (self.cause, &self.program) {
            (InFront::Task, Some(program)) if program.is_empty() => "a task that was gone",
            (InFront::Task, Some(program)) => program,
            (InFront::Interrupt, _) => "interrupts",
            (InFront::Idle, _) => "an idle CPU",
            (InFront::Quota, _) => "its quota",
            _ => "not recorded",
        }
    }
}

/// A line of the table: a task, a process, or a cgroup.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TopRow {
    /// The task; of a process and a cgroup none.
    pub tid: Option<u32>,
    /// The process; of a cgroup none.
    pub pid: Option<u32>,
    /// Its name: of a process that of its first thread, of a cgroup its path.
    pub name: String,
    /// Path of its cgroup.
    pub cgroup: Option<String>,
    /// Name of its cgroup: the container, pod, unit, session or job. The path where that is of no known shape.
    pub cgroup_name: Option<String>,
    /// It is a thread of the kernel, or has nothing else.
    pub kernel_thread: bool,
    /// It was seen to end.
    pub ended: bool,
    /// Tasks in it.
    pub tasks: u64,
    /// What it did.
    pub rates: Rates,
    /// What had the CPU while it waited, the longest first. Absent if the source does not see single switches.
    pub behind: Option<Vec<Behind>>,
    /// The tasks that preempted it, the most frequent first. Absent if the source does not see preemptions.
    pub preempted_by: Option<Vec<TaskPair>>,
    /// The tasks that woke it, the most frequent first. Absent if the source does not see wake-ups.
    pub woken_by: Option<Vec<TaskPair>>,
}

impl TopRow {
    /// What makes a line the same one in the next window.
    pub(super) fn key(&self) -> RowKey {
        match (self.tid, self.pid) {
            (Some(tid), _) => RowKey::Task(tid),
            (None, Some(pid)) => RowKey::Process(pid),
            (None, None) => RowKey::Cgroup(self.name.clone()),
        }
    }

    /// The name in its line: of a cgroup that of what it holds.
    pub(super) fn title(&self) -> &str {
        let of_cgroup = self.cgroup_name.as_ref().filter(|_| self.tid.is_none() && self.pid.is_none());
        of_cgroup.unwrap_or(&self.name)
    }

    /// Whether it did anything.
    pub(super) fn is_active(&self) -> bool {
        self.rates.switches_per_s() > 0.0 || self.rates.cpu_share > 0.0
    }
}

/// The task, process, cgroup or CPU that a line shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowKey {
    Task(u32),
    Process(u32),
    Cgroup(String),
    Cpu(u32),
}
