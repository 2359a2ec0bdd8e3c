//! The types of `swtch/faas-tiers/3`: a function under the memory tiers of a platform. What was not measured is `None`, with its reason among
//! `unavailable`. Money is in dollars for one invocation.

use crate::own::{Comparison, Load, Mode, OwnSwitches, Switches};
use crate::{Estimate, Response};
use serde::Deserialize;
use serde_json::Value;
use swtch_topology::{Host, Unavailable};

/// The row of what ran without a quota; it is none of the tiers.
pub const UNTHROTTLED: &str = "unthrottled";
/// Shorter work is mostly the way to the function and back, ms.
pub const LONG_MS: f64 = 10.0;
/// So much of unthrottled work's time without a CPU is worth a line.
const DISTURBED: f64 = 0.25;

/// The schema that this version reads.
pub const SCHEMA: &str = "swtch/faas-tiers/3";

/// The schema before, which is read too: intervals were `low` and `high`, and bills had no part for requests.
pub const PREVIOUS_SCHEMA: &str = "swtch/faas-tiers/2";

/// The schema of swtch 0.1.0, in which tiers did different amounts of work and the HTTP front was in the tier's cgroup.
pub const OLD_SCHEMA: &str = "swtch/faas-tiers/1";

/// Why an older study has no comparison of tiers.
const NOT_COMPARABLE: &str = "tiers of this study did different amounts of work (an older swtch wrote it); run it again to compare them";

/// A function under many tiers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Tiers {
    /// [`SCHEMA`].
    pub schema: String,
    /// How it came about.
    pub provenance: TiersProvenance,
    /// The machine.
    pub host: Host,
    /// What the machine is called next to others.
    pub machine_name: String,
    /// What was invoked.
    pub function: Function,
    /// Where the tiers come from.
    pub tier_set: TierSet,
    /// The tiers.
    pub tiers: Vec<Tier>,
    /// Every invocation, those that failed among them.
    pub invocations: Vec<Invocation>,
    /// The complete ones, by tier and work.
    pub rows: Vec<TierRow>,
    /// What new processes took, by tier.
    #[serde(default)]
    pub cold_starts: Vec<ColdStart>,
    /// The quota as seen from inside, and the cgroup's own.
    #[serde(default)]
    pub quota_check: Vec<QuotaCheck>,
    /// Variants of the function against each other.
    #[serde(default)]
    pub comparisons: Vec<Comparison>,
    /// How invocations were made that were not one after the other.
    #[serde(default)]
    pub load: Option<Load>,
    /// Which tier to take.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// What is missing, and why.
    #[serde(default)]
    pub unavailable: Vec<Unavailable>,
}

/// How a study came about.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TiersProvenance {
    /// Of the package that wrote it.
    pub swtch_version: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The command line.
    pub command: Vec<String>,
}

/// What was invoked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Function {
    /// `handler` (one of swtch), `own` or `url`.
    pub kind: String,
    /// Its language, where it is known.
    pub language: Option<String>,
    /// Its name.
    pub name: String,
    /// What is called, of a function of the user's own.
    pub called: Option<String>,
    /// Whether it ran where functions are deployed, and not on this machine.
    pub deployed: bool,
}

/// Where tiers come from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TierSet {
    /// `gcf-1`, `lambda` or a file.
    pub name: String,
    /// The origin of the tiers, such as the platform that has them.
    pub source: String,
}

/// A memory tier.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Tier {
    /// `128 MB`.
    pub name: String,
    /// Its memory, MB.
    pub memory_mb: Option<u64>,
    /// Its CPUs.
    pub cpus: Option<f64>,
    /// CPU time in a period.
    pub quota_us: Option<f64>,
    /// The period.
    pub period_us: Option<f64>,
    /// Of cgroups: 1 or 2.
    pub cgroup_version: Option<u32>,
    /// What it costs.
    pub price: Option<Price>,
}

/// What a tier costs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Price {
    /// The price table.
    pub platform: String,
    /// Dollars a second.
    pub usd_per_second: f64,
    /// Time is rounded up to a multiple of this.
    pub rounding_ms: Option<f64>,
    /// The fee for the requests of a million invocations.
    pub usd_per_million_requests: Option<f64>,
    /// When it was looked up.
    pub dated: String,
    /// Where.
    pub source: String,
}

/// How an invocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It answered.
    Complete,
    /// It failed.
    Failed,
    /// It took too long.
    Timeout,
    /// It was killed: too little memory.
    Oom,
    /// Its answer is none.
    Invalid,
}

/// One invocation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Invocation {
    /// Under which tier, or [`UNTHROTTLED`].
    pub tier: String,
    /// How much work, ms of CPU time; 0 where it measured instead.
    pub work_ms: f64,
    /// Iterations of the work, the same for all of `work_ms`; `None` where it measured or brought its own work.
    pub iterations: Option<u64>,
    /// Which one of several.
    pub repeat: u32,
    /// How it ended.
    pub outcome: Ending,
    /// Why, in a line, where it is not complete.
    pub why: Option<String>,
    /// From the request to the end of the answer.
    pub latency_ns: Option<u64>,
    /// CPU time of the function itself, by its own process.
    pub function_cpu_ns: Option<u64>,
    /// How often its tasks were switched out.
    pub switches: Option<Switches>,
    /// Whether it was the first of its process.
    pub cold: Option<bool>,
    /// What the handler answered; a function of one's own has none.
    pub response: Option<Response>,
    /// What the cgroup counted meanwhile.
    pub group: Option<CgroupDelta>,
}

/// What a cgroup counted during an invocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct CgroupDelta {
    /// Periods that ended while it ran.
    pub periods: Option<i64>,
    /// Of those, periods in which the quota stopped it.
    pub periods_throttled: Option<i64>,
    /// Time that the quota stopped it, summed over CPUs.
    pub throttled_ns: Option<i64>,
    /// CPU time of its processes.
    pub cpu_ns: Option<i64>,
}

/// The complete invocations of a tier with the same work.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TierRow {
    /// The tier, or [`UNTHROTTLED`].
    pub tier: String,
    /// The work, ms of CPU time; 0 of a function that brings its own.
    pub work_ms: f64,
    /// Iterations of the work; `None` where a function brings its own.
    pub iterations: Option<u64>,
    /// Complete invocations.
    pub n: u32,
    /// Others.
    #[serde(default)]
    pub failed: u32,
    /// From the request to the end of the answer.
    pub latency_ns: Option<Estimate>,
    /// Nine of ten took at most this.
    pub p90_ns: Option<f64>,
    /// Ninety-nine of a hundred.
    pub p99_ns: Option<f64>,
    /// What a switch cost.
    pub switch_ns: Option<SwitchCost>,
    /// CPU time of the function itself: of the same iterations, how fast the machine was.
    pub cpu_ns: Option<Estimate>,
    /// CPU time in the cgroup besides: of the runtime and of measuring.
    pub overhead_cpu_ns: Option<Estimate>,
    /// Time that the quota stopped it, summed over CPUs.
    pub throttled_cpu_ns: Option<Estimate>,
    /// Share of the periods in which the quota stopped it, 0 to 1.
    pub throttled_periods_share: Option<Estimate>,
    /// The function's own switches.
    pub own_switches: Option<OwnSwitches>,
    /// Two latencies, where only a part of the invocations fits into the quota.
    pub modes: Option<Vec<Mode>>,
    /// Time to that of the same work unthrottled, in the same study.
    pub slowdown: Option<Estimate>,
    /// Dollars for an invocation: its whole bill.
    pub cost_usd: Option<Estimate>,
    /// The part of it that is for the request, whatever its time.
    pub request_usd: Option<f64>,
    /// Had it not been throttled.
    pub cost_unthrottled_usd: Option<Estimate>,
    /// What throttling cost: against the same work unthrottled at this tier.
    pub extra_usd: Option<Extra>,
    /// What this tier costs more than the cheapest one.
    pub extra_cheapest: Option<Extra>,
}

/// What new processes of a tier took.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ColdStart {
    /// The tier, or [`UNTHROTTLED`].
    pub tier: String,
    /// Complete starts, each with its first call.
    pub n: u32,
    /// Others.
    pub failed: u32,
    /// Until the function's program began; where it does not say when, that is in `init_ns`.
    pub runtime_ns: Option<Estimate>,
    /// From there until it was ready.
    pub init_ns: Option<Estimate>,
    /// Latency of the first call.
    pub first_call_ns: Option<Estimate>,
    /// All of it.
    pub total_ns: Option<Estimate>,
    /// Whether the platform bills the start.
    pub init_billed: Option<bool>,
    /// The whole bill of the first call, in dollars.
    pub cost_usd: Option<Estimate>,
}

/// What a switch cost, its read and write included.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SwitchCost {
    /// How it was measured: `pipe`.
    pub method: String,
    /// Of the invocations' medians.
    pub median: Option<Estimate>,
    /// Of their means, which hold the time stopped.
    pub mean: Option<Estimate>,
}

/// A difference in money, and what it is measured against.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Extra {
    /// The counterfactual, in words.
    pub against: String,
    /// Dollars for an invocation.
    pub usd: Option<Estimate>,
}

/// The quota as seen from inside, and the cgroup's own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct QuotaCheck {
    /// The tier.
    pub tier: String,
    /// The group's own period.
    pub period_us: Option<f64>,
    /// The group's own quota.
    pub quota_us: Option<f64>,
    /// As it is seen from inside.
    pub inferred_period_us: Option<f64>,
    /// As it is seen from inside.
    pub inferred_quota_us: Option<f64>,
    /// Relative error, 0.01 is one in a hundred.
    pub error_period: Option<f64>,
    /// Relative error.
    pub error_quota: Option<f64>,
    /// Invocations.
    pub n: u32,
}

/// Which tier to take.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Advice {
    /// In a sentence.
    pub text: String,
}

impl Invocation {
    /// Whether it measured switches or a quota instead of working.
    pub fn measured(&self) -> bool {
        let Some(response) = &self.response else { return false };
        let asked = |name: &str| response.request.get(name);
        asked("methods").and_then(Value::as_array).is_some_and(|methods| !methods.is_empty())
            || asked("spin_ms").and_then(Value::as_f64).is_some_and(|ms| ms > 0.0)
    }
}

impl Tiers {
    /// Takes out of a study of [`OLD_SCHEMA`] what compares its tiers: they did different amounts of work.
    pub(crate) fn without_comparisons(mut self) -> Self {
        for row in &mut self.rows {
            row.slowdown = None;
            row.cost_unthrottled_usd = None;
            row.extra_usd = None;
            row.extra_cheapest = None;
        }
        self.advice.clear();
        for what in ["rows.slowdown", "rows.extra_usd", "advice"] {
            self.unavailable.push(Unavailable::new(what, NOT_COMPARABLE));
        }
        self
    }

    /// Whether an older swtch wrote it, so that nothing compares its tiers.
    pub fn is_old(&self) -> bool {
        self.schema == OLD_SCHEMA
    }

    /// The median part of its time that work of the project's handler waited for a CPU where nothing throttled it. It is absent below a
    /// quarter, which other programs need not explain.
    pub fn disturbed(&self) -> Option<f64> {
        let waited = self.invocations.iter().filter(|one| {
            one.tier == UNTHROTTLED && one.work_ms >= LONG_MS && one.outcome == Ending::Complete
        });
        let waited = waited.filter_map(|one| {
            let latency_ns = one.latency_ns.filter(|ns| *ns > 0)?;
            Some(1.0 - one.group.as_ref()?.cpu_ns? as f64 / latency_ns as f64)
        });
        let waited: Vec<f64> = waited.collect();
        if waited.is_empty() || self.function.kind != "handler" {
            return None;
        }
        Some(swtch_stats::median(&waited)).filter(|share| *share >= DISTURBED)
    }

    /// Whether the switches were made by swtch's own handler next to a function of one's own.
    pub fn switches_are_the_handlers(&self) -> bool {
        self.function.kind == "own"
    }

    /// What handlers answered.
    pub fn responses(&self) -> impl Iterator<Item = &Response> {
        self.invocations.iter().filter_map(|invocation| invocation.response.as_ref())
    }

    /// The row of a tier and an amount of work.
    pub fn row(&self, tier: &str, work_ms: f64) -> Option<&TierRow> {
        self.rows.iter().find(|row| row.tier == tier && row.work_ms == work_ms)
    }

    /// The amounts of work, ascending.
    pub fn works(&self) -> Vec<f64> {
        let mut works: Vec<f64> = self.rows.iter().map(|row| row.work_ms).collect();
        works.sort_by(f64::total_cmp);
        works.dedup();
        works
    }
}
