//! What a sampling yields.

use swtch_trace::model::Unavailable;

/// A thread, from its first sample (or its birth, when that was later than the beginning) to its last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampledThread {
    /// Its number.
    pub tid: u32,
    /// The process it is of.
    pub pid: u32,
    /// The parent of the process, at the last sample; 0 is the kernel, or a parent outside this container.
    pub parent_pid: u32,
    /// Its name, at the last sample.
    pub comm: String,
    /// Whether it is one of the kernel's own.
    pub kernel_thread: bool,
    /// The path of its control group, when it was last looked for; it is looked for less often than the rest.
    pub group: Option<String>,
    /// Its state at the last sample, as in `ps`: `R` running or ready, `S` asleep, `D` waiting for a disk, `Z` ended.
    pub state: char,
    /// When the first sample saw it, on the monotonic clock, ns.
    pub first_ns: u64,
    /// When the last sample saw it.
    pub last_ns: u64,
    /// Whether it ended before the recording did. Then what it did after its last sample is not in these figures, unless
    /// that saw it after its end (state `Z`).
    pub ended: bool,
    /// Whether the figures are from its birth on.
    pub since_birth: bool,
    /// The samples that saw it.
    pub samples: u64,
    /// Switches because it had to wait for something.
    pub voluntary: Option<u64>,
    /// Switches because something else was to run.
    pub involuntary: Option<u64>,
    /// Time on a processor, ns; in ticks of 10 ms where the kernel has no `schedstat`.
    pub run_ns: Option<u64>,
    /// Time it was ready and waited for a processor, ns.
    pub wait_ns: Option<u64>,
    /// Times it got a processor.
    pub timeslices: Option<u64>,
    /// Time in programs, in ticks of 10 ms, ns.
    pub user_ns: Option<u64>,
    /// Time in the kernel, in ticks of 10 ms, ns.
    pub system_ns: Option<u64>,
    /// Moves from one processor to another, as the kernel counted them.
    pub migrations: Option<u64>,
    /// Samples that found it on another processor than the one before: a lower bound of the migrations.
    pub migrations_at_least: u64,
}

/// What the threads did between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interval {
    /// When it began, on the monotonic clock, ns.
    pub at_ns: u64,
    /// How long it was, ns.
    pub length_ns: u64,
    /// Switches because a thread had to wait for something.
    pub voluntary: Option<u64>,
    /// Switches because something else was to run.
    pub involuntary: Option<u64>,
    /// Time on processors, ns; in ticks of 10 ms where the kernel has no `schedstat`.
    pub run_ns: Option<u64>,
    /// Time ready and waiting for a processor, ns; a wait counts when it ends.
    pub wait_ns: Option<u64>,
    /// Time in programs, in ticks of 10 ms, ns.
    pub user_ns: Option<u64>,
    /// Time in the kernel, in ticks of 10 ms, ns.
    pub system_ns: Option<u64>,
    /// Migrations as the kernel counted them.
    pub migrations: Option<u64>,
    /// Threads at its end.
    pub threads: u64,
    /// Processes at its end.
    pub processes: u64,
    /// Threads that ran or were ready to at its end.
    pub runnable: u64,
    /// Threads that were new at its end.
    pub threads_new: u64,
}

/// A whole sampling.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Collected {
    /// Every thread that a sample saw, by process and number; a number that was used twice is there twice.
    pub threads: Vec<SampledThread>,
    /// What happened between each two samples. The first sample alone has no interval.
    pub intervals: Vec<Interval>,
    /// The most processes at one sample.
    pub processes_peak: u64,
    /// The most threads at one sample.
    pub threads_peak: u64,
    /// Threads that were created, of the whole machine only: the kernel's count.
    pub threads_created: Option<u64>,
    /// Those of them that no sample saw.
    pub threads_unseen: Option<u64>,
    /// How many samples were taken.
    pub samples: u64,
    /// The time between two samples in the end, ns.
    pub period_ns: u64,
    /// Processor time that the sampling took, ns.
    pub own_cpu_ns: u64,
    /// The same for one thread at one sample, ns.
    pub own_cpu_per_thread_ns: Option<u64>,
    /// What is missing above, and why.
    pub unavailable: Vec<Unavailable>,
}
