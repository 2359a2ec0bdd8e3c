//! What the whole machine can have done in the time, and intervals in their order.

use super::{Facts, LENGTH, MS, SECOND, sum, sum_known, with_tolerance};
use crate::tables::{IntervalRow, TraceView};
use swtch_units::input_error::Checks;

pub(super) fn check(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    intervals(trace, facts, checks);
    interrupts(trace, facts, checks);
    for row in &trace.stacks {
        let figure = format!("stacks.wait_ns of {} in {}", row.task, row.function);
        checks.at_most(&figure, row.wait_ns, row.off_cpu_ns, "stacks.off_cpu_ns");
    }
    if facts.whole {
        totals(trace, facts, checks);
        machine(trace, facts, checks);
    }
}

/// Run time and cost against the wall time of all CPUs.
fn totals(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let totals = &trace.header.totals;
    let switches = &totals.context_switches;
    if facts.real {
        let most = facts.most().saturating_mul(facts.cpus.max(1));
        let what = format!("all that {} CPUs can do in {} ns", facts.cpus.max(1), facts.span_ns);
        for (figure, count) in [
            ("totals.context_switches.voluntary", switches.voluntary),
            ("totals.context_switches.involuntary", switches.involuntary),
            ("totals.context_switches.idle", switches.idle),
            ("totals.wakeups", totals.wakeups),
        ] {
            if facts.cpus > 0 {
                checks.at_most(figure, count.unwrap_or(0), most, &what);
            }
        }
    }
    if facts.cpus == 0 {
        return;
    }
    let run_ns = sum(&trace.tasks, |row| row.run_ns);
    let cost_ns = totals.switch_cost_ns.unwrap_or(0);
    let what = "the wall time of all CPUs with its tolerance in ns";
    let most = facts.run_wall_ns().saturating_mul(facts.cpus);
    checks.at_most("tasks.run_ns, summed", run_ns, most, what);
    checks.at_most("totals.switch_cost_ns", cost_ns, most, what);
    if !facts.kernel_sums && facts.lost == 0 && !facts.gappy {
        // By events, a task runs from the end of one switch to the beginning of the next.
        let both_ns = run_ns.saturating_add(cost_ns);
        checks.at_most("tasks.run_ns, summed, and totals.switch_cost_ns", both_ns, most, what);
    }
}

/// The kernel's own counters of the machine.
fn machine(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let header = trace.header;
    let cpu = &header.totals.cpu_ns;
    if facts.cpus > 0 {
        let used_ns = [cpu.user, cpu.system, cpu.irq, cpu.softirq];
        let used_ns = used_ns.into_iter().flatten().fold(0, u64::saturating_add);
        let most = facts.kernel_wall_ns().saturating_mul(facts.cpus);
        let what = "the wall time of all CPUs with its tolerance in ns";
        checks.at_most("totals.cpu_ns (user, system, irq and softirq)", used_ns, most, what);
        if let Some(throttled) = &header.totals.throttled {
            checks.at_most("totals.throttled.throttled_ns", throttled.throttled_ns, most, what);
        }
    }
    if let Some(throttled) = &header.totals.throttled {
        let periods = throttled.periods.saturating_add(1);
        let what = "the periods in which the group wanted to run, and one";
        checks.at_most("totals.throttled.throttled_periods", throttled.throttled_periods, periods, what);
    }
    for row in &header.totals.pressure {
        let figure = format!("totals.pressure of {}", row.resource);
        checks.at_most(&figure, row.some_ns.unwrap_or(0), facts.kernel_wall_ns(), LENGTH);
        checks.at_most(&figure, row.full_ns.unwrap_or(0), facts.kernel_wall_ns(), LENGTH);
    }
    let created = header.totals.threads_created;
    if let (Some(forked), Some(created)) = (header.totals.processes.forked, created) {
        let what = "the threads that were created, those of processes among them";
        checks.at_most("totals.processes.forked", forked, created.saturating_add(facts.slack(created)), what);
    }
    // `reconciliation` is not checked: the kernel's count is read shortly after the first event and before the last. A recorder that was stopped in
    // between has seen far more than the kernel counted.
}

/// Intervals of the whole scope follow each other, and hold no more than their length permits.
fn intervals(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let mut end_ns = 0;
    for row in &trace.intervals {
        let named = |column: &str| format!("intervals.{column} at {} ns", row.at_ns);
        if row.cpu.is_none() {
            checks.require(row.at_ns.saturating_add(1) >= end_ns, &named("at_ns"), || {
                format!("it begins before the interval before it ends, at {end_ns} ns")
            });
            end_ns = row.at_ns.saturating_add(row.length_ns);
        }
        checks.at_most(&named("length_ns"), row.at_ns.saturating_add(row.length_ns), facts.wall_ns(), LENGTH);
        if facts.cpus > 0 {
            interval(row, &named, facts, checks);
        }
    }
}

fn interval(row: &IntervalRow, named: &dyn Fn(&str) -> String, facts: &Facts, checks: &mut Checks) {
    let cpus = if row.cpu.is_some() { 1 } else { facts.cpus };
    let late_ns = if facts.kernel_sums { facts.kernel_wall_ns() - facts.wall_ns() } else { 1_000_000 };
    let most_ns = row.length_ns.saturating_add(late_ns).saturating_mul(cpus);
    let what = format!("{} ns of {cpus} CPUs with their tolerance", row.length_ns);
    checks.at_most(&named("run_ns"), row.run_ns.unwrap_or(0), most_ns, &what);
    if facts.real {
        let bound = Facts { span_ns: row.length_ns, ..*facts };
        let late = if facts.kernel_sums || facts.lost > 0 { facts.most() } else { 0 };
        let most = bound.most().saturating_add(late).saturating_mul(cpus);
        let what = format!("all that {} ns permit", row.length_ns);
        for (column, count) in [
            ("voluntary", row.voluntary),
            ("involuntary", row.involuntary),
            ("idle_switches", row.idle_switches),
            ("wakeups", row.wakeups),
            ("migrations", row.migrations),
        ] {
            checks.at_most(&named(column), count.unwrap_or(0), most, &what);
        }
    }
}

fn interrupts(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    if facts.cpus == 0 {
        return;
    }
    for row in &trace.interrupts {
        let cpus = if row.cpu.is_some() { 1 } else { facts.cpus };
        let figure = format!("interrupts.ns of {} {}", row.line, row.name);
        let most = facts.wall_ns().saturating_add(SECOND).saturating_mul(cpus);
        checks.at_most(&figure, row.ns.unwrap_or(0), most, "the time of its CPUs with its tolerance in ns");
    }
    for row in &trace.interruptions {
        let figure = |column: &str| format!("interruptions.{column} at {} ns of CPU {}", row.at_ns, row.cpu);
        checks.at_most(&figure("ns"), row.ns, row.length_ns, "its length in ns");
        checks.at_most(
            &figure("length_ns"),
            row.at_ns.saturating_add(row.length_ns),
            facts.wall_ns(),
            LENGTH,
        );
    }
    let of_cpus = sum_known(&trace.interrupts, |row| row.ns.filter(|_| row.cpu.is_some()));
    let in_all = sum_known(&trace.interrupts, |row| row.ns.filter(|_| row.cpu.is_none()));
    if let (Some(of_cpus), Some(in_all)) = (of_cpus, in_all) {
        let most = with_tolerance(in_all, 100, MS);
        checks.at_most("interrupts.ns of all CPUs", of_cpus, most, "the sum over all lines in ns");
    }
}
