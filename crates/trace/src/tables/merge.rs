//! Two parts of a Trace as one, and the difference between two snapshots of it, by the rules of the columns.

use super::{HistogramRow, Tables, TaskRow};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use swtch_columns::growth::Growth;
use swtch_columns::rules::{delta_rows, merge_equal, merge_rows};

impl Tables {
    /// These tables and those of a later part of the same run as one.
    ///
    /// Quantiles are those of both histograms together. A histogram of all tasks is left out where only one part has it, although tasks
    /// of the other part waited. It is not that of the whole.
    #[must_use]
    pub fn merge(&self, later: &Self) -> Self {
        let of_both = |part: &Self, other: &Self| -> Vec<HistogramRow> {
            let others = classes(&other.histograms);
            let waited = other.tasks.iter().any(|task| task.in_scope && task.waits > 0);
            let lacks = |row: &HistogramRow| {
                waited && row.of == "all" && !others.contains_key(&(row.metric.as_str(), "all"))
            };
            part.histograms.iter().filter(|row| !lacks(row)).cloned().collect()
        };
        let (before, after) = (of_both(self, later), of_both(later, self));
        let histograms = merge_rows(&aligned(before.clone(), &after), &aligned(after, &before), |_, _, _| {});
        let quantiles = Quantiles {
            merged: of_tasks(&histograms),
            parts: [of_tasks(&self.histograms), of_tasks(&later.histograms)],
        };
        let tasks = merge_rows(&self.tasks, &later.tasks, |row, one, other| {
            quantiles.enter(row, &[one, other]);
        });
        let mut merged = Self {
            tasks,
            cpus: merge_rows(&self.cpus, &later.cpus, |_, _, _| {}),
            cgroups: merge_rows(&self.cgroups, &later.cgroups, |_, _, _| {}),
            wakes: merge_rows(&self.wakes, &later.wakes, |_, _, _| {}),
            preemptions: merge_rows(&self.preemptions, &later.preemptions, |_, _, _| {}),
            waits: merge_rows(&self.waits, &later.waits, |_, _, _| {}),
            interruptions: merge_rows(&self.interruptions, &later.interruptions, |_, _, _| {}),
            interrupts: merge_rows(&self.interrupts, &later.interrupts, |_, _, _| {}),
            intervals: merge_rows(&self.intervals, &later.intervals, |_, _, _| {}),
            stacks: merge_rows(&self.stacks, &later.stacks, |_, _, _| {}),
            histograms,
        };
        merged.wakes.sort_by_key(|row| Reverse(row.count));
        merged.preemptions.sort_by_key(|row| Reverse(row.count));
        merged.stacks.sort_by_key(|row| Reverse(row.switches));
        merged.waits.sort_by_key(|row| Reverse(row.ns));
        merged
    }

    /// What came between `earlier` and this snapshot: rows that did not change are left out. Counters that fell are counted in `growth`.
    ///
    /// ```
    /// use swtch_trace::growth::Growth;
    /// use swtch_trace::tables::{Tables, TaskRow};
    /// let at = |voluntary| Tables { tasks: vec![TaskRow { tid: 7, voluntary, ..TaskRow::default() }], ..Tables::default() };
    /// let delta = at(12).delta(&at(10), &Growth::default());
    /// assert_eq!(delta.tasks[0].voluntary, 2);
    /// assert_eq!(at(10).merge(&delta), at(12));
    /// ```
    #[must_use]
    pub fn delta(&self, earlier: &Self, growth: &Growth) -> Self {
        let before = aligned(earlier.histograms.clone(), &self.histograms);
        let histograms = delta_rows(&self.histograms, &before, growth, |_, _, _| {});
        let quantiles = Quantiles {
            merged: of_tasks(&histograms),
            parts: [of_tasks(&earlier.histograms), of_tasks(&self.histograms)],
        };
        let tasks = delta_rows(&self.tasks, &earlier.tasks, growth, |row, one, other| {
            quantiles.enter(row, &[one, other]);
        });
        Self {
            tasks,
            cpus: delta_rows(&self.cpus, &earlier.cpus, growth, |_, _, _| {}),
            cgroups: delta_rows(&self.cgroups, &earlier.cgroups, growth, |_, _, _| {}),
            wakes: delta_rows(&self.wakes, &earlier.wakes, growth, |_, _, _| {}),
            preemptions: delta_rows(&self.preemptions, &earlier.preemptions, growth, |_, _, _| {}),
            waits: delta_rows(&self.waits, &earlier.waits, growth, |_, _, _| {}),
            interruptions: delta_rows(&self.interruptions, &earlier.interruptions, growth, |_, _, _| {}),
            interrupts: delta_rows(&self.interrupts, &earlier.interrupts, growth, |_, _, _| {}),
            intervals: delta_rows(&self.intervals, &earlier.intervals, growth, |_, _, _| {}),
            stacks: delta_rows(&self.stacks, &earlier.stacks, growth, |_, _, _| {}),
            histograms,
        }
    }
}

/// The classes of each distribution: from, to (exclusive), count.
type Classes<'a> = BTreeMap<(&'a str, &'a str), Vec<(u64, u64, u64)>>;

fn classes(rows: &[HistogramRow]) -> Classes<'_> {
    let mut classes = Classes::new();
    for row in rows.iter().filter(|row| row.count > 0) {
        let of = classes.entry((row.metric.as_str(), row.of.as_str())).or_default();
        of.push((row.from_ns, row.to_ns, row.count));
    }
    for classes in classes.values_mut() {
        classes.sort_unstable();
    }
    classes
}

/// The classes of single tasks.
fn of_tasks(rows: &[HistogramRow]) -> Classes<'_> {
    let mut classes = classes(rows);
    classes.retain(|(_, of), _| of.starts_with("task "));
    classes
}

/// The rows of a part in the classes of the other one, where those are wider: where each begins.
fn aligned(mut rows: Vec<HistogramRow>, other: &[HistogramRow]) -> Vec<HistogramRow> {
    let wider = classes(other);
    for row in &mut rows {
        let Some(classes) = wider.get(&(row.metric.as_str(), row.of.as_str())) else { continue };
        let place = classes.partition_point(|(from_ns, _, _)| *from_ns <= row.from_ns);
        match place.checked_sub(1).map(|place| classes[place]) {
            Some((from_ns, to_ns, _)) if to_ns >= row.to_ns => (row.from_ns, row.to_ns) = (from_ns, to_ns),
            _ => {}
        }
    }
    merge_equal(rows)
}

/// Histograms of two parts, from which the quantiles of single tasks come.
struct Quantiles<'a> {
    merged: Classes<'a>,
    parts: [Classes<'a>; 2],
}

impl Quantiles<'_> {
    /// Enters the quantiles of a task, where each of its two `parts` has its histogram or no waits.
    fn enter(&self, row: &mut TaskRow, parts: &[&TaskRow; 2]) {
        if self.merged.is_empty() {
            return;
        }
        let of = format!("task {}", row.tid);
        let has = |classes: &Classes<'_>| {
            ["wait", "slice"].iter().any(|metric| classes.contains_key(&(*metric, &of)))
        };
        if !self.parts.iter().zip(parts).all(|(classes, part)| part.waits == 0 || has(classes)) {
            return;
        }
        let quantile = |metric: &str, share: f64, longest_ns: Option<u64>| {
            let classes = self.merged.get(&(metric, &of))?;
            swtch_stats::class_quantile(classes.iter().copied(), share, longest_ns)
        };
        row.wait_p50_ns = quantile("wait", 0.5, row.wait_max_ns);
        row.wait_p90_ns = quantile("wait", 0.9, row.wait_max_ns);
        row.wait_p99_ns = quantile("wait", 0.99, row.wait_max_ns);
        row.slice_p50_ns = quantile("slice", 0.5, row.slice_max_ns);
    }
}
