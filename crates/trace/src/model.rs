//! The types of the header, `swtch/trace/3`.
//!
//! Times are in nanoseconds. A figure that is `None` is unavailable and has its reason in [`Header::unavailable`]; it is never zero
//! in that case.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use swtch_topology::Host;

mod totals;

pub use swtch_topology::{Field, Unavailable};

/// The value of [`Header::schema`].
pub const SCHEMA: &str = "swtch/trace/3";
/// The version before it, which is still read: its tasks have neither policy, nice value nor CPUs, and it has no table of waits.
pub const SCHEMA_2: &str = "swtch/trace/2";
/// The first version, which is still read: `tasks.cold_switch_ins` was `tasks.displaced` in it.
pub const SCHEMA_1: &str = "swtch/trace/1";

/// What is known about a whole run: how it came about, its totals, what is missing, and which tables there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Always `swtch/trace/3`.
    pub schema: String,
    /// How the Trace came about.
    pub provenance: Provenance,
    /// The machine, real or simulated.
    pub host: Host,
    /// What was recorded.
    pub scope: Scope,
    /// Exit status of the command; absent without one, or when it had not ended. A signal counts as 128 plus its number.
    pub exit_status: Option<i32>,
    /// What `swtch probe` found for this command before; absent where it has not been probed on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<ProbedRefill>,
    /// Length of the recording.
    pub duration_ns: u64,
    /// Sums over the whole run.
    pub totals: Totals,
    /// Our counts next to the kernel's.
    pub reconciliation: Vec<Reconciliation>,
    /// Events that were lost, by CPU and kind; empty when none were.
    pub lost: Vec<Lost>,
    /// Where each column came from, such as `tasks.wait_ns` from `bpf`.
    pub sources: BTreeMap<String, String>,
    /// The figures that are estimates from windows of time, such as `totals.switch_cost_ns`; empty where every switch was seen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sampled: BTreeMap<String, Sampled>,
    /// What recording itself took.
    pub recorder: RecorderCost,
    /// What could not be recorded, and why.
    pub unavailable: Vec<Unavailable>,
    /// The tables that are there. Kept by [`Writer`](crate::Writer); a table that is not named has no rows.
    pub tables: Vec<Table>,
}

impl Header {
    /// Whether the source says that it does not have a figure.
    pub fn lacks(&self, field: &Field) -> bool {
        Unavailable::reason_in(&self.unavailable, field).is_some()
    }

    /// The table of this name; absent where the Trace has none.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// How many events were lost.
    pub fn lost_events(&self) -> u64 {
        self.lost.iter().fold(0, |sum, row| sum.saturating_add(row.events))
    }

    /// A header for a run that has just begun: no totals, no tables.
    ///
    /// ```
    /// use swtch_trace::model::{Header, Provenance, Scope};
    /// let header = Header::new(Provenance::default(), swtch_topology::Host::default(), Scope::Machine);
    /// assert_eq!(header.schema, "swtch/trace/3");
    /// ```
    pub fn new(provenance: Provenance, host: Host, scope: Scope) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            provenance,
            host,
            scope,
            exit_status: None,
            probed: None,
            duration_ns: 0,
            totals: Totals::default(),
            reconciliation: Vec::new(),
            lost: Vec::new(),
            sources: BTreeMap::new(),
            sampled: BTreeMap::new(),
            recorder: RecorderCost::default(),
            unavailable: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// Says that a figure is missing, and why. Names that programs use are in [`fields`](crate::fields).
    pub fn miss(&mut self, field: Field, reason: impl Into<String>) {
        self.unavailable.push(Unavailable::new(field, reason));
    }

    /// Says that these figures are missing, for one reason.
    pub fn miss_all(&mut self, fields: impl IntoIterator<Item = Field>, reason: &str) {
        self.unavailable.extend(fields.into_iter().map(|field| Unavailable::new(field, reason)));
    }

    /// Says where a table or a column comes from.
    pub fn set_source(&mut self, what: &str, source: &str) {
        self.sources.insert(what.to_owned(), source.to_owned());
    }
}

/// The most that refilling caches after a switch costs a command, by intervention.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbedRefill {
    /// What `swtch probe` ran: the name of the program.
    pub program: String,
    /// When, seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// The most memory that was touched between, bytes.
    pub displaced_bytes: u64,
    /// The upper end of what an interruption then took beyond one that touches nothing, ns.
    pub refill_high_ns: f64,
}

/// How a figure was sampled in time: it was counted in windows only, and scaled to the whole by the kernel's exact counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampled {
    /// The share of the time that the windows took.
    pub share: f64,
    /// How many windows there were.
    pub windows: u64,
    /// The lower end of its confidence interval (95 %, clustered by window), in its own unit; absent for a column, and with fewer than two windows.
    pub ci_low: Option<f64>,
    /// The upper end likewise.
    pub ci_high: Option<f64>,
}

/// How a Trace came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Recorded, imported or simulated: the only thing that tells such Traces apart.
    pub origin: Origin,
    /// Version of swtch that wrote it.
    pub swtch_version: String,
    /// The source: `bpf-events`, `bpf-counts`, `perf`, `procfs`, a simulator or a file's format.
    pub recorder: String,
    /// Why this source was chosen.
    pub why: String,
    /// The scheduling policy of a simulated Trace, as `swtch simulate --policies` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// When it was started, nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// The same moment by CLOCK_MONOTONIC, ns; the tables' times count from it.
    pub started_monotonic_ns: u64,
    /// Why it ended.
    pub ended: Ended,
}

/// Where a Trace comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Recorded on a running kernel.
    #[default]
    Recorded,
    /// Converted from another tool's file.
    Imported,
    /// Made by the simulator.
    Simulated,
}

/// Why a recording ended. [`Display`](fmt::Display) puts it in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its recorder did not finish: it is still running, or it was killed. What it had written can be read; the small tables may
    /// then be a few seconds newer than the header's totals.
    #[default]
    Recording,
    /// The command ended by itself, or the source was exhausted.
    Complete,
    /// The time asked for was over.
    Duration,
    /// Ctrl-C or a termination signal.
    Interrupted,
    /// The disk became full; the Trace ends there.
    DiskFull,
    /// The processes or the cgroup that were recorded ended.
    TargetGone,
    /// The recorder failed.
    Failed,
}

impl fmt::Display for Ended {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Recording => "its recorder did not finish",
            Self::Complete => "complete",
            Self::Duration => "the time asked for was over",
            Self::Interrupted => "it was interrupted",
            Self::DiskFull => "the disk became full",
            Self::TargetGone => "what was recorded went away",
            Self::Failed => "its recorder failed",
        })
    }
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Scope {
    /// A command and all its descendants.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Its process.
        pid: u32,
    },
    /// Running processes and their descendants.
    Processes {
        /// The processes asked for.
        pids: Vec<u32>,
    },
    /// A cgroup and those below it.
    Cgroup {
        /// Its path below the hierarchy's root, such as `/system.slice/nginx.service`.
        path: String,
    },
    /// Every task on the machine.
    Machine,
}

/// Sums over the whole run, within the scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Context switches.
    pub context_switches: SwitchTotals,
    /// Moves of tasks between CPUs.
    pub migrations: MigrationTotals,
    /// Wake-ups.
    pub wakeups: Option<u64>,
    /// Time of CPUs.
    pub cpu_ns: CpuTime,
    /// Processes.
    pub processes: ProcessTotals,
    /// Threads created, those of new processes among them.
    pub threads_created: Option<u64>,
    /// What the quota of the cgroup took; absent without a quota or where it is not counted.
    pub throttled: Option<Throttled>,
    /// Pressure stall information, by resource; empty where the kernel has none.
    pub pressure: Vec<Pressure>,
    /// Direct cost of all switches, measured in place and summed.
    pub switch_cost_ns: Option<u64>,
}

/// Context switches by kind. A switch from or to the idle task is work of no task and is kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchTotals {
    /// The task blocked or slept.
    pub voluntary: Option<u64>,
    /// The task could have gone on: it was preempted or its slice was over.
    pub involuntary: Option<u64>,
    /// From the idle task.
    pub idle: Option<u64>,
}

/// Migrations by the nearest cache that the two CPUs share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationTotals {
    /// Within a level 2 cache.
    pub same_l2: Option<u64>,
    /// Within a level 3 cache, not a level 2 cache.
    pub same_l3: Option<u64>,
    /// Between CPUs that share neither.
    pub across: Option<u64>,
}

/// Time of CPUs by use, ns, as `/proc/stat` divides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// In programs.
    pub user: Option<u64>,
    /// In the kernel, for programs.
    pub system: Option<u64>,
    /// In hardware interrupts.
    pub irq: Option<u64>,
    /// In soft interrupts.
    pub softirq: Option<u64>,
    /// With nothing to do.
    pub idle: Option<u64>,
    /// Given by the hypervisor to others.
    pub steal: Option<u64>,
    /// Idle while a task waited for a device.
    pub iowait: Option<u64>,
}

/// Processes that came and went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessTotals {
    /// Created.
    pub forked: Option<u64>,
    /// Programs executed.
    pub execs: Option<u64>,
    /// Ended.
    pub exited: Option<u64>,
    /// Most that existed at once.
    pub peak: Option<u64>,
}

/// What a cgroup's quota took, as `cpu.stat` counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throttled {
    /// Periods in which the group wanted to run.
    pub periods: u64,
    /// Of those, the ones in which it was stopped.
    pub throttled_periods: u64,
    /// Time it was stopped, ns, summed over CPUs.
    pub throttled_ns: u64,
}

/// Pressure stall information of one resource over the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// `cpu`, `memory`, `io` or `irq`.
    pub resource: String,
    /// Time in which at least one task waited for it, ns.
    pub some_ns: Option<u64>,
    /// Time in which all tasks that were not idle waited for it, ns.
    pub full_ns: Option<u64>,
}

/// One of our counts next to the kernel's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reconciliation {
    /// What was counted, such as `context switches`.
    pub what: String,
    /// Our count.
    pub counted: u64,
    /// The kernel's.
    pub kernel: u64,
    /// Where the kernel's stands, such as `/proc/stat ctxt`.
    pub source: String,
}

impl Reconciliation {
    /// Our count less the kernel's.
    ///
    /// ```
    /// use swtch_trace::model::Reconciliation;
    /// let row = Reconciliation { counted: 990, kernel: 1000, ..Reconciliation::default() };
    /// assert_eq!((row.difference(), row.share()), (-10, Some(0.99)));
    /// ```
    pub fn difference(&self) -> i64 {
        let difference = i128::from(self.counted) - i128::from(self.kernel);
        difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// Our count as a share of the kernel's; absent when the kernel counted none.
    pub fn share(&self) -> Option<f64> {
        (self.kernel > 0).then(|| self.counted as f64 / self.kernel as f64)
    }
}

/// Events that were lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// The CPU; absent when it is not known.
    pub cpu: Option<u32>,
    /// How many.
    pub events: u64,
    /// Which events, and where they were lost.
    pub what: String,
}

/// What recording itself took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecorderCost {
    /// CPU time of the recorder's own process while it recorded, ns.
    pub cpu_ns: Option<u64>,
    /// CPU time of its programs in the kernel, ns.
    pub bpf_ns: Option<u64>,
    /// Most memory it held, kernel maps included.
    pub memory_bytes: Option<u64>,
}

/// A table that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Its name, such as `tasks`.
    pub name: String,
    /// Its rows, in all files.
    pub rows: u64,
    /// Its files within the directory, in order.
    pub files: Vec<String>,
}

#[cfg(test)]
mod tests;
