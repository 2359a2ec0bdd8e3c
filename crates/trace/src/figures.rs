//! Figures that several outputs print of one Trace, each defined once. docs/metrics.md states the same definitions in words.

use crate::model::Header;
use crate::tables::{HistogramRow, TaskRow};
use swtch_stats::class_quantile;

/// A switch that took more than this many times the median of its kind is an outlier.
///
/// On an undisturbed machine the scheduler's longest path takes a few times as long as its usual one, not tens of times. The longest path has
/// other caches and another queue to look into. A switch that takes longer was stopped between the scheduler's entry and its exit. Either an
/// interrupt stopped it, or a hypervisor gave the CPU to another guest. That time does not belong to the cost of the switch.
pub const OUTLIER_MEDIANS: u64 = 20;

/// Context switches of tasks: voluntary and involuntary ones. Switches from the idle task are kept apart. What a source does not count is
/// left out; absent when it counts neither.
///
/// ```
/// use swtch_trace::model::{Header, Provenance, Scope};
/// let mut header = Header::new(Provenance::default(), Default::default(), Scope::Machine);
/// header.totals.context_switches.voluntary = Some(5);
/// header.totals.context_switches.idle = Some(3);
/// assert_eq!(swtch_trace::figures::switches(&header), Some(5));
/// ```
pub fn switches(header: &Header) -> Option<u64> {
    let switches = &header.totals.context_switches;
    match (switches.voluntary, switches.involuntary) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
    }
}

/// [`switches`] a second of the recording's length.
pub fn switches_per_second(header: &Header) -> Option<f64> {
    let seconds = header.duration_ns as f64 / 1e9;
    switches(header).filter(|_| seconds > 0.0).map(|switches| switches as f64 / seconds)
}

/// CPU time of a task, ns: its run time and the direct cost of its switches, where that was measured in place. Elsewhere a run includes its
/// switches.
pub fn cpu_ns(task: &TaskRow) -> u64 {
    task.run_ns.saturating_add(task.switch_cost_ns.unwrap_or(0))
}

/// A quantile of a distribution, ns, by the rule of [`class_quantile`]. It is at most half a class from the value at that rank, and never
/// above the longest. `of` is `all`, `task 1234` or `kind process`.
pub fn quantile_ns(
    tasks: &[TaskRow],
    histograms: &[HistogramRow],
    metric: &str,
    of: &str,
    share: f64,
) -> Option<u64> {
    class_quantile(classes(histograms, metric, of), share, longest_ns(tasks, metric, of))
}

/// The classes of a distribution, ascending: from, to (exclusive), count. Empty ones are left out.
pub fn classes(histograms: &[HistogramRow], metric: &str, of: &str) -> Vec<(u64, u64, u64)> {
    ascending(histograms.iter().filter(|row| row.metric == metric && row.of == of))
}

/// The classes of some rows together, ascending; see [`classes`].
pub fn ascending<'a>(rows: impl IntoIterator<Item = &'a HistogramRow>) -> Vec<(u64, u64, u64)> {
    let counted = rows.into_iter().filter(|row| row.count > 0);
    let mut classes: Vec<(u64, u64, u64)> = counted.map(|row| (row.from_ns, row.to_ns, row.count)).collect();
    classes.sort_unstable();
    classes
}

/// The longest wait or slice of all tasks, or of one, ns, as it was measured. Absent for costs, of which only the classes are kept.
pub fn longest_ns(tasks: &[TaskRow], metric: &str, of: &str) -> Option<u64> {
    let tid: Option<u32> = of.strip_prefix("task ").and_then(|tid| tid.parse().ok());
    let longest = |row: &TaskRow| match metric {
        "wait" => row.wait_max_ns,
        "slice" => row.slice_max_ns,
        _ => None,
    };
    let counts = |row: &&TaskRow| row.in_scope && (of == "all" || tid == Some(row.tid));
    tasks.iter().filter(counts).filter_map(longest).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_middle_of_its_class_and_never_above_the_longest() {
        let classes = |of| HistogramRow::of("wait", of, [(1000, 1250, 1), (100, 120, 99)]);
        let rows: Vec<HistogramRow> =
            classes("all").chain(HistogramRow::of("wait", "task 7", [(8, 10, 3)])).collect();
        let tasks = [
            TaskRow { tid: 7, in_scope: true, wait_max_ns: Some(9), ..TaskRow::default() },
            TaskRow { tid: 8, in_scope: true, wait_max_ns: Some(1100), ..TaskRow::default() },
        ];
        let at = |of, share| quantile_ns(&tasks, &rows, "wait", of, share);
        assert_eq!((at("all", 0.5), at("all", 0.99), at("all", 1.0)), (Some(110), Some(110), Some(1100)));
        assert_eq!((at("task 7", 0.5), at("task 9", 0.5)), (Some(9), None));
        assert_eq!(longest_ns(&tasks, "wait", "all"), Some(1100));
        assert_eq!(longest_ns(&tasks, "cost", "kind thread"), None);
    }
}
