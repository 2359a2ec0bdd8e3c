//! What one task, or one CPU, can have done.

use super::{Facts, LENGTH, MS, with_tolerance};
use crate::tables::{CpuRow, TaskRow, TraceView};
use swtch_units::input_error::Checks;

pub(super) fn check(trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    for row in &trace.tasks {
        let named = |column: &str| format!("tasks.{column} of tid {} ({})", row.tid, row.comm);
        if row.in_scope {
            counts(row, &named, facts, checks);
            // Tasks without a number share a row with others.
            if row.tid != 0 {
                durations(row, &named, facts, checks);
            }
        } else {
            let switches = row.switches();
            checks.require(switches == 0 && row.run_ns == 0, &named("in_scope"), || {
                format!("it was not recorded and has {switches} switches")
            });
        }
        moments(row, &named, facts, checks);
    }
    for row in &trace.cpus {
        cpu(row, trace, facts, checks);
    }
}

/// Counts that no time permits, and counts of one thing that contradict each other.
fn counts(row: &TaskRow, named: &dyn Fn(&str) -> String, facts: &Facts, checks: &mut Checks) {
    let shares = if row.tid == 0 { u64::MAX } else { 1 };
    if facts.real {
        let most = facts.most().saturating_mul(shares);
        let what = format!("all that {} ns permit", facts.span_ns);
        checks.at_most(&named("voluntary"), row.voluntary, most, &what);
        checks.at_most(&named("involuntary"), row.involuntary, most, &what);
        let everywhere = most.saturating_mul(facts.cpus.max(1));
        checks.at_most(&named("wakeups"), row.wakeups, everywhere, &what);
    }
    if facts.wakeups && row.tid != 0 {
        // Every sleep but the last ends in a wake-up. One with a signal pending is counted and is none.
        let most = with_tolerance(row.wakeups, 4, facts.lost.saturating_add(64));
        checks.require(row.voluntary <= most, &named("voluntary"), || {
            format!("{} sleeps cannot end in {} wake-ups", row.voluntary, row.wakeups)
        });
    }
    if facts.gappy {
        return;
    }
    let switches = row.switches();
    let migrations = [row.migrations_same_l2, row.migrations_same_l3, row.migrations_across];
    let migrations = migrations.into_iter().flatten().fold(0, u64::saturating_add);
    let most = switches.saturating_add(facts.slack(switches));
    checks.at_most(&named("migrations"), migrations, most, "its switches with what may be lost");
}

/// Times that no recording of this length has.
fn durations(row: &TaskRow, named: &dyn Fn(&str) -> String, facts: &Facts, checks: &mut Checks) {
    checks.at_most(&named("run_ns"), row.run_ns, facts.run_wall_ns(), LENGTH);
    let used_ns = row.user_ns.unwrap_or(0).saturating_add(row.system_ns.unwrap_or(0));
    checks.at_most(&named("user_ns and system_ns"), used_ns, facts.kernel_wall_ns(), LENGTH);
    checks.at_most(&named("slice_max_ns"), row.slice_max_ns.unwrap_or(0), facts.kernel_wall_ns(), LENGTH);
    if !facts.kernel_sums {
        // By the kernel's sum, a wait that began before the recording is whole.
        let both_ns = row.run_ns.saturating_add(row.wait_ns);
        checks.at_most(&named("run_ns and wait_ns"), both_ns, facts.wall_ns(), LENGTH);
        checks.at_most(&named("wait_max_ns"), row.wait_max_ns.unwrap_or(0), facts.wall_ns(), LENGTH);
    }
    if facts.cpus > 0 {
        let most = facts.wall_ns().saturating_mul(facts.cpus);
        let what = "the time of all CPUs with its tolerance in ns";
        checks.at_most(&named("switch_cost_ns"), row.switch_cost_ns.unwrap_or(0), most, what);
    }
    let waits = [
        ("wait_p50_ns", row.wait_p50_ns),
        ("wait_p90_ns", row.wait_p90_ns),
        ("wait_p99_ns", row.wait_p99_ns),
    ];
    ordered(&waits, row.wait_max_ns, named, checks);
    ordered(&[("slice_p50_ns", row.slice_p50_ns)], row.slice_max_ns, named, checks);
}

/// Quantiles rise, and the largest value is above them: up to a class of half an octave, which older versions reported by its middle.
fn ordered(
    quantiles: &[(&str, Option<u64>)],
    max_ns: Option<u64>,
    named: &dyn Fn(&str) -> String,
    checks: &mut Checks,
) {
    let mut below = 0;
    for (column, value) in quantiles {
        let Some(value) = *value else { continue };
        checks.require(value >= below, &named(column), || {
            format!("{value} is below a lower quantile, {below}")
        });
        below = value;
        if let Some(max_ns) = max_ns {
            checks.at_most(
                &named(column),
                value,
                with_tolerance(max_ns, 2, 1),
                "the longest with a class's width in ns",
            );
        }
    }
}

/// Times that go backwards, or beyond the end.
fn moments(row: &TaskRow, named: &dyn Fn(&str) -> String, facts: &Facts, checks: &mut Checks) {
    checks.require(row.first_ns <= row.last_ns, &named("last_ns"), || {
        format!("it was last seen at {} ns, before it was first seen, at {} ns", row.last_ns, row.first_ns)
    });
    checks.at_most(&named("last_ns"), row.last_ns, facts.wall_ns(), LENGTH);
}

fn cpu(row: &CpuRow, trace: TraceView<'_>, facts: &Facts, checks: &mut Checks) {
    let named = |column: &str| format!("cpus.{column} of CPU {}", row.cpu);
    let twice = trace.cpus.iter().filter(|other| other.cpu == row.cpu).count();
    checks.require(twice == 1, &named("cpu"), || format!("it has {twice} rows"));
    checks.at_most(&named("run_ns"), row.run_ns, facts.run_wall_ns(), LENGTH);
    let used = [row.user_ns, row.system_ns, row.irq_ns, row.softirq_ns];
    let used_ns = used.into_iter().flatten().fold(0, u64::saturating_add);
    let figure = named("user_ns, system_ns, irq_ns and softirq_ns");
    checks.at_most(&figure, used_ns, facts.kernel_wall_ns(), LENGTH);
    if facts.real {
        let switches = row.switches.saturating_add(row.idle_switches);
        let what = format!("all that {} ns permit", facts.span_ns);
        checks.at_most(&named("switches"), switches, facts.most(), &what);
    } else {
        // A simulated CPU's idle time is not a reading of another clock, so the sum has a limit.
        let both_ns = row.run_ns.saturating_add(row.idle_ns);
        checks.at_most(&named("run_ns and idle_ns"), both_ns, facts.span_ns.saturating_add(MS), LENGTH);
    }
}
