//! The price list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_profile::model::{Direct, Profile};

/// From the least to the most it can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
}

impl Range {
    /// A figure that is known.
    pub fn exactly(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// Both ends times a factor of at least zero.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    /// The sum, end by end.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }
}

/// What a switch costs on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostModel {
    /// A switch between threads of a process on one CPU, ns.
    pub thread_switch_ns: Option<Range>,
    /// A switch between processes on one CPU, ns.
    pub process_switch_ns: Option<Range>,
    /// What refilling the caches takes at most after one switch, for a task that works so long between two; empty when it was not
    /// measured. Both grow.
    pub refills: Vec<Refill>,
}

/// A point of the curve c2 - c1, read as a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Refill {
    /// Time that the work on an array takes when it is in the caches, ns.
    pub work_ns: f64,
    /// The most that refilling took for any array whose work takes that time or less, ns.
    pub refill_ns: f64,
}

impl CostModel {
    /// The price list of a machine: c1 of the method `pipe` on one CPU, in the normal class, between its undisturbed figure and the upper end
    /// of its interval; and the curve c2 - c1 at the upper end of its intervals, over all strides and accesses.
    pub fn of(profile: &Profile) -> Self {
        let direct = |tasks: &str| {
            let fits =
                |row: &&Direct| row.tasks == tasks && row.placement == "same-cpu" && row.class == "normal";
            let rows = || profile.direct.iter().filter(fits);
            let row = rows().find(|row| row.method == "pipe").or_else(|| rows().next())?;
            let cost = &row.switch_cost_ns;
            let low = cost.low.min(cost.ci_low).max(0.0);
            Some(Range { low, high: cost.ci_high.max(low) })
        };
        let points = profile.total.iter().filter(|row| row.baseline_ns > 0.0);
        let mut refills: Vec<Refill> = points
            .map(|row| Refill { work_ns: row.baseline_ns, refill_ns: row.indirect_cost_ns.ci_high.max(0.0) })
            .collect();
        refills.sort_by(|a, b| a.work_ns.total_cmp(&b.work_ns));
        let mut most_ns = 0.0_f64;
        for refill in &mut refills {
            most_ns = most_ns.max(refill.refill_ns);
            refill.refill_ns = most_ns;
        }
        Self { thread_switch_ns: direct("thread"), process_switch_ns: direct("process"), refills }
    }

    /// The most that refilling takes for a task that runs so long between two switches: it can miss only what it has the time to touch,
    /// and no longer than it ran.
    pub fn most_refill_ns(&self, slice_ns: f64) -> Option<f64> {
        let first = self.refills.first()?;
        let reached = self.refills.iter().take_while(|refill| refill.work_ns <= slice_ns).last();
        Some(reached.unwrap_or(first).refill_ns.min(slice_ns.max(0.0)))
    }

    /// One switch of unknown kind, ns.
    pub fn any_switch_ns(&self) -> Option<Range> {
        match (self.thread_switch_ns, self.process_switch_ns) {
            (Some(thread), Some(process)) => {
                Some(Range { low: thread.low.min(process.low), high: thread.high.max(process.high) })
            }
            (one, other) => one.or(other),
        }
    }
}
