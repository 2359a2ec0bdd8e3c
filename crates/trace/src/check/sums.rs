//! Totals against the tables that they are sums of.

use super::{Facts, sum, sum_known};
use crate::model::{Origin, Scope};
use crate::tables::{TaskRow, TraceView};
use swtch_units::input_error::Checks;

pub(super) fn check(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    tasks(trace, facts, checks);
    cpus(trace, facts, checks);
    intervals(trace, facts, checks);
    cgroups(trace, facts, checks);
    pairs(trace, facts, checks);
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
    let mut same = |figure: &str, total: Option<u64>, of: fn(&TaskRow) -> u64, what: &str| {
        let Some(total) = total else { return };
        let found = sum(rows, of);
        agree(checks, figure, total, found, facts.slack(found).saturating_add(rowless), what);
    };
    let figure = "totals.context_switches.voluntary";
    same(figure, switches.voluntary, |row| row.voluntary, "the sum of tasks.voluntary");
    let figure = "totals.context_switches.involuntary";
    same(figure, switches.involuntary, |row| row.involuntary, "the sum of tasks.involuntary");
    let born = totals.threads_created.unwrap_or(0);
    if let Some(wakeups) = totals.wakeups {
        let found = sum(rows, |row| row.wakeups);
        let slack =
            facts.slack(found).saturating_add(rowless).saturating_add(if facts.real { 0 } else { born });
        agree(checks, "totals.wakeups", wakeups, found, slack, "the sum of tasks.wakeups");
    }
    if let (Some(total), Some(found)) = (totals.switch_cost_ns, sum_known(rows, |row| row.switch_cost_ns)) {
        let most = total.saturating_add(total / 50).saturating_add(1_000_000);
        checks.at_most(
            "tasks.switch_cost_ns, summed",
            found,
            most,
            "totals.switch_cost_ns with its tolerance",
        );
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
    let most = with_idle.saturating_add(with_idle / 10).saturating_add(1000);
    let total = switches.voluntary.unwrap_or(0).saturating_add(switches.involuntary.unwrap_or(0));
    checks.at_most("totals.context_switches", total, most, "the sum of cpus.switches with its tolerance");
    // A recording of some tasks holds switches of others, too, which no CPU counts: of those in front while one of the tasks waits.
    if trace.header.scope == Scope::Machine {
        let rows =
            trace.header.tables.iter().find(|table| table.name == "switches").map_or(0, |table| table.rows);
        checks.at_most("the table switches", rows, most, "the sum of cpus.switches with its tolerance");
    }
    if !facts.kernel_sums {
        let of_tasks = sum(&trace.tasks, |row| row.run_ns);
        let most = of_tasks.saturating_add(of_tasks / 100).saturating_add(1_000_000);
        let of_cpus = sum(&trace.cpus, |row| row.run_ns);
        checks.at_most("cpus.run_ns, summed", of_cpus, most, "the sum of tasks.run_ns with its tolerance");
    }
}

/// Over time, as much as in all. Counters that are sampled may leave out the ends.
fn intervals(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let totals = &trace.header.totals;
    // What a source that counts has lost comes off its sums at one moment, and not off what it said before.
    if facts.lost > 0 || trace.intervals.is_empty() {
        return;
    }
    let over_time = |of: fn(&crate::tables::IntervalRow) -> Option<u64>| {
        sum_known(&trace.intervals, |row| of(row).filter(|_| row.cpu.is_none()))
    };
    let mut most = |figure: &str, found: Option<u64>, total: Option<u64>, what: &str| {
        let (Some(found), Some(total)) = (found, total) else { return };
        // A switch that the kernel then says was of the other kind is counted in the interval in which it looked so.
        let bound = total.saturating_add(total / 10).saturating_add(64);
        checks.at_most(figure, found, bound, what);
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
        let late_ns = facts.run_wall_ns() - facts.span_ns;
        let bound = of_tasks.saturating_add(of_tasks / 50).saturating_add(late_ns);
        checks.at_most(
            "intervals.run_ns, summed",
            run_ns,
            bound,
            "the sum of tasks.run_ns with its tolerance",
        );
    }
}

/// A control group is the sum of its tasks.
fn cgroups(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    if trace.cgroups.is_empty() {
        return;
    }
    let sums: [(&str, u64, u64); 4] = [
        ("voluntary", sum(&trace.cgroups, |row| row.voluntary), sum(&trace.tasks, |row| row.voluntary)),
        ("involuntary", sum(&trace.cgroups, |row| row.involuntary), sum(&trace.tasks, |row| row.involuntary)),
        ("run_ns", sum(&trace.cgroups, |row| row.run_ns), sum(&trace.tasks, |row| row.run_ns)),
        ("wait_ns", sum(&trace.cgroups, |row| row.wait_ns), sum(&trace.tasks, |row| row.wait_ns)),
    ];
    for (column, of_groups, of_tasks) in sums {
        let figure = format!("cgroups.{column}, summed");
        let most = of_tasks.saturating_add(facts.slack(of_tasks));
        checks.at_most(&figure, of_groups, most, &format!("the sum of tasks.{column}"));
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
        let bound = waited_ns.saturating_add(waited_ns / 50).saturating_add(1_000_000);
        checks.at_most("preemptions.ns, summed", found, bound, "the sum of tasks.wait_ns with its tolerance");
    }
    for row in &trace.wakes {
        let figure = format!("wakes.same_cpu of {} and {}", row.waker_tid, row.wakee_tid);
        checks.at_most(&figure, row.same_cpu.unwrap_or(0), row.count.saturating_add(facts.lost), "its count");
    }
    let in_scope: std::collections::HashSet<u32> =
        trace.tasks.iter().filter(|row| row.in_scope).map(|row| row.tid).collect();
    let woken = sum(&trace.tasks, |row| row.wakeups);
    let found = sum(&trace.wakes, |row| if in_scope.contains(&row.wakee_tid) { row.count } else { 0 });
    if facts.wakeups && facts.real {
        let bound = woken.saturating_add(facts.slack(woken));
        checks.at_most("wakes.count, summed", found, bound, "the sum of tasks.wakeups with its tolerance");
    }
}
