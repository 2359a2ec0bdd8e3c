//! All metrics: their names, their meaning and their labels.

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// A sum that never goes back; its name ends in `_total`.
    Counter,
    /// A figure of the gauges.
    Gauge,
    /// A distribution in classes; its names end in `_bucket`, `_sum` and `_count`.
    Histogram,
}

/// A metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name without unit and ending.
    pub(crate) stem: &'static str,
    /// Its unit, at the end of the name: `seconds`, `bytes`.
    pub(crate) unit: Option<&'static str>,
    /// What it is.
    pub kind: FamilyKind,
    /// What distinguishes its series.
    pub labels: &'static [&'static str],
    /// What it means, in a sentence.
    pub help: &'static str,
}

impl Family {
    /// Its name as queries write it, without `_bucket`, `_sum` and `_count` of a distribution.
    pub fn name(&self) -> String {
        let mut name = self.stem.to_owned();
        if let Some(unit) = self.unit {
            name = format!("{name}_{unit}");
        }
        if self.kind == FamilyKind::Counter { name + "_total" } else { name }
    }
}

/// The kind of a metric and its unit.
type Shape = (FamilyKind, Option<&'static str>);

const COUNTER: Shape = (FamilyKind::Counter, None);
/// A counter of time, kept in nanoseconds and shown in seconds.
const TIME: Shape = (FamilyKind::Counter, Some("seconds"));
const GAUGE: Shape = (FamilyKind::Gauge, None);
const HISTOGRAM: Shape = (FamilyKind::Histogram, Some("seconds"));

macro_rules! families {
    ($($name:ident = $shape:expr, $stem:literal, $labels:expr, $help:literal;)*) => {
        $(pub(super) static $name: Family =
            Family { stem: $stem, unit: $shape.1, kind: $shape.0, labels: &$labels, help: $help };)*
        /// All metrics, in the order in which they are written.
        pub fn families() -> &'static [&'static Family] {
            static ALL: &[&Family] = &[$(&$name),*];
            ALL
        }
    };
}

families! {
    BUILD = GAUGE, "swtch_build_info", ["version"], "Always 1: the version of swtch.";
    RECORDER = GAUGE, "swtch_recorder_info", ["recorder", "why"],
        "Always 1: where the figures come from, and why from there.";
    UNAVAILABLE = GAUGE, "swtch_unavailable_info", ["what", "why"],
        "Always 1: a metric that this machine does not give, or a figure that has none. It is absent, not zero.";
    OBSERVED = TIME, "swtch_observed", [], "Time that was watched or recorded.";
    SWITCHES = COUNTER, "swtch_context_switches", ["kind"],
        "Context switches of the machine: voluntary and involuntary ones of tasks, and those from the idle task (from_idle). A switch to the idle task is one of the task's.";
    CPU_SWITCHES = COUNTER, "swtch_cpu_context_switches", ["cpu", "from"],
        "Context switches of a CPU, from a task or from the idle task.";
    COST = HISTOGRAM, "swtch_switch_cost", ["kind"],
        "Direct cost of switches, measured in place: to a thread of the same process, to another process, or from or to the idle task (from_or_to_idle).";
    ESTIMATE = TIME, "swtch_switch_cost_estimate", ["bound"],
        "CPU time that switches took, refilled caches included, by this machine's Profile: at least (low) and at most (high).";
    WAITS = HISTOGRAM, "swtch_run_queue_wait", [],
        "Waits of tasks in run queues, one for each time that a task came to a CPU. Time throttled by a quota is part of a wait.";
    RUN = TIME, "swtch_run", [], "CPU time of tasks.";
    WAIT = TIME, "swtch_wait", ["cause"],
        "Time that tasks could have run and did not, summed over tasks: another task had the CPU (cpu), a quota of their cgroup or one above it was used up (quota), or either of the two (unknown).";
    MIGRATIONS = COUNTER, "swtch_migrations", ["distance"],
        "Moves of tasks between CPUs, by the nearest cache that both share: same_l2, same_l3 or across.";
    FORKS = COUNTER, "swtch_forks", [], "Processes created.";
    THREADS_CREATED = COUNTER, "swtch_threads_created", [], "Threads created, those of new processes among them.";
    EXECS = COUNTER, "swtch_execs", [], "Programs executed.";
    EXITS = COUNTER, "swtch_exits", [], "Processes ended.";
    THREADS = GAUGE, "swtch_threads", [], "Threads that exist.";
    RUNNABLE = GAUGE, "swtch_runnable_threads", [], "Threads that run or wait to run.";
    BLOCKED = GAUGE, "swtch_blocked_threads", [], "Threads that wait for a disk.";
    LOST = COUNTER, "swtch_lost_events", ["what"], "Events that were lost, so that sums are too small by them.";
    REJECTED = COUNTER, "swtch_rejected_windows", ["figure"],
        "Intervals between two readings that were rejected, because one of their figures cannot be true. swtch_unavailable_info has the last reason (window).";
    BACKWARDS = COUNTER, "swtch_backward_counters", ["of"],
        "Counters of tasks, CPUs or the kernel that fell between two readings. What they gained is not known and counts as nothing.";
    CGROUP_INFO = GAUGE, "swtch_cgroup_info", ["cgroup", "kind", "name", "namespace", "pod", "container"],
        "Always 1: what a cgroup holds, by its path. A cgroup of no known shape has its path as its name. Join it to the others on instance and cgroup.";
    CGROUP_SWITCHES = COUNTER, "swtch_cgroup_context_switches", ["cgroup", "kind"],
        "Context switches of a cgroup's own tasks.";
    CGROUP_RUN = TIME, "swtch_cgroup_run", ["cgroup"], "CPU time of a cgroup's own tasks.";
    CGROUP_WAIT = TIME, "swtch_cgroup_wait", ["cgroup", "cause"],
        "The same of a cgroup's own tasks: another task had the CPU (cpu), a quota of the cgroup or one above it was used up (quota), or either (unknown).";
    CGROUP_WAITS = HISTOGRAM, "swtch_cgroup_run_queue_wait", ["cgroup"],
        "Waits of a cgroup's own tasks in run queues, one for each time that one came to a CPU; where a share of the time is seen, an estimate from it. Time throttled by a quota is part of a wait.";
    CGROUP_COST = TIME, "swtch_cgroup_switch_cost", ["cgroup"],
        "Direct cost of switches to a cgroup's own tasks, measured in place; where a share of the time is seen, an estimate from it.";
    CGROUP_THREADS = GAUGE, "swtch_cgroup_threads", ["cgroup"], "Threads that exist in a cgroup itself.";
    CGROUP_CPU = TIME, "swtch_cgroup_cpu", ["cgroup"],
        "CPU time of a cgroup and those below it, by its own files. Absent where cpu and cpuacct are two hierarchies and no cgroup of cpuacct has the same tasks. There is no sum of the others: it would count twice.";
    CGROUP_PERIODS = COUNTER, "swtch_cgroup_periods", ["cgroup"],
        "Periods of its quota in which a cgroup ran.";
    CGROUP_THROTTLED_PERIODS = COUNTER, "swtch_cgroup_throttled_periods", ["cgroup"],
        "Periods in which a cgroup's own quota was used up.";
    CGROUP_THROTTLED = TIME, "swtch_cgroup_throttled", ["cgroup"],
        "Time that a cgroup's own quota kept it from running, summed over CPUs: however many tasks waited on a CPU, it counts once.";
    CGROUP_PRESSURE = TIME, "swtch_cgroup_cpu_pressure", ["cgroup", "kind"],
        "Time in which some or all (full) tasks of a cgroup and those below it waited for a CPU. There is no sum of the others.";
    INTERRUPTS = COUNTER, "swtch_interrupts", ["line", "name"], "Hardware interrupts by line.";
    INTERRUPT_TIME = TIME, "swtch_interrupt", ["line", "name"], "Time in the handlers of hardware interrupts by line.";
    SOFTIRQS = COUNTER, "swtch_softirqs", ["kind"], "Soft interrupts by kind.";
    SOFTIRQ_TIME = TIME, "swtch_softirq", ["kind"], "Time in soft interrupts by kind.";
    CPU_TIME = TIME, "swtch_cpu", ["mode"],
        "Time of all CPUs by use: user, system, irq, softirq, idle, iowait, steal.";
    PRESSURE = TIME, "swtch_pressure", ["resource", "kind"],
        "Time in which some or all (full) tasks of the machine waited for cpu, memory, io or irq.";
    KERNEL_SWITCHES = COUNTER, "swtch_kernel_context_switches", [],
        "Context switches by the kernel's own count (ctxt in /proc/stat), to compare with swtch_context_switches.";
    KERNEL_INTERRUPTS = COUNTER, "swtch_kernel_interrupts", [],
        "Hardware interrupts by the kernel's own count (intr in /proc/stat).";
    KERNEL_FORKS = COUNTER, "swtch_kernel_forks", [],
        "Processes and threads created, by the kernel's own count (processes in /proc/stat).";
    OTLP_EXPORTS = COUNTER, "swtch_otlp_exports", ["outcome"],
        "Messages to --otlp: received (sent), refused for good (refused), or given up because newer ones waited (dropped).";
    OTLP_REJECTED = COUNTER, "swtch_otlp_rejected_points", [],
        "Figures in messages that were received which the receiver says it did not take.";
    KEPT = (FamilyKind::Gauge, Some("seconds")), "swtch_kept", [],
        "Time whose events are in memory, for a Trace of what just happened (serve --keep). Where memory is too little, it is shorter than what was asked for.";
    KEPT_MEMORY = (FamilyKind::Gauge, Some("bytes")), "swtch_kept_memory", [], "Memory of the events that are kept.";
    KEPT_DROPPED = COUNTER, "swtch_kept_events_dropped", [],
        "Events that were let go of before their time, because they left no memory for newer ones.";
    KEPT_LOST = COUNTER, "swtch_kept_events_lost", [],
        "Events that were lost before they could be kept, because a buffer of the kernel was full.";
    DUMPS = COUNTER, "swtch_dumps", ["cause"],
        "Traces of kept events that were written: a condition began to hold (condition), SIGUSR1 came (signal), or 'swtch dump' asked for one (request).";
    DUMPS_SUPPRESSED = COUNTER, "swtch_dumps_suppressed", ["reason"],
        "Traces that were not written: as many as --at-most allows were (rate), the directory would hold more than --dumps-bytes (bytes), nothing was kept yet (empty), or writing failed (failed).";
    RECORDER_CPU = TIME, "swtch_recorder_cpu", [],
        "CPU time of swtch itself, without what its programs in the kernel add to each switch.";
    RECORDER_MEMORY = (FamilyKind::Gauge, Some("bytes")), "swtch_recorder_memory", [], "Memory that swtch itself holds.";
    RECORDER_BPF_MEMORY = (FamilyKind::Gauge, Some("bytes")), "swtch_recorder_bpf_memory", [],
        "Memory of its programs in the kernel.";
    SAMPLED_SHARE = GAUGE, "swtch_sampled_share", [],
        "Share of the time in which every switch was seen: costs and the distribution of waits are estimates from it. Absent where all were seen.";
    SAMPLED_WINDOWS = GAUGE, "swtch_sampled_windows", [],
        "Windows in which every switch was seen, since swtch began.";
    SAMPLED_COST = (FamilyKind::Gauge, Some("seconds")), "swtch_sampled_switch_cost", ["bound"],
        "Confidence interval (95 %, by window) of the cost of all switches since swtch began: low, high. Absent with fewer than two windows.";
    RECORDER_SAMPLE = (FamilyKind::Gauge, Some("seconds")), "swtch_recorder_sample", [], "Time that the last snapshot took.";
}

/// All metrics as a table in Markdown: name, kind, labels, meaning.
///
/// ```
/// assert!(swtch_report::prometheus::reference().contains("| `swtch_context_switches_total` | counter | `kind` |"));
/// ```
pub fn reference() -> String {
    let mut text = String::from("| metric | kind | labels | meaning |\n| --- | --- | --- | --- |\n");
    for family in families() {
        let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
        let Family { kind, help, .. } = family;
        let kind = match kind {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
            FamilyKind::Histogram => "histogram",
        };
        text += &format!("| `{}` | {kind} | {} | {help} |\n", family.name(), labels.join(", "));
    }
    text
}
