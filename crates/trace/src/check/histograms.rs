//! Distributions against what they are distributions of.

use super::{Facts, LENGTH, sum, with_tolerance};
use crate::tables::TraceView;
use crate::tables::{HistogramRow, TaskRow};
use std::collections::HashMap;
use swtch_units::input_error::Checks;

pub(super) fn check(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    classes(trace, facts, checks);
    if facts.whole {
        of_all(trace, facts, checks);
        of_tasks(trace, facts, checks);
    }
}

/// Classes have a width, a count, and, within one distribution, an order.
fn classes(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let mut before: Option<&HistogramRow> = None;
    for row in &trace.histograms {
        let figure = format!("histograms of {} of {} from {} ns", row.metric, row.of, row.from_ns);
        checks.require(row.from_ns < row.to_ns, &figure, || format!("it ends at {} ns", row.to_ns));
        if row.metric != "wait" || !facts.kernel_sums {
            checks.at_most(&figure, row.from_ns, facts.kernel_wall_ns(), LENGTH);
        }
        // Two tasks may have had one number, one after the other: their classes follow each other.
        let same = before.filter(|before| {
            before.metric == row.metric && before.of == row.of && !row.of.starts_with("task ")
        });
        if let Some(before) = same {
            checks.require(before.to_ns <= row.from_ns, &figure, || {
                format!("the class before it ends at {} ns", before.to_ns)
            });
        }
        before = Some(row);
    }
}

/// The distribution of all waits has as many as the tasks had, and their sum is between its classes' ends.
fn of_all(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let rows = |metric: &str, of: &str| -> Vec<&HistogramRow> {
        trace.histograms.iter().filter(|row| row.metric == metric && row.of.starts_with(of)).collect()
    };
    let waits = rows("wait", "all");
    let tasks_waits = sum(&trace.tasks, |row| row.waits);
    let gaps = if facts.gappy { trace.tasks.len() as u64 } else { 0 };
    let bound = tasks_waits.saturating_add(facts.slack(tasks_waits)).saturating_add(gaps);
    let counted = sum(&waits, |row| row.count);
    checks.at_most("histograms of wait of all, counted", counted, bound, "the sum of tasks.waits");
    let least_ns = sum(&waits, |row| row.from_ns.saturating_mul(row.count));
    let bound = with_tolerance(sum(&trace.tasks, |row| row.wait_ns), 50, facts.wall_ns() / 1000);
    checks.at_most("histograms of wait of all, in ns at least", least_ns, bound, "the sum of tasks.wait_ns");
    let on_cpus = sum(&trace.cpus, |row| row.switches.saturating_add(row.idle_switches));
    if on_cpus > 0 && facts.lost == 0 {
        let costs = sum(&rows("cost", "kind "), |row| row.count);
        let what = "the switches on all CPUs with their tolerance";
        checks.at_most("histograms of cost, counted", costs, with_tolerance(on_cpus, 100, 64), what);
    }
}

/// A task's own distributions have no more than it had.
fn of_tasks(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    if facts.gappy {
        return;
    }
    let mut by_tid: HashMap<u32, (u64, u64)> = HashMap::new();
    for TaskRow { tid, waits, voluntary, involuntary, .. } in trace.tasks.iter().filter(|row| row.in_scope) {
        let sums = by_tid.entry(*tid).or_default();
        sums.0 = sums.0.saturating_add(*waits);
        sums.1 = sums.1.saturating_add(*voluntary).saturating_add(*involuntary);
    }
    let mut found: HashMap<(&str, &str), u64> = HashMap::new();
    for row in &trace.histograms {
        let sum = found.entry((&row.metric, &row.of)).or_default();
        *sum = sum.saturating_add(row.count);
    }
    let mut found: Vec<((&str, &str), u64)> = found.into_iter().collect();
    found.sort_unstable();
    for ((metric, of), count) in found {
        let tid = of.strip_prefix("task ").and_then(|tid| tid.parse().ok());
        let Some((waits, switches)) = tid.and_then(|tid: u32| by_tid.get(&tid)) else { continue };
        let (figure, whole, what) = match metric {
            "wait" => ("waits", *waits, "its waits with their tolerance"),
            "slice" => ("slices", *switches, "its switches with their tolerance"),
            _ => continue,
        };
        let bound = whole.saturating_add(facts.slack(whole));
        checks.at_most(&format!("histograms of {figure} of {of}, counted"), count, bound, what);
    }
}
