//! The tables of two recordings that follow each other, as one.

use std::collections::{BTreeMap, HashMap};
use swtch_stats::class_quantile;
use swtch_trace::accumulate::Tables;
use swtch_trace::figures::classes;
use swtch_trace::model::Totals;
use swtch_trace::tables::{CpuRow, HistogramRow, TaskRow};

/// Puts the tables of what came before `handover_ns` (since the start) and of what came after together. Only the first knows single pairs.
pub(super) fn tables(first: &Tables, second: Tables, handover_ns: u64) -> Tables {
    let histograms = histograms(&of_both(first, &second), &second.histograms);
    let mut intervals = first.intervals.clone();
    if let Some(last) = intervals.last_mut() {
        // It was cut short there.
        last.length_ns = last.length_ns.min(handover_ns.saturating_sub(last.at_ns)).max(1);
    }
    intervals.extend(second.intervals);
    Tables {
        tasks: tasks(first, second.tasks, &second.histograms, handover_ns, &histograms),
        cpus: cpus(&first.cpus, second.cpus),
        histograms,
        intervals,
        // Times of interrupts are those of the first part alone; the kernel's counts, which are added later, are of both.
        interrupts: Vec::new(),
        cgroups: first.cgroups.iter().cloned().chain(second.cgroups).collect(),
        ..first.clone()
    }
}

/// Adds the totals of the first part to those of the second. What only one of them knows is known of neither.
pub(super) fn add_totals(first: &Totals, second: &mut Totals) {
    let add = |sum: &mut Option<u64>, more: Option<u64>| *sum = sum.zip(more).map(|(one, other)| one + other);
    let (from, to) = (&first.context_switches, &mut second.context_switches);
    add(&mut to.voluntary, from.voluntary);
    add(&mut to.involuntary, from.involuntary);
    add(&mut to.idle, from.idle);
    let (from, to) = (&first.migrations, &mut second.migrations);
    add(&mut to.same_l2, from.same_l2);
    add(&mut to.same_l3, from.same_l3);
    add(&mut to.across, from.across);
    let (from, to) = (&first.processes, &mut second.processes);
    add(&mut to.forked, from.forked);
    add(&mut to.execs, from.execs);
    add(&mut to.exited, from.exited);
    to.peak = to.peak.max(from.peak);
    add(&mut second.threads_created, first.threads_created);
    add(&mut second.switch_cost_ns, first.switch_cost_ns);
    second.wakeups = None;
}

/// The first part's histograms without those of all tasks that the second part does not have: counted for a part only, they would be told as
/// those of the whole.
fn of_both(first: &Tables, second: &Tables) -> Vec<HistogramRow> {
    let had_waits = second.tasks.iter().any(|task| task.in_scope && task.waits > 0);
    let lacks = |row: &&HistogramRow| {
        row.of == "all"
            && !second.histograms.iter().any(|other| (&other.metric, &other.of) == (&row.metric, &row.of))
    };
    first.histograms.iter().filter(|row| !(had_waits && lacks(row))).cloned().collect()
}

fn tasks(
    first: &Tables,
    second: Vec<TaskRow>,
    second_histograms: &[HistogramRow],
    handover_ns: u64,
    histograms: &[HistogramRow],
) -> Vec<TaskRow> {
    // Both parts keep the histograms of the busiest tasks: percentiles are known where both parts have the task's, or one part has no waits.
    let complete = |of: &str, before: &TaskRow, after: &TaskRow| {
        let has = |rows: &[HistogramRow]| rows.iter().any(|row| row.of == of);
        (before.waits == 0 || has(&first.histograms)) && (after.waits == 0 || has(second_histograms))
    };
    // The last that had the number: the one that may have gone on.
    let mut before: BTreeMap<u32, &TaskRow> = BTreeMap::new();
    for row in &first.tasks {
        before.insert(row.tid, row);
    }
    let mut went_on = HashMap::new();
    let mut rows: Vec<TaskRow> = second
        .into_iter()
        .map(|after| match before.get(&after.tid) {
            Some(row) if after.first_ns <= handover_ns && row.pid == after.pid => {
                went_on.insert(row.tid, row.first_ns);
                let of = format!("task {}", after.tid);
                let known: &[HistogramRow] = if complete(&of, row, &after) { histograms } else { &[] };
                joined(row, after, &of, known)
            }
            _ => after,
        })
        .collect();
    rows.extend(first.tasks.iter().filter(|row| went_on.get(&row.tid) != Some(&row.first_ns)).cloned());
    rows.sort_by_key(|row| (row.tid, row.first_ns));
    rows
}

fn joined(before: &TaskRow, after: TaskRow, of: &str, histograms: &[HistogramRow]) -> TaskRow {
    if !before.in_scope {
        return after;
    }
    let add = |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, other)| one + other);
    let wait_max_ns = before.wait_max_ns.max(after.wait_max_ns);
    let slice_max_ns = before.slice_max_ns.max(after.slice_max_ns);
    let (waits, slices) = (classes(histograms, "wait", of), classes(histograms, "slice", of));
    let wait = |share: f64| class_quantile(waits.iter().copied(), share, wait_max_ns);
    // What was never measured of one part, because it never happened there, is nothing.
    let cost = |one: Option<u64>, other: Option<u64>| add(one.or(Some(0)), other.or(Some(0)));
    TaskRow {
        first_ns: before.first_ns,
        voluntary: before.voluntary + after.voluntary,
        involuntary: before.involuntary + after.involuntary,
        wakeups: before.wakeups + after.wakeups,
        run_ns: before.run_ns + after.run_ns,
        wait_ns: before.wait_ns + after.wait_ns,
        waits: before.waits + after.waits,
        wait_p50_ns: wait(0.5),
        wait_p90_ns: wait(0.9),
        wait_p99_ns: wait(0.99),
        wait_max_ns,
        slice_p50_ns: class_quantile(slices, 0.5, slice_max_ns),
        slice_max_ns,
        migrations_same_l2: add(before.migrations_same_l2, after.migrations_same_l2),
        migrations_same_l3: add(before.migrations_same_l3, after.migrations_same_l3),
        migrations_across: add(before.migrations_across, after.migrations_across),
        displaced: add(before.displaced, after.displaced),
        switch_cost_ns: before
            .switch_cost_ns
            .or(after.switch_cost_ns)
            .and(cost(before.switch_cost_ns, after.switch_cost_ns)),
        process_switches: add(before.process_switches, after.process_switches),
        thread_switches: add(before.thread_switches, after.thread_switches),
        ..after
    }
}

fn cpus(first: &[CpuRow], second: Vec<CpuRow>) -> Vec<CpuRow> {
    let mut by_cpu: BTreeMap<u32, CpuRow> = first.iter().map(|row| (row.cpu, row.clone())).collect();
    for row in second {
        let sum = by_cpu.entry(row.cpu).or_insert_with(|| CpuRow { cpu: row.cpu, ..CpuRow::default() });
        sum.switches += row.switches;
        sum.idle_switches += row.idle_switches;
        sum.run_ns += row.run_ns;
        sum.lost += row.lost;
    }
    by_cpu.into_values().collect()
}

/// Sums of classes; those of the first part are narrower, and go where they begin.
fn histograms(first: &[HistogramRow], second: &[HistogramRow]) -> Vec<HistogramRow> {
    type Classes = BTreeMap<u64, (u64, u64)>;
    let mut sums: BTreeMap<(&str, &str), Classes> = BTreeMap::new();
    for row in second {
        let classes = sums.entry((&row.metric, &row.of)).or_default();
        classes.insert(row.from_ns, (row.to_ns, row.count));
    }
    for row in first {
        let classes = sums.entry((&row.metric, &row.of)).or_default();
        let wider = classes.range_mut(..=row.from_ns).next_back().filter(|(_, (to, _))| *to >= row.to_ns);
        match wider {
            Some((_, (_, count))) => *count += row.count,
            None => classes.entry(row.from_ns).or_insert((row.to_ns, 0)).1 += row.count,
        }
    }
    let rows = sums.into_iter().flat_map(|((metric, of), classes)| {
        HistogramRow::of(metric, of, classes.into_iter().map(|(from, (to, count))| (from, to, count)))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(tid: u32, first_ns: u64, voluntary: u64) -> TaskRow {
        TaskRow { tid, pid: tid, in_scope: true, first_ns, voluntary, ..TaskRow::default() }
    }

    fn class(of: &str, from_ns: u64, to_ns: u64, count: u64) -> HistogramRow {
        HistogramRow { metric: "wait".into(), of: of.into(), from_ns, to_ns, count }
    }

    #[test]
    fn who_went_on_is_one_row_and_who_took_the_number_is_another() {
        let first = Tables { tasks: vec![task(1, 0, 5), task(2, 0, 7)], ..Tables::default() };
        let second =
            Tables { tasks: vec![task(1, 100, 3), task(2, 140, 1), task(3, 150, 2)], ..Tables::default() };
        let rows = tables(&first, second, 100).tasks;
        let found: Vec<(u32, u64, u64)> =
            rows.iter().map(|row| (row.tid, row.first_ns, row.voluntary)).collect();
        assert_eq!(found, [(1, 0, 8), (2, 0, 7), (2, 140, 1), (3, 150, 2)]);
    }

    #[test]
    fn who_was_only_named_before_counts_from_then_on() {
        let named = TaskRow { in_scope: false, ..task(1, 0, 0) };
        let first = Tables { tasks: vec![named], ..Tables::default() };
        let rows = tables(&first, Tables { tasks: vec![task(1, 90, 3)], ..Tables::default() }, 100).tasks;
        assert_eq!(rows.iter().map(|row| (row.in_scope, row.voluntary)).collect::<Vec<_>>(), [(true, 3)]);
    }

    #[test]
    fn quantiles_come_from_both_histograms() {
        let first = Tables {
            tasks: vec![task(1, 0, 5)],
            histograms: vec![class("task 1", 8, 10, 50), class("task 1", 100, 110, 1)],
            ..Tables::default()
        };
        let second = Tables {
            tasks: vec![task(1, 90, 3)],
            histograms: vec![class("task 1", 8, 12, 40), class("task 1", 1000, 1500, 9)],
            ..Tables::default()
        };
        let found = tables(&first, second, 100);
        assert_eq!(found.histograms.iter().map(|row| row.count).collect::<Vec<_>>(), [90, 1, 9]);
        assert_eq!((found.tasks[0].wait_p50_ns, found.tasks[0].wait_p99_ns), (Some(10), Some(1250)));
    }

    /// Of 50 waits of 9 ns and 40 that only the second part counted, no percentile is known; nor of all tasks together.
    #[test]
    fn quantiles_of_one_part_are_none_of_the_whole() {
        let with_waits = |row: TaskRow, waits| TaskRow { waits, ..row };
        let first = Tables {
            tasks: vec![with_waits(task(1, 0, 5), 50)],
            histograms: vec![class("all", 8, 10, 50), class("task 1", 8, 10, 50)],
            ..Tables::default()
        };
        let second = Tables { tasks: vec![with_waits(task(1, 90, 3), 40)], ..Tables::default() };
        let found = tables(&first, second.clone(), 100);
        assert_eq!((found.tasks[0].waits, found.tasks[0].wait_p50_ns), (90, None));
        assert_eq!(found.histograms.iter().map(|row| row.of.as_str()).collect::<Vec<_>>(), ["task 1"]);
        // A second part without a wait changes nothing.
        let quiet = Tables { tasks: vec![task(1, 90, 3)], ..second };
        let found = tables(&first, quiet, 100);
        assert_eq!((found.tasks[0].wait_p50_ns, found.histograms.len()), (Some(9), 2));
    }

    #[test]
    fn a_total_that_one_part_lacks_is_missing() {
        let mut second = Totals { threads_created: Some(2), wakeups: Some(1), ..Totals::default() };
        let first = Totals { threads_created: Some(1), ..Totals::default() };
        add_totals(&first, &mut second);
        assert_eq!((second.threads_created, second.wakeups), (Some(3), None));
        assert_eq!(second.context_switches.voluntary, None);
    }
}
