//! The types of `swtch/study/2`. What was not measured is `None`, with its reason among `unavailable`.

use serde::{Deserialize, Serialize};
use swtch_topology::{Host, Unavailable};

/// The schema that is written now.
pub const SCHEMA: &str = "swtch/study/2";
/// The schema before it, which is read, too.
pub const OLDER: &str = "swtch/study/1";

/// Workloads run under many settings on one machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Study {
    /// [`SCHEMA`] or [`OLDER`].
    pub schema: String,
    /// What was studied: `ai`.
    pub kind: String,
    /// How it came about.
    pub provenance: StudyProvenance,
    /// The machine.
    pub host: Host,
    /// What the machine is called next to others.
    pub machine_name: String,
    /// Every run, those that failed among them.
    pub runs: Vec<Run>,
    /// The complete runs, by workload and settings.
    pub summaries: Vec<Summary>,
    /// What to change, with its evidence.
    pub advice: Vec<Advice>,
    /// Why settings could not be compared and what to do, in sentences.
    #[serde(default)]
    pub undecided: Vec<String>,
    /// What a search for the best settings found.
    #[serde(default)]
    pub tuned: Option<Tuned>,
    /// What recording cost, where that was tried.
    pub recording_overhead: Option<Overhead>,
    /// What could not be had of any run, and why.
    pub unavailable: Vec<Unavailable>,
}

impl Study {
    /// Whether an older swtch wrote it.
    pub fn is_older(&self) -> bool {
        self.schema != SCHEMA
    }

    /// The runs that did what was asked.
    pub fn complete(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.outcome == Outcome::Complete)
    }

    /// The runs that a summary is of.
    pub fn runs_of<'a>(&'a self, summary: &'a Summary) -> impl Iterator<Item = &'a Run> {
        let same = |run: &&Run| run.workload == summary.workload && run.settings == summary.settings;
        self.runs.iter().filter(same)
    }

    /// A summary of each workload, by number and name: of the settings that gave most images a second, if none of its runs was disturbed.
    /// Nothing is best among disturbed runs; then it is of the settings that ran first.
    pub fn chosen(&self) -> Vec<&Summary> {
        let throughput =
            |summary: &Summary| summary.images_per_second.map_or(0.0, |estimate| estimate.median);
        let met = |workload: &StudyWorkload| {
            self.summaries.iter().any(|summary| summary.workload == *workload && summary.disturbed > 0)
        };
        let mut chosen: Vec<&Summary> = Vec::new();
        for summary in &self.summaries {
            match chosen.iter_mut().find(|known| known.workload == summary.workload) {
                Some(known) if throughput(known) < throughput(summary) && !met(&summary.workload) => {
                    *known = summary;
                }
                Some(_) => {}
                None => chosen.push(summary),
            }
        }
        chosen.sort_by(|one, other| one.workload.cmp(&other.workload));
        chosen
    }
}

/// How a study came about.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StudyProvenance {
    /// Of the package that wrote it.
    pub swtch_version: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The command line.
    pub command: Vec<String>,
    /// What ran the workloads.
    pub runtime: Option<Runtime>,
}

/// What runs workloads.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Runtime {
    /// `onnxruntime`.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct StudyWorkload {
    /// Its number in the study that is followed.
    pub number: Option<u32>,
    /// Its name for people.
    pub name: String,
    /// Its name for files.
    pub slug: String,
    /// The figure of the study that it is in.
    pub group: String,
}

/// How it is run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Settings {
    /// Threads within an operator.
    pub threads: u32,
    /// Operators at once.
    pub inter_op_threads: u32,
    /// Whether threads that wait spin.
    pub spinning: bool,
    /// The CPUs that it is bound to.
    pub pinned: Option<String>,
    /// How many of it ran at once.
    pub co_located: u32,
    /// CPUs that it may use at most.
    pub cpu_quota: Option<f64>,
    /// Images at once.
    pub batch: u32,
    /// `cpu` or `cuda`.
    pub device: String,
    /// `stock`, or a sched_ext scheduler.
    pub scheduler: String,
}

impl Settings {
    /// What differs from the plainest way to run it, in words: `4 threads, blocking`.
    pub fn words(&self) -> String {
        let mut parts = vec![
            format!("{} {}", self.threads, if self.threads == 1 { "thread" } else { "threads" }),
            if self.spinning { "spinning" } else { "blocking" }.to_owned(),
        ];
        if self.inter_op_threads > 1 {
            parts.push(format!("{} operators at once", self.inter_op_threads));
        }
        parts.extend(self.pinned.as_ref().map(|cpus| format!("on CPUs {cpus}")));
        if self.co_located > 1 {
            parts.push(format!("{} at once", self.co_located));
        }
        parts.extend(self.cpu_quota.map(|cpus| format!("{cpus} CPUs at most")));
        if self.batch > 1 {
            parts.push(format!("batch {}", self.batch));
        }
        if self.device != "cpu" {
            parts.push(self.device.clone());
        }
        if self.scheduler != "stock" {
            parts.push(self.scheduler.clone());
        }
        parts.join(", ")
    }

    /// Whether both differ in nothing but their threads.
    pub fn differs_in_threads_only(&self, other: &Self) -> bool {
        Self { threads: other.threads, ..self.clone() } == *other
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It did what was asked.
    Complete,
    /// The workload failed.
    Crashed,
    /// It was not started: too little memory.
    Refused,
    /// It took too long.
    TimedOut,
    /// It was ended by a signal.
    Interrupted,
    /// Its figures contradict each other; it has none.
    Impossible,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Run {
    /// Its name.
    pub id: String,
    /// What ran.
    pub workload: StudyWorkload,
    /// How.
    pub settings: Settings,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, in a line, where it is not complete.
    pub error: Option<String>,
    /// Its Trace, a directory next to `study.json`.
    pub trace: Option<String>,
    /// Time measured, ns.
    pub duration_ns: Option<u64>,
    /// Units of work in that time.
    pub inferences: Option<u64>,
    /// Units of work at the same time, at most.
    #[serde(default)]
    pub concurrency: Option<u32>,
    /// Images a second.
    pub images_per_second: Option<f64>,
    /// Time of a unit of work.
    pub latency_ns: Option<Latency>,
    /// The most memory that was resident, bytes.
    pub peak_rss_bytes: Option<u64>,
    /// The most threads at a time.
    pub threads_peak: Option<u32>,
    /// The most processes at a time.
    pub processes_peak: Option<u32>,
    /// Switches of the workload's threads.
    #[serde(default)]
    pub switches: Option<SwitchCounts>,
    /// The share of latency that is run-queue wait, 0 to 1.
    #[serde(default)]
    pub wait_share_of_latency: Option<f64>,
    /// What it is between.
    #[serde(default)]
    pub wait_share_bounds: Option<Bounds>,
    /// For each unit of work.
    pub per_inference: Option<PerInference>,
    /// By the second.
    pub per_second: Option<PerSecond>,
    /// CPU time.
    pub cpu: Option<CpuUse>,
    /// What else went on, where it was too much.
    pub disturbed: Option<String>,
    /// Interrupts of the whole machine while it ran, by line.
    pub interrupts: Vec<Interrupt>,
    /// What changed while it ran.
    pub over_time: Option<OverTime>,
    /// What is missing, and why.
    pub unavailable: Vec<Unavailable>,
}

/// Time of a unit of work, ns.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Latency {
    /// Half took at most this.
    pub p50: f64,
    /// Nine of ten.
    pub p90: f64,
    /// Ninety-nine of a hundred.
    pub p99: f64,
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

/// Switches, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct SwitchCounts {
    /// A thread gave its CPU up.
    pub voluntary: u64,
    /// A thread was taken off its CPU.
    pub involuntary: u64,
}

/// What a share is between, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Bounds {
    /// At least.
    pub low: Option<f64>,
    /// At most.
    pub high: Option<f64>,
}

/// What a unit of work takes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct PerInference {
    /// Voluntary switches.
    pub voluntary: Option<f64>,
    /// Involuntary switches.
    pub involuntary: Option<f64>,
    /// Interrupts of the whole machine.
    pub interrupts: Option<f64>,
    /// CPU time, ns.
    pub cpu_ns: Option<f64>,
    /// Time in run queues, all threads together, ns.
    pub wait_ns: Option<f64>,
}

/// What happens in a second.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct PerSecond {
    /// Voluntary switches.
    pub voluntary: Option<f64>,
    /// Involuntary switches.
    pub involuntary: Option<f64>,
    /// Interrupts of the whole machine.
    pub interrupts: Option<f64>,
}

/// Where the time of the CPUs went while it ran: own, measuring, foreign, idle and stolen time add up to the window times the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct CpuUse {
    /// Share of the CPUs that it may use, 0 to 1.
    pub utilisation: Option<f64>,
    /// How long it was watched, ns. `None` in [`OLDER`] studies.
    #[serde(default)]
    pub window_ns: Option<u64>,
    /// CPUs that it may use.
    #[serde(default)]
    pub cpu_count: Option<u32>,
    /// Of the workload, ns.
    #[serde(default)]
    pub own_ns: Option<u64>,
    /// Of the recorder, ns.
    #[serde(default)]
    pub measuring_ns: Option<u64>,
    /// Of others, ns.
    pub foreign_ns: Option<u64>,
    /// Idle, ns.
    #[serde(default)]
    pub idle_ns: Option<u64>,
    /// Taken by the hypervisor, ns.
    pub steal_ns: Option<u64>,
    /// How far the sum may be from the whole, ns.
    #[serde(default)]
    pub tolerance_ns: Option<u64>,
}

impl CpuUse {
    /// The time of all CPUs in the window, ns.
    pub fn capacity_ns(&self) -> Option<u64> {
        Some(self.window_ns? * u64::from(self.cpu_count?))
    }

    /// A part of the time of all CPUs.
    pub fn share(&self, part_ns: Option<u64>) -> Option<f64> {
        let capacity_ns = self.capacity_ns().filter(|capacity_ns| *capacity_ns > 0)?;
        Some(part_ns? as f64 / capacity_ns as f64)
    }
}

/// An interrupt line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Interrupt {
    /// `hard` or `soft`.
    pub kind: Option<String>,
    /// The line.
    pub line: Option<String>,
    /// What it is.
    pub name: Option<String>,
    /// How often it came.
    pub count: Option<u64>,
}

/// What changed while a run went on: lists of the same length.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct OverTime {
    /// Since the beginning, ms.
    pub at_ms: Vec<f64>,
    /// Threads of the workload.
    pub threads: Vec<u32>,
    /// Its processes.
    pub processes: Vec<u32>,
    /// Share of the CPUs that it may use, 0 to 1.
    pub cpu_utilisation: Vec<Option<f64>>,
    /// Switches a second.
    pub switches_per_s: Vec<Option<f64>>,
    /// Interrupts of the whole machine a second.
    pub interrupts_per_s: Vec<Option<f64>>,
}

/// The median of several runs, and the interval between order statistics that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The interval's lower end.
    pub ci_low: f64,
    /// Its upper end.
    pub ci_high: f64,
    /// The probability with which it holds the median, 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
}

/// Runs of one workload under one setting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Summary {
    /// What ran.
    pub workload: StudyWorkload,
    /// How.
    pub settings: Settings,
    /// Complete runs.
    pub runs: u32,
    /// Of those, disturbed ones.
    pub disturbed: u32,
    /// Images a second.
    pub images_per_second: Option<Estimate>,
    /// Median time of a unit of work, ns.
    pub latency_p50_ns: Option<Estimate>,
    /// Its 99th percentile, ns.
    pub latency_p99_ns: Option<Estimate>,
    /// Voluntary switches in each.
    pub voluntary_per_inference: Option<Estimate>,
    /// Involuntary ones.
    pub involuntary_per_inference: Option<Estimate>,
    /// The share of a unit's time that its threads waited in run queues, 0 to 1.
    pub wait_share_of_latency: Option<Estimate>,
}

/// What to change.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Advice {
    /// For what.
    pub workload: StudyWorkload,
    /// In a sentence.
    pub text: String,
    /// How many times the throughput.
    pub ratio: Estimate,
    /// What it rests on. `None` in [`OLDER`] studies.
    #[serde(default)]
    pub evidence: Option<Evidence>,
}

/// What an advice rests on.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Evidence {
    /// Of the comparison alone.
    #[serde(default)]
    pub p_value: Option<f64>,
    /// After the correction for all comparisons of the study.
    #[serde(default)]
    pub p_adjusted: Option<f64>,
    /// What `p_adjusted` must not exceed.
    #[serde(default)]
    pub level: Option<f64>,
    /// Disturbed runs on both sides.
    pub disturbed: u32,
}

/// What a search for the best settings found.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Tuned {
    /// In a sentence.
    pub text: String,
    /// The best; `None` where runs were disturbed.
    pub best: Option<Summary>,
}

/// What recording cost.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Overhead {
    /// Throughput with the recorder to throughput without.
    pub throughput_ratio: Estimate,
    /// CPU time of an inference with the recorder to that without.
    #[serde(default)]
    pub cpu_ratio: Option<Estimate>,
    /// What the recorder's process took of the CPUs.
    #[serde(default)]
    pub recorder_cpu_share: Option<f64>,
    /// Pairs of runs.
    pub pairs: u32,
}
