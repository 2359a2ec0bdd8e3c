//! The most time that refilling caches takes, by the known facts of a task. They are how long it runs between two switches, the
//! memory it uses, and how often it missed the caches.

use crate::model::{CostModel, Range, Refill, lines};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_trace::model::ProbedRefill;
use swtch_trace::tables::TaskRow;

/// When tasks whose working set is not known ran longer than this share of the time, anything may have been displaced.
const UNKNOWN_SHARE: f64 = 0.05;

/// What the bound of a task's indirect cost was made of: the one of four that gave the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IndirectFrom {
    /// The memory it uses between two switches.
    WorkingSet,
    /// Its misses in the largest cache, and what fits there.
    CacheMisses,
    /// What it has the time to touch between two switches.
    SliceLength,
    /// What an interruption cost this program, with its caches displaced.
    Probe,
}

/// The price list, and the known facts of all tasks together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refills<'a> {
    model: &'a CostModel,
    /// The largest working set of any task, bytes: no more can come between; absent when too many are not known.
    largest_bytes: Option<u64>,
    /// The most that one return cost the program when it was probed, ns.
    probed_ns: Option<f64>,
}

impl<'a> Refills<'a> {
    pub(crate) fn of(model: &'a CostModel, tasks: &[&TaskRow], probed: Option<&ProbedRefill>) -> Self {
        let run_ns = |unknown: bool| -> f64 {
            let wanted = tasks.iter().filter(|task| !unknown || task.working_set_bytes.is_none());
            wanted.map(|task| task.run_ns as f64).sum()
        };
        let known = run_ns(true) <= UNKNOWN_SHARE * run_ns(false);
        let largest_bytes = tasks.iter().filter_map(|task| task.working_set_bytes).max().filter(|_| known);
        Self { model, largest_bytes, probed_ns: probed.map(|probed| probed.refill_high_ns.max(0.0)) }
    }

    /// At least and at most, ns, and what the most comes from; none without a curve.
    pub(crate) fn of_task(&self, task: &TaskRow) -> Option<(Range, IndirectFrom)> {
        let run_ns = task.run_ns as f64;
        let switches = task.switches();
        let slice_ns = run_ns / switches.max(1) as f64;
        // Caches are cold only where another task ran meanwhile, and refilling them takes place while the task runs.
        let times = task.cold_switch_ins.unwrap_or(switches) as f64;
        let mut found = (times * self.model.most_refill_ns(slice_ns)?, IndirectFrom::SliceLength);
        let others = [
            (self.by_working_set(task, slice_ns).map(|ns| times * ns), IndirectFrom::WorkingSet),
            (self.by_misses(task, slice_ns, times), IndirectFrom::CacheMisses),
            (self.probed_ns.map(|ns| times * ns), IndirectFrom::Probe),
        ];
        for (ns, from) in others {
            if let Some(ns) = ns.filter(|ns| *ns < found.0) {
                found = (ns, from);
            }
        }
        // A page that was used need not have been displaced, nor a miss be one of a switch: nothing is known to have been lost.
        Some((Range { low: 0.0, high: found.0.min(run_ns) }, found.1))
    }

    /// The bound for one return. The bound of user time is the task's own memory at its dearest. Where it is less, it is the curve up to
    /// the largest working set of any task. The bound of kernel time is the memory that the task has the time to touch. The task's page
    /// tables do not show the kernel's memory.
    fn by_working_set(&self, task: &TaskRow, slice_ns: f64) -> Option<f64> {
        let bytes = task.working_set_bytes?;
        let (user_ns, system_ns) = (task.user_ns? as f64, task.system_ns? as f64);
        let kernel_share = if system_ns > 0.0 { system_ns / (user_ns + system_ns) } else { 0.0 };
        let (user_ns, kernel_ns) = (slice_ns * (1.0 - kernel_share), slice_ns * kernel_share);
        let curve_ns = self.model.most_within_ns(user_ns, self.largest_bytes.map(|most| most.max(bytes)))?;
        let in_kernel_ns = if kernel_ns > 0.0 { self.model.most_refill_ns(kernel_ns)? } else { 0.0 };
        Some(curve_ns.min(self.all_of_it_ns(bytes)?).min(user_ns) + in_kernel_ns)
    }

    /// The cost of refilling `bytes` of memory, each line at the highest price that a line of any array had.
    fn all_of_it_ns(&self, bytes: u64) -> Option<f64> {
        let smallest = self.model.refills.iter().min_by_key(|point| point.array_bytes)?;
        // What a switch costs whatever the array: some is left of it in the curve's first point.
        let first = self.model.refills.iter().filter(|point| point.array_bytes == smallest.array_bytes);
        let always_ns = first.map(|point| point.refill_ns).fold(0.0, f64::max);
        let of_line = |point: &Refill| (point.refill_ns - always_ns).max(0.0) / lines(point.array_bytes);
        let line_ns = self.model.refills.iter().map(of_line).fold(0.0, f64::max);
        Some(always_ns + line_ns * lines(bytes))
    }

    /// For all returns: every miss in the largest cache at the dearest, and what fits into that cache by the curve.
    fn by_misses(&self, task: &TaskRow, slice_ns: f64, times: f64) -> Option<f64> {
        let misses = task.cache_misses? as f64;
        // Two arrays stop fitting at half a cache.
        let fits_ns = self.model.most_within_ns(slice_ns, Some(self.model.cache_bytes? / 2))?;
        Some(misses * self.model.miss_ns? + times * fits_ns)
    }
}

impl CostModel {
    /// The most time that refilling takes for a task that runs this long between two switches. It can miss only the memory that it has
    /// the time to touch, and no longer than it ran.
    pub fn most_refill_ns(&self, slice_ns: f64) -> Option<f64> {
        self.most_within_ns(slice_ns, None)
    }

    /// The same for arrays of at most `bytes`, rounded up to the next size that was measured.
    fn most_within_ns(&self, slice_ns: f64, bytes: Option<u64>) -> Option<f64> {
        let first = self.refills.first()?;
        let sizes = self.refills.iter().map(|point| point.array_bytes);
        let most_bytes =
            bytes.and_then(|bytes| sizes.filter(|size| *size >= bytes).min()).unwrap_or(u64::MAX);
        let fits = |point: &&Refill| point.work_ns <= slice_ns && point.array_bytes <= most_bytes;
        let most_ns =
            self.refills.iter().filter(fits).map(|point| point.refill_ns).fold(first.refill_ns, f64::max);
        Some(most_ns.min(slice_ns.max(0.0)))
    }
}

#[cfg(test)]
mod tests;
