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
    /// The most that refilling the caches took after one switch, over all array sizes that were measured, ns.
    pub most_indirect_ns: Option<f64>,
}

impl CostModel {
    /// The price list of a machine: c1 of the method `pipe` on one CPU, in the normal class, between its undisturbed figure and the upper end
    /// of its interval; and the highest point of the curve c2 - c1.
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
        let indirect = profile.total.iter().map(|row| row.indirect_cost_ns.median);
        Self {
            thread_switch_ns: direct("thread"),
            process_switch_ns: direct("process"),
            most_indirect_ns: indirect.reduce(f64::max).map(|most| most.max(0.0)),
        }
    }

    /// One switch of unknown kind, ns.
    pub(crate) fn any_switch_ns(&self) -> Option<Range> {
        match (self.thread_switch_ns, self.process_switch_ns) {
            (Some(thread), Some(process)) => {
                Some(Range { low: thread.low.min(process.low), high: thread.high.max(process.high) })
            }
            (one, other) => one.or(other),
        }
    }
}
