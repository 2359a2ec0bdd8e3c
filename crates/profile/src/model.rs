//! The types of `swtch/profile/2`.

use crate::vocabulary::{Access, Carrier, Class, Flag, Method, Rejection, Tasks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_topology::Host;
use swtch_topology::Placement;
use swtch_topology::host::CoreKind;

pub use swtch_topology::{Field, Unavailable};

/// The value of [`Profile::schema`].
pub const SCHEMA: &str = "swtch/profile/2";
/// The version before, which is still read: its `undisturbed` was called `low`.
pub const OLDER: &str = "swtch/profile/1";

/// What a context switch costs on one machine: every figure with its interval, its method and its circumstances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// Always `swtch/profile/2`.
    pub schema: String,
    /// How the figures came about.
    pub provenance: Provenance,
    /// The machine.
    pub host: Host,
    /// The clock the figures were taken with.
    pub clock: Clock,
    /// Direct cost c1 by method, tasks, placement and class.
    pub direct: Vec<Direct>,
    /// Total cost c2 and indirect cost c2 - c1 by array size, stride and access.
    pub total: Vec<Total>,
    /// The ring of processes, as lmbench's `lat_ctx` has it.
    pub ring: Vec<Ring>,
    /// The regions found in the curve of c2 over array size.
    pub regions: Vec<Region>,
    /// Where the regions' borders agree with the caches the machine reports.
    pub knees: Vec<Knee>,
    /// What a message through a pipe or a socket takes when no task has to be woken for it.
    #[serde(default)]
    pub messages: Vec<Message>,
    /// Other operations of the kernel, for scale.
    pub references: References,
    /// What disturbed the run.
    pub noise: Noise,
    /// What could not be measured, and why.
    pub unavailable: Vec<Unavailable>,
    /// File name of the batches' raw samples (Parquet), next to this file.
    pub samples: Option<String>,
}

impl Profile {
    /// The direct cost of a method between tasks of a kind, on a placement, in a class.
    pub fn direct_cost(
        &self,
        method: Method,
        tasks: Tasks,
        placement: Placement,
        class: Class,
    ) -> Option<&Direct> {
        self.direct.iter().find(|row| row.is_of(method, tasks, placement, class))
    }

    /// `performance core` or `efficiency core`: the kind of core that a direct cost on one CPU is of, where the machine has
    /// several kinds.
    pub fn core_of(&self, row: &Direct) -> Option<&'static str> {
        let [cpu] = row.cpus[..] else { return None };
        match self.host.cpus.iter().find(|known| known.id == cpu)?.kind {
            CoreKind::Uniform => None,
            CoreKind::Performance => Some("performance core"),
            CoreKind::Efficiency => Some("efficiency core"),
        }
    }
}

/// How the figures came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// `measured`; a simulated or hand-written profile says so here.
    pub source: String,
    /// Version of swtch that wrote it.
    pub swtch_version: String,
    /// When it was started, seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// `quick`, `default` or `full`.
    pub preset: String,
    /// Half-width of the 95 % interval that ends a condition, as a fraction of its median.
    pub precision: f64,
    /// Why the run ended: `complete`, `time-limit` or `interrupted`.
    pub ended: Ended,
    /// Fresh processes started, each with its own pages and pipes.
    pub launches: u32,
    /// Seed of the random order of conditions.
    pub order_seed: u64,
}

/// Why something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// A whole run: everything asked for was measured.
    Complete,
    /// A condition: its interval became narrow enough.
    Precision,
    /// The time was used up first.
    TimeLimit,
    /// Ctrl-C; what was complete is kept.
    Interrupted,
}

/// The clock the figures were taken with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// `tsc`, `cntvct` or `clock_gettime`.
    pub source: String,
    /// Its rate against CLOCK_MONOTONIC_RAW, in Hz; absent for clock_gettime.
    pub frequency_hz: Option<f64>,
    /// Half the width of the calibration's bracket, in parts per million; absent for clock_gettime.
    pub calibration_ppm: Option<f64>,
    /// Smallest step ever seen between two readings, ns.
    pub resolution_ns: f64,
    /// Time one reading takes, ns.
    pub overhead_ns: f64,
    /// Why a faster clock was not used.
    pub fallback_why: Option<String>,
}

/// A figure in nanoseconds with what is known about its spread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Median of the batches.
    pub median: f64,
    /// Lower end of the 95 % order-statistic interval of the median.
    pub ci_low: f64,
    /// Upper end of that interval.
    pub ci_high: f64,
    /// Mean of the batches.
    pub mean: f64,
    /// Smallest batch.
    pub min: f64,
    /// The cost on an undisturbed machine: the difference of the arms' low quantiles, divided by the switches.
    #[serde(alias = "low")]
    pub undisturbed: f64,
    /// Which quantile `undisturbed` takes, e.g. 0.05.
    #[serde(alias = "low_quantile")]
    pub undisturbed_quantile: f64,
    /// Coefficient of variation of the batches: standard deviation over mean.
    pub cov: f64,
    /// Batches that entered.
    pub batches: u32,
    /// Batches left out because something disturbed them.
    pub rejected: u32,
    /// Fresh processes the batches come from.
    pub launches: u32,
    /// Median of each fresh process's batches. Two profiles are compared by these: a difference counts only when it is larger
    /// than what one process and the next differ by.
    pub launch_medians: Vec<f64>,
    /// Repetitions (round trips, hops, calls) in one batch; the median over batches.
    pub batch_length: u32,
    /// Shapiro-Wilk: probability of so skewed a sample if batches were normal; absent below 3 batches.
    pub normality_p: Option<f64>,
    /// Correlation of a batch with the one before; absent below 3 batches.
    pub lag1_autocorrelation: Option<f64>,
    /// What ended the repetitions.
    pub ended: Ended,
    /// Warnings about this figure: `negative`, `noisy-host`, `unexpected-switch-count`, `few-batches`.
    pub flags: Vec<Flag>,
}

/// Direct cost c1: the same work with and without switches, per switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Direct {
    /// How the tasks hand the CPU to each other: `pipe`, `futex`, ...; `swtch measure --help` lists the methods.
    pub method: Method,
    /// `thread` or `process`.
    pub tasks: Tasks,
    /// `same-cpu`, `smt-sibling`, `shared-l2`, `shared-l3`, `same-package`, `other-package`, `other-core-kind` or `unpinned`.
    pub placement: Placement,
    /// CPUs the tasks were pinned to; empty when unpinned.
    pub cpus: Vec<u32>,
    /// `normal` or `fifo`.
    pub class: Class,
    /// c1: time per switch with the baseline subtracted.
    pub switch_cost_ns: Estimate,
    /// Time of one round trip, nothing subtracted.
    pub round_trip_ns: Estimate,
    /// Switches the kernel counted per round trip; absent where it does not count.
    pub switches_per_round_trip: Option<f64>,
    /// Of those, the share that was involuntary; absent where the kernel does not count.
    pub involuntary_share: Option<f64>,
    /// Switches per round trip that the method would make undisturbed.
    pub expected_switches_per_round_trip: f64,
    /// Median time of the same system calls without a switch, per switch.
    pub baseline_ns: f64,
}

impl Direct {
    fn is_of(&self, method: Method, tasks: Tasks, placement: Placement, class: Class) -> bool {
        (self.method, self.tasks, self.placement, self.class) == (method, tasks, placement, class)
    }

    /// Whether it is the c1 that c2 is compared with: of the pipe between processes on one CPU.
    pub fn is_c1(&self) -> bool {
        self.is_of(Method::Pipe, Tasks::Process, Placement::SameCpu, Class::Normal)
    }
}

/// Total cost c2 at one array size, stride and access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Total {
    /// Size of each task's own array.
    pub array_bytes: u64,
    /// Step between elements; equal to the element (8) for sequential.
    pub stride_bytes: u64,
    /// `read`, `write` or `read-modify-write`.
    pub access: Access,
    /// c2: time per switch, with one task's traversal of one array subtracted.
    pub total_cost_ns: Estimate,
    /// c2 - c1.
    pub indirect_cost_ns: Indirect,
    /// Median time of the baseline: one traversal, one write, one read.
    pub baseline_ns: f64,
    /// Switches the kernel counted per round trip; absent where it does not count.
    pub switches_per_round_trip: Option<f64>,
}

/// c2 - c1, with the two intervals' widths combined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Indirect {
    /// Difference of the medians.
    pub median: f64,
    /// Lower end of its interval.
    pub ci_low: f64,
    /// Upper end of its interval.
    pub ci_high: f64,
    /// Difference of the undisturbed figures.
    #[serde(alias = "low")]
    pub undisturbed: f64,
}

/// One point of the ring's surface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ring {
    /// Processes in the ring.
    pub processes: u32,
    /// Size of each process's own array; 0 for none.
    pub array_bytes: u64,
    /// Time of a hop less that of a hop in one process through the same pipes.
    pub switch_cost_ns: Estimate,
    /// Median time of the baseline's hop.
    pub baseline_ns: f64,
    /// Switches the kernel counted per hop; absent where it does not count.
    pub switches_per_hop: Option<f64>,
}

/// A stretch of the curve of c2 over array size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// First array size, bytes.
    pub from_bytes: u64,
    /// Last array size, bytes.
    pub to_bytes: u64,
    /// What happens there.
    pub kind: RegionKind,
}

/// The three regions of Li, Ding and Shen (ExpCS 2007, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RegionKind {
    /// Both arrays fit: the curve is flat.
    Fits,
    /// One array fits and both do not: the curve rises.
    Interferes,
    /// One task alone misses too: the difference no longer grows.
    Exceeds,
}

/// A border found in the curve, and the nearest cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// Array size at which the curve turns, bytes.
    pub array_bytes: u64,
    /// `rise` or `plateau`.
    pub kind: String,
    /// Level of the cache nearest to it, when one is near.
    pub cache_level: Option<u32>,
    /// That cache's size, bytes.
    pub cache_bytes: Option<u64>,
    /// Array size at which that cache predicts the border: half of it for a rise, all of it for a plateau.
    pub predicted_bytes: Option<u64>,
    /// Whether the two lie within a factor of two of each other.
    pub agrees: bool,
}

/// The time of a message through a pipe or a socket, one write and one read, when no task has to be woken. All messages
/// are written, then all are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// `pipe` or `socket`.
    pub carrier: Carrier,
    /// Where the writer and the reader run: `same-cpu` (one task does both), `shared-l3`, ...
    pub placement: Placement,
    /// The CPUs, of the writer and of the reader.
    pub cpus: Vec<u32>,
    /// Pipes or sockets that are written before the first is read.
    pub channels: u32,
    /// Messages in each.
    pub depth: u32,
    /// Length of a message, bytes.
    pub message_bytes: u64,
    /// One write and one read, ns; between CPUs with a share of handing over, which all messages of a round have in common.
    pub message_ns: Estimate,
    /// On one CPU: the part of that which is the write. Profiles of before December 2026 do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_share: Option<f64>,
    /// Between CPUs: the same by one task on the writer's, batch by batch next to it, ns.
    pub one_cpu_ns: Option<f64>,
}

impl Message {
    /// What it is, in words: `message, pipe, shared-l3, 16 x 1`.
    pub fn name(&self) -> String {
        format!("message, {}, {}, {} x {}", self.carrier, self.placement, self.channels, self.depth)
    }
}

/// Other operations of the kernel, for scale.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct References {
    /// One `getppid`.
    pub syscall_ns: Option<Estimate>,
    /// fork, `_exit` in the child, wait for it. The process is small: large pieces of its memory are kept from the child.
    pub fork_ns: Option<Estimate>,
    /// Create a thread that returns at once, join it.
    pub thread_create_ns: Option<Estimate>,
}

/// What disturbed the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Batches measured in all.
    pub batches: u32,
    /// Batches left out of the estimates.
    pub rejected: u32,
    /// Batches left out, by reason.
    pub reasons: Vec<NoiseReason>,
    /// Time the hypervisor gave to others on the CPUs used, as a share of the run; absent where it is not counted.
    pub steal_share: Option<f64>,
    /// Time other tasks ran on the CPUs used, as a share of the run.
    pub foreign_share: Option<f64>,
    /// Spread of a fixed spin loop over the run (coefficient of variation): the machine's own noise.
    pub spin_cov: Option<f64>,
    /// Time the run's cgroup was throttled, ns; absent where it is not counted.
    pub throttled_ns: Option<u64>,
    /// What the kernel's own threads did while one task computed; absent where they cannot be seen, or did nothing.
    #[serde(default)]
    pub kernel_threads: Option<KernelThreads>,
}

/// What the kernel's own threads did while one task computed, on all CPUs together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelThreads {
    /// How often one of them came to a CPU in a second.
    pub runs_per_second: f64,
    /// How long it stayed there on average, ns.
    pub mean_run_ns: f64,
}

impl Noise {
    /// Time of the CPUs used that other tasks and the hypervisor took, as a share of the run. Time that was not counted is left out.
    ///
    /// ```
    /// let noise = swtch_profile::model::Noise { foreign_share: Some(0.2), ..Default::default() };
    /// assert_eq!(noise.taken_share(), 0.2);
    /// ```
    pub fn taken_share(&self) -> f64 {
        self.foreign_share.unwrap_or(0.0) + self.steal_share.unwrap_or(0.0)
    }
}

/// One reason for leaving batches out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseReason {
    /// `foreign-cpu-time`, `slow-clock`, `migrated` or `switch-count`.
    pub reason: Rejection,
    /// How many.
    pub batches: u32,
}
