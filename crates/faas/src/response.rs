//! The types of `swtch/faas/2`: what a handler measured in one invocation. What was not measured is `None`, with its reason among
//! `unavailable`. Times are nanoseconds, costs are for one switch.
//!
//! A handler answers with batches and intervals; [`crate::figures`] adds the figures. `swtch/faas/1` of swtch 0.1.0 has figures only.

use crate::Estimate;
use crate::quota::Interval;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use swtch_topology::Unavailable;

/// The schema that this version reads.
pub const SCHEMA: &str = "swtch/faas/2";

/// The schema of swtch 0.1.0, whose handlers made the figures themselves.
pub const OLD_SCHEMA: &str = "swtch/faas/1";

/// The answer of a handler.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Response {
    /// [`SCHEMA`].
    pub schema: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// What answered.
    pub handler: Handler,
    /// Where it ran.
    pub platform: Platform,
    /// Which invocation of its process it was.
    pub invocation: Invocation,
    /// The machine, as the function sees it.
    pub host: Host,
    /// The parameters as they were understood.
    #[serde(default)]
    pub request: Map<String, Value>,
    /// Each method.
    pub measurements: Vec<Measurement>,
    /// The clock.
    pub clock: Option<Clock>,
    /// The share of CPUs received.
    pub cpu: Option<CpuReceived>,
    /// How it was stopped.
    pub throttling: Option<Throttling>,
    /// A fixed amount of work, where it was asked for.
    pub work: Option<Work>,
    /// What is missing, and why.
    #[serde(default)]
    pub unavailable: Vec<Unavailable>,
}

/// What answered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Handler {
    /// Its version.
    pub version: String,
    /// `python`, `node`, `go`, `java` or `rust`.
    pub language: String,
    /// What runs the language: `CPython`.
    pub runtime: Option<String>,
    /// Its version.
    pub runtime_version: Option<String>,
    /// `glibc` or `musl`.
    pub libc: Option<String>,
}

/// Where a function ran.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Platform {
    /// `lambda`, `gcf`, `knative`, `openfaas` or `local`.
    pub name: String,
    /// Its memory tier, MB.
    pub memory_mb: Option<u64>,
    /// CPUs that the platform says it has.
    pub cpus: Option<f64>,
    /// How that is known.
    pub source: Option<String>,
}

/// Which invocation it was.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Invocation {
    /// Of this process, from 1.
    pub number: u64,
    /// Whether it was the first.
    pub cold: bool,
}

/// The machine, as the function sees it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Host {
    /// `x86_64`.
    pub architecture: String,
    /// Of the kernel, or of what stands in for it.
    pub kernel_release: String,
    /// The CPU.
    pub cpu_model: Option<String>,
    /// CPUs that are online.
    pub cpus_online: Option<u32>,
    /// CPUs that the function may use.
    pub cpus_allowed: Option<u32>,
    /// The memory that it may use.
    pub memory_limit_bytes: Option<u64>,
    /// `gvisor` or `firecracker`.
    pub sandbox: Option<String>,
}

/// What a method found.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Measurement {
    /// `pipe`, `condvar`, `ring` ...
    pub method: String,
    /// `threads` or `processes`.
    pub tasks: String,
    /// How many.
    pub task_count: u32,
    /// Whether the tasks were bound to one CPU.
    pub pinned: bool,
    /// Which.
    pub cpu: Option<u32>,
    /// Switches in a batch.
    pub switches_per_batch: u64,
    /// Batches.
    pub batches: u64,
    /// Why no more: `interval`, `time limit` or `batch limit`.
    pub stopped_by: String,
    /// With what passing the message costs.
    pub gross_ns: Option<Estimate>,
    /// Passing the message alone.
    pub baseline_ns: Option<Estimate>,
    /// The switch: the difference, batch by batch. It may be negative, which is noise.
    pub net_ns: Option<Estimate>,
    /// Switches really made.
    pub switches: Option<SwitchCount>,
    /// Whether the batches are normally distributed.
    pub normality: Option<Normality>,
    /// Autocorrelation of neighbouring batches.
    pub lag1: Option<f64>,
    /// Whether every task was passed through.
    pub check: Option<Check>,
    /// What the figures are made of.
    pub batches_ns: Option<Batches>,
}

/// Times of whole batches, in order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Batches {
    /// With the switches.
    pub gross: Vec<u64>,
    /// The baseline of each.
    pub baseline: Vec<u64>,
}

/// Switches really made.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SwitchCount {
    /// Counted for each that was expected.
    pub per_expected: Option<f64>,
}

/// A test for normality.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Normality {
    /// `shapiro-wilk`.
    #[serde(default)]
    pub test: String,
    /// Its statistic.
    #[serde(default)]
    pub w: f64,
    /// Its p-value.
    pub p: f64,
    /// Whether normality was not rejected.
    pub normal: bool,
}

/// A sum that only comes out right when every task was passed through.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Check {
    /// What is summed.
    pub what: String,
    /// What should come out.
    pub expected: u64,
    /// What came out.
    pub found: u64,
    /// Whether they are the same.
    pub ok: bool,
}

/// The clock.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Clock {
    /// Its smallest step.
    pub resolution_ns: Option<f64>,
    /// What reading it costs.
    pub cost_ns: Option<f64>,
    /// Its name.
    pub source: Option<String>,
}

/// The share of CPUs received.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CpuReceived {
    /// CPU time of the spinners to wall time.
    pub share: Option<Estimate>,
    /// CPU time of all of them.
    pub spun_ns: u64,
    /// By how many.
    pub spinners: u32,
}

/// How a function was stopped.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Throttling {
    /// As the gaps of spinning threads tell.
    pub inferred: Option<Inferred>,
    /// As the platform's own counters tell, over this invocation.
    pub platform: Option<Quota>,
    /// When each spinner ran: what the quota is inferred from.
    pub spun: Option<Spun>,
    /// The timeline: `[start, length]` of the times in which no spinner ran, in order.
    #[serde(default)]
    pub gaps: Vec<[u64; 2]>,
    /// Shorter ones that are not among them.
    #[serde(default)]
    pub gaps_left_out: u64,
}

/// What spinners saw.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Spun {
    /// How long they were watched.
    pub span_ns: u64,
    /// What spun, in words.
    pub from: String,
    /// CPUs that other threads of the spinners' runtime had on average: they are charged to the same quota.
    #[serde(default)]
    pub others_cpus: f64,
    /// Of each spinner. Absent where the figures were added and samples not asked for.
    pub intervals: Option<Vec<Vec<Interval>>>,
}

/// The quota as it is seen from inside.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Inferred {
    /// Distance of refills.
    pub period_ns: Option<f64>,
    /// Running time between two.
    pub quota_ns: Option<f64>,
    /// Lower end of the 95 % interval of the quota.
    #[serde(default)]
    pub quota_ci_low_ns: Option<f64>,
    /// Its upper end.
    #[serde(default)]
    pub quota_ci_high_ns: Option<f64>,
    /// Quota to period; where no gap is of a quota, the CPUs received.
    pub cpus: Option<f64>,
    /// Lengths of the gaps that the quota made, summed over spinners.
    #[serde(default)]
    pub throttled_ns: u64,
    /// Such gaps.
    #[serde(default)]
    pub gaps: u64,
    /// Periods between the first and the last of their ends.
    #[serde(default)]
    pub periods: u64,
}

/// The platform's own counters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Quota {
    /// The period that is set.
    pub period_ns: Option<u64>,
    /// The quota that is set.
    pub quota_ns: Option<u64>,
}

/// A fixed amount of work.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Work {
    /// How long it took.
    pub wall_ns: u64,
    /// The CPU time that it took.
    pub cpu_ns: u64,
    /// Its iterations: two processes calibrate differently, so only the same number can be compared.
    pub iterations: Option<u64>,
}

impl Response {
    /// How it was stopped, as the gaps of spinning threads tell.
    pub fn inferred(&self) -> Option<&Inferred> {
        self.throttling.as_ref()?.inferred.as_ref()
    }

    /// How it was stopped, as the platform's own counters tell.
    pub fn set(&self) -> Option<&Quota> {
        self.throttling.as_ref()?.platform.as_ref()
    }

    /// What a method found.
    pub fn measurement(&self, method: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|measurement| measurement.method == method)
    }

    /// Whether it ran where functions are deployed.
    pub fn deployed(&self) -> bool {
        self.platform.name != "local"
    }
}

/// A single invocation over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// How long the spinners were watched.
    pub length_ns: u64,
    /// Start and length of the stretches in which none ran, in order.
    pub gaps: Vec<(u64, u64)>,
}

impl Timeline {
    /// The share of the time in gaps, 0 to 1.
    pub fn share_in_gaps(&self) -> f64 {
        let in_gaps: u64 = self.gaps.iter().map(|(_, length)| length).sum();
        in_gaps as f64 / self.length_ns.max(1) as f64
    }
}

impl Response {
    /// When the spinners ran and when they stood still. Absent if the request asked for no spinners, or if their gaps could not be determined.
    pub fn timeline(&self) -> Option<Timeline> {
        let gaps = self.throttling.as_ref()?.gaps.iter().map(|[start, length]| (*start, *length));
        let mut gaps: Vec<(u64, u64)> = gaps.collect();
        gaps.sort_unstable();
        let asked_ms = self.request.get("spin_ms").and_then(Value::as_f64).unwrap_or(0.0);
        let cpu = self.cpu.as_ref();
        let ran_ns = cpu.map_or(0, |cpu| cpu.spun_ns / u64::from(cpu.spinners.max(1)));
        let span_ns = self.throttling.as_ref()?.spun.as_ref().map_or(0, |spun| spun.span_ns);
        let last_ns = gaps.last().map_or(0, |(start, length)| start.saturating_add(*length));
        let length_ns = ((asked_ms * 1e6) as u64).max(ran_ns).max(span_ns).max(last_ns);
        (length_ns > 0).then_some(Timeline { length_ns, gaps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn response(spin_ms: f64, gaps: &[[u64; 2]]) -> Response {
        let document = json!({
            "schema": SCHEMA, "created_at": "2026-11-22T04:00:00Z",
            "handler": {"version": "0.1.0", "language": "go"},
            "platform": {"name": "local"},
            "invocation": {"number": 1, "cold": true},
            "host": {"architecture": "x86_64", "kernel_release": "6.18"},
            "request": {"spin_ms": spin_ms},
            "measurements": [],
            "cpu": {"share": null, "spun_ns": 16_000_000, "spinners": 2},
            "throttling": {"inferred": null, "platform": null, "gaps": gaps, "gaps_left_out": 0},
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn a_timeline_is_as_long_as_what_was_watched() {
        let timeline = |spin_ms, gaps| response(spin_ms, gaps).timeline().unwrap();
        let asked = timeline(200.0, &[[108_000_000, 92_000_000], [8_000_000, 92_000_000]]);
        assert_eq!((asked.length_ns, asked.gaps[0].0), (200_000_000, 8_000_000));
        assert!((asked.share_in_gaps() - 0.92).abs() < 1e-9);
        assert_eq!(timeline(100.0, &[[8_000_000, 100_000_000]]).length_ns, 108_000_000);
        assert_eq!(timeline(1.0, &[]).length_ns, 8_000_000);
        let mut without = response(100.0, &[]);
        without.throttling = None;
        assert_eq!(without.timeline(), None);
    }
}
