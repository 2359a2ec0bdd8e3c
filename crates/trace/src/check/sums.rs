//! Totals against the tables that they are sums of.

use super::{Facts, MS, sum, sum_known, with_tolerance};
use crate::model::{Origin, Scope};
use crate::tables::{CgroupRow, Columns, IntervalRow, SwitchRow, TaskRow, TraceView};
use std::collections::{HashMap, HashSet};
use swtch_units::input_error::Checks;

pub(super) fn check(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    tasks(trace, facts, checks);
    cpus(trace, facts, checks);
    intervals(trace, facts, checks);
    cgroups(trace, facts, checks);
    pairs(trace, facts, checks);
    waits(trace, checks);
}

/// Requires that two counts of one thing agree up to what may be missing.
fn agree(checks: &mut Checks, figure: &str, value: u64, other: u64, slack: u64, what: &str) {
    checks.require(value.abs_diff(other) <= slack, figure, || {
        format!("{value} is not {what}, {other} (and may differ by {slack})")
    });
}

/// The totals are the sums over the tasks in scope.
fn tasks(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let totals = &trace.header.totals;
    let switches = &totals.context_switches;
    let rows = &trace.tasks;
    // A task whose only event is a text's first one, or a simulation's, has no row: nothing is known of it.
    let rowless = if trace.header.provenance.origin == Origin::Recorded { 0 } else { rows.len() as u64 + 16 };
    let mut same = |group: &str, column: &str, total: Option<u64>, of: fn(&TaskRow) -> u64, more: u64| {
        let Some(total) = total else { return };
        let found = sum(rows, of);
        let slack = facts.slack(found).saturating_add(rowless).saturating_add(more);
        let what = format!("the sum of tasks.{column}");
        agree(checks, &format!("{group}.{column}"), total, found, slack, &what);
    };
    same("totals.context_switches", "voluntary", switches.voluntary, |row| row.voluntary, 0);
    same("totals.context_switches", "involuntary", switches.involuntary, |row| row.involuntary, 0);
    let born = if facts.real { 0 } else { totals.threads_created.unwrap_or(0) };
    same("totals", "wakeups", totals.wakeups, |row| row.wakeups, born);
    // Estimates of the whole and of its parts do not quite add up.
    let sampled = trace.header.sampled.contains_key("totals.switch_cost_ns");
    if let (Some(total), Some(found), false) =
        (totals.switch_cost_ns, sum_known(rows, |row| row.switch_cost_ns), sampled)
    {
        let what = "totals.switch_cost_ns with its tolerance";
        checks.at_most("tasks.switch_cost_ns, summed", found, with_tolerance(total, 50, MS), what);
    }
}

/// No more switches of tasks than were seen on CPUs.
fn cpus(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let switches = &trace.header.totals.context_switches;
    let on_cpus = sum(&trace.cpus, |row| row.switches);
    let with_idle = on_cpus.saturating_add(sum(&trace.cpus, |row| row.idle_switches));
    if on_cpus == 0 || facts.lost > 0 {
        return;
    }
    // CPUs and tasks are read one after the other.
    let most = with_tolerance(with_idle, 10, 1000);
    let total = switches.voluntary.unwrap_or(0).saturating_add(switches.involuntary.unwrap_or(0));
    checks.at_most("totals.context_switches", total, most, "the sum of cpus.switches with its tolerance");
    // A recording of some tasks holds switches of others, too, which no CPU counts: of those in front while one of the tasks waits.
    if trace.header.scope == Scope::Machine {
        let rows = trace.header.table(SwitchRow::TABLE).map_or(0, |table| table.rows);
        checks.at_most("the table switches", rows, most, "the sum of cpus.switches with its tolerance");
    }
    if !facts.kernel_sums {
        let of_tasks = sum(&trace.tasks, |row| row.run_ns);
        let of_cpus = sum(&trace.cpus, |row| row.run_ns);
        let what = "the sum of tasks.run_ns with its tolerance";
        checks.at_most("cpus.run_ns, summed", of_cpus, with_tolerance(of_tasks, 100, MS), what);
    }
}

/// Over time, as much as in all. Counters that are sampled may leave out the ends.
fn intervals(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let totals = &trace.header.totals;
    // What a source that counts has lost comes off its sums at one moment, and not off what it said before.
    if facts.lost > 0 || trace.intervals.is_empty() {
        return;
    }
    let over_time = |of: fn(&IntervalRow) -> Option<u64>| {
        sum_known(&trace.intervals, |row| of(row).filter(|_| row.cpu.is_none()))
    };
    let mut most = |figure: &str, found: Option<u64>, total: Option<u64>, what: &str| {
        let (Some(found), Some(total)) = (found, total) else { return };
        // A switch that the kernel then says was of the other kind is counted in the interval in which it looked so.
        checks.at_most(figure, found, with_tolerance(total, 10, 64), what);
    };
    let switches = &totals.context_switches;
    let all = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
    most(
        "intervals.voluntary and intervals.involuntary, summed",
        all(over_time(|row| row.voluntary), over_time(|row| row.involuntary)),
        all(switches.voluntary, switches.involuntary),
        "totals.context_switches with its tolerance",
    );
    let what = "totals.context_switches.idle with its tolerance";
    most("intervals.idle_switches, summed", over_time(|row| row.idle_switches), switches.idle, what);
    let what = "totals.wakeups with its tolerance";
    // Wake-ups of tasks that are forked are in the intervals of a simulation.
    let wakeups = totals.wakeups.map(|wakeups| match (facts.real, totals.threads_created) {
        (false, Some(born)) => wakeups.saturating_add(born).saturating_add(trace.tasks.len() as u64),
        _ => wakeups,
    });
    most("intervals.wakeups, summed", over_time(|row| row.wakeups), wakeups, what);
    if let Some(run_ns) = over_time(|row| row.run_ns) {
        let of_tasks = sum(&trace.tasks, |row| row.run_ns);
        let bound = with_tolerance(of_tasks, 50, facts.run_wall_ns() - facts.span_ns);
        let what = "the sum of tasks.run_ns with its tolerance";
        checks.at_most("intervals.run_ns, summed", run_ns, bound, what);
    }
}

/// A cgroup is the sum of its tasks.
fn cgroups(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    if trace.cgroups.is_empty() {
        return;
    }
    let mut most = |column: &str, of_group: fn(&CgroupRow) -> u64, of_task: fn(&TaskRow) -> u64| {
        let of_tasks = sum(&trace.tasks, of_task);
        let bound = of_tasks.saturating_add(facts.slack(of_tasks));
        let (figure, what) = (format!("cgroups.{column}, summed"), format!("the sum of tasks.{column}"));
        checks.at_most(&figure, sum(&trace.cgroups, of_group), bound, &what);
    };
    most("voluntary", |row| row.voluntary, |row| row.voluntary);
    most("involuntary", |row| row.involuntary, |row| row.involuntary);
    most("run_ns", |row| row.run_ns, |row| row.run_ns);
    most("wait_ns", |row| row.wait_ns, |row| row.wait_ns);
}

/// The parts of waits are no more than the waits.
fn waits(trace: TraceView<'_>, checks: &mut Checks) {
    let mut parts: HashMap<u32, u64> = HashMap::new();
    for row in &trace.waits {
        let ns = parts.entry(row.of_tid).or_default();
        *ns = ns.saturating_add(row.ns);
    }
    let mut waits: HashMap<u32, u64> = HashMap::new();
    for task in &trace.tasks {
        let ns = waits.entry(task.tid).or_default();
        *ns = ns.saturating_add(task.wait_ns);
    }
    for (tid, ns) in parts {
        let most = waits.get(&tid).copied().unwrap_or(0);
        checks.at_most(&format!("waits.ns of tid {tid}, summed"), ns, most, "its wait_ns in ns");
    }
}

/// Pairs of tasks are parts of what each did.
fn pairs(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let switches = sum(&trace.tasks, |row| row.voluntary.saturating_add(row.involuntary));
    let preemptions = sum(&trace.preemptions, |row| row.count);
    let bound = switches.saturating_add(facts.slack(switches));
    checks.at_most("preemptions.count, summed", preemptions, bound, "the switches of all tasks");
    if !facts.kernel_sums {
        let waited_ns = sum(&trace.tasks, |row| row.wait_ns);
        let found = sum_known(&trace.preemptions, |row| row.ns).unwrap_or(0);
        let what = "the sum of tasks.wait_ns with its tolerance";
        checks.at_most("preemptions.ns, summed", found, with_tolerance(waited_ns, 50, MS), what);
    }
    for row in &trace.wakes {
        let figure = format!("wakes.same_cpu of {} and {}", row.waker_tid, row.wakee_tid);
        checks.at_most(&figure, row.same_cpu.unwrap_or(0), row.count.saturating_add(facts.lost), "its count");
    }
    let in_scope: HashSet<u32> = trace.in_scope().map(|row| row.tid).collect();
    let woken = sum(&trace.tasks, |row| row.wakeups);
    let found = sum(&trace.wakes, |row| if in_scope.contains(&row.wakee_tid) { row.count } else { 0 });
    if facts.wakeups && facts.real {
        let bound = woken.saturating_add(facts.slack(woken));
        checks.at_most("wakes.count, summed", found, bound, "the sum of tasks.wakeups with its tolerance");
    }
}
