//! A recording as text for a terminal: the bill first, within one screen.

use super::paragraph;
use super::stacks;
use crate::recording::{Summary, sampled, source};
use crate::wording::bill::{answer, cause_text, reasons};
use crate::wording::text::count as grouped;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use swtch_cost::Advice;
use swtch_trace::model::{Ended, Header};
use swtch_trace::tables::CgroupRow;
use swtch_trace::{SourceKind, figures};
use swtch_units::{TextTable, format_ns};

/// Tasks and pairs shown; the page and `--json` have all.
const TASKS: usize = 8;
const PAIRS: usize = 3;
/// Cgroups shown, and tasks when there are such: all of it is to stay on one screen.
const GROUPS: usize = 4;
const TASKS_BESIDE_GROUPS: usize = 5;
/// Columns of a cgroup's path.
const PATH: usize = 36;

/// The summary as lines of at most about 100 columns.
pub fn recording(summary: &Summary<'_>) -> String {
    let mut text = answer(summary);
    for cause in summary.bill.causes.iter().take(PAIRS) {
        text.push_str(&format!("  {}\n", cause_text(cause)));
    }
    text.push('\n');
    text.push_str(&totals(summary.trace.header));
    text.push('\n');
    let groups = groups(&summary.trace.cgroups);
    text.push_str(&tasks(summary, if groups.is_empty() { TASKS } else { TASKS_BESIDE_GROUPS }));
    text.push_str(&groups);
    text.push_str(&preemptions(summary));
    text.push_str(&stacks::stacks(summary.trace));
    text.push_str(&circumstances(summary.trace.header));
    if let Some(found) = summary.advice {
        text.push_str(&advice(found));
    }
    text
}

/// What stands out, what shows it, what to try and what is known of the saving.
fn advice(found: &[Advice]) -> String {
    if found.is_empty() {
        return "\nNothing stands out.\n".to_owned();
    }
    let mut text = String::new();
    for one in found {
        text.push_str(&format!("\n{}", paragraph("", &format!("{}: {}", one.what, reasons(one)), 2)));
    }
    text
}

fn totals(header: &Header) -> String {
    let totals = &header.totals;
    let seconds = header.duration_ns as f64 / 1e9;
    let switches = &totals.context_switches;
    let rate = known(figures::switches_per_second(header), |rate| format!("{rate:.0}"));
    let mut lines = vec![format!(
        "switches    {} voluntary, {} involuntary; {rate} a second over {seconds:.2} s; and {} from idle",
        count(switches.voluntary),
        count(switches.involuntary),
        count(switches.idle),
    )];
    let moves = &totals.migrations;
    lines.push(format!(
        "wake-ups    {};  migrations {} within an L2, {} within an L3, {} across",
        count(totals.wakeups),
        count(moves.same_l2),
        count(moves.same_l3),
        count(moves.across)
    ));
    let processes = &totals.processes;
    lines.push(format!(
        "processes   {} forked, {} exited, {} at most at once",
        count(processes.forked),
        count(processes.exited),
        count(processes.peak)
    ));
    if let Some(throttled) = totals.throttled.as_ref().filter(|throttled| throttled.throttled_periods > 0) {
        lines.push(format!(
            "throttled   {} in {} of {} periods: the cgroup's quota stopped it",
            time(throttled.throttled_ns),
            throttled.throttled_periods,
            throttled.periods
        ));
    }
    format!("  {}\n", lines.join("\n  "))
}

fn tasks(summary: &Summary<'_>, most: usize) -> String {
    let counts = ["task", "tid", "CPU time", "voluntary", "involuntary"].into_iter();
    let mut table = TextTable::new(counts.chain(["wait p50", "p99", "max", "switch cost"]));
    let shown = summary.shown_tasks();
    for task in shown.iter().take(most) {
        let counts = [task.voluntary, task.involuntary].map(grouped);
        let times = [task.wait_p50_ns, task.wait_p99_ns, task.wait_max_ns, task.switch_cost_ns];
        let identity = [task.comm.clone(), task.tid.to_string(), time(figures::cpu_ns(task))];
        let times = times.map(|ns| known(ns, time));
        table.row(identity.into_iter().chain(counts).chain(times));
    }
    let more = shown.len().saturating_sub(most);
    let heading = if more > 0 {
        format!("Tasks with most switches ({more} more in the Trace); wait: ready, and no CPU free")
    } else {
        "Tasks; wait: ready, and no CPU free".to_owned()
    };
    table.under(&heading)
}

/// The cgroups with most switches; nothing unless several have any.
fn groups(all: &[CgroupRow]) -> String {
    let switched: Vec<&CgroupRow> = all.iter().filter(|row| row.voluntary + row.involuntary > 0).collect();
    if switched.len() < 2 {
        return String::new();
    }
    let titles = ["cgroup", "threads", "run time", "voluntary", "involuntary", "waited", "throttled"];
    let mut table = TextTable::new(titles);
    for row in switched.iter().take(GROUPS) {
        table.row([
            ending(&row.shown_name()),
            grouped(row.tasks),
            time(row.run_ns),
            grouped(row.voluntary),
            grouped(row.involuntary),
            time(row.wait_ns),
            row.throttled_ns.map_or_else(|| "no quota".to_owned(), time),
        ]);
    }
    let heading = match switched.len().saturating_sub(GROUPS) {
        0 => "Cgroups".to_owned(),
        more => format!("Cgroups with most switches ({more} more in the Trace)"),
    };
    let throttled = switched.iter().take(GROUPS).any(|row| row.throttled_ns > Some(0));
    let heading = if throttled { format!("{heading}; waited: throttled time included") } else { heading };
    table.under(&heading)
}

/// The end of a name that is too long: its beginning is that of many.
fn ending(path: &str) -> String {
    let length = path.chars().count();
    if length <= PATH {
        return path.to_owned();
    }
    let end: String = path.chars().skip(length + 1 - PATH).collect();
    format!("…{end}")
}

/// Which programs preempted which: the pairs of threads with the same two names are one line.
fn preemptions(summary: &Summary<'_>) -> String {
    #[derive(Default)]
    struct Pair {
        threads: u64,
        count: u64,
        waited_ns: Option<u64>,
    }
    let names = summary.names();
    let mut pairs: BTreeMap<(Cow<'_, str>, Cow<'_, str>), Pair> = BTreeMap::new();
    for row in &summary.trace.preemptions {
        let pair = pairs.entry((names.of(row.by_tid), names.of(row.of_tid))).or_default();
        pair.waited_ns =
            if pair.threads == 0 { row.ns } else { pair.waited_ns.zip(row.ns).map(|(a, b)| a + b) };
        pair.threads += 1;
        pair.count += row.count;
    }
    if pairs.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<_> = pairs.into_iter().collect();
    sorted.sort_by_key(|(_, pair)| Reverse(pair.count));
    let shown = sorted.iter().take(PAIRS).map(|((by, of), pair)| {
        let threads = match pair.threads {
            1 => String::new(),
            threads => format!(" ({} pairs of threads)", grouped(threads)),
        };
        let waited = pair.waited_ns.map_or_else(String::new, |ns| format!(" and then waited {}", time(ns)));
        let times =
            if pair.count == 1 { "once".to_owned() } else { format!("{} times", grouped(pair.count)) };
        format!("  {of} was preempted by {by} {times}{threads}{waited}\n")
    });
    format!("Preemptions\n{}", shown.collect::<String>())
}

fn circumstances(header: &Header) -> String {
    let provenance = &header.provenance;
    let mut text = format!("Seen by {}: {}.\n", source(&provenance.recorder), provenance.why);
    let lost = header.lost_events();
    match header.lost.first() {
        Some(first) => text.push_str(&format!("LOST: {} events ({}).\n", grouped(lost), first.what)),
        None if provenance.source().is_some_and(SourceKind::is_sampled) => {}
        None => text.push_str("No event was lost.\n"),
    }
    text.extend(sampled(header).map(|words| words + ".\n"));
    for row in &header.reconciliation {
        text.push_str(&format!(
            "{}: {} counted, the kernel says {} ({}), a difference of {}.\n",
            row.what,
            grouped(row.counted),
            grouped(row.kernel),
            row.source,
            row.difference()
        ));
    }
    if !matches!(provenance.ended, Ended::Complete | Ended::Duration) {
        text.push_str(&format!("It ended early: {}.\n", provenance.ended));
    }
    text
}

fn time(ns: u64) -> String {
    format_ns(ns as f64)
}

fn count(value: Option<u64>) -> String {
    known(value, grouped)
}

fn known<T>(value: Option<T>, words: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "n/a".to_owned(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn control_groups_are_a_few_short_lines_and_only_when_there_are_several() {
        let row = |path: String, voluntary: u64, throttled_ns| CgroupRow {
            path,
            voluntary,
            run_ns: 3_000_000,
            throttled_ns,
            ..CgroupRow::default()
        };
        let quiet = row("/quiet".into(), 0, None);
        assert_eq!(groups(&[row("/web".into(), 5, None), quiet.clone()]), "");
        let long = format!("/kubepods.slice/{}", "0123456789abcdef".repeat(10));
        let mut all = vec![row(long, 90_000_000, Some(450_000_000)), quiet];
        all.extend((0..7).map(|number| row(format!("/job{number}"), 5, None)));
        let text = groups(&all);
        assert!(text.lines().all(|line| line.chars().count() <= 104), "{text}");
        assert_eq!(text.lines().count(), 2 + GROUPS, "{text}");
        assert!(text.contains("(4 more in the Trace)") && text.contains("450 ms"), "{text}");
        assert!(text.contains("…") && !text.contains("quiet"), "{text}");
    }
}
