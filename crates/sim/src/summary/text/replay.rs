//! What only replays have: the answer, how far apart their seeds lie, and what changes to them do.

use super::{COLUMNS, SimulationDocument, ns};
use crate::ensemble::{Interval, PolicyFigures};
use crate::summary::effects::{Effect, FigureChange, TaskEffect, WhatIfEffects};
use swtch_units::TextTable;

/// Tasks that the answer names.
const NAMED: usize = 3;

/// The first lines: that the replays decide nothing, and why, or what the changes do.
pub(super) fn answer(document: &SimulationDocument) -> String {
    let Some(verdict) = &document.verdict else { return String::new() };
    let changed = document.what_if.as_ref();
    if verdict.decides {
        return changed.map_or_else(String::new, |what_if| format!("{}\n\n", what_they_do(what_if)));
    }
    let undecided = match changed {
        Some(_) if document.runs.len() < 2 => "Cannot decide what the changes do",
        _ => "Cannot decide between the policies",
    };
    let mut text = format!("{undecided}:\n");
    for reason in &verdict.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    text + "\n"
}

/// What the changes do to the waits that they change most, under the first policy.
fn what_they_do(what_if: &WhatIfEffects) -> String {
    let changes = what_if.changes.join(", ");
    let Some(effect) = what_if.policies.first() else { return format!("With {changes}: no run") };
    let mut rows: Vec<&TaskEffect> = effect.tasks.iter().filter(|row| row.wait_p99_ns.differs).collect();
    rows.sort_by(|one, other| {
        let far = |row: &TaskEffect| row.wait_p99_ns.part().unwrap_or(0.0).ln_1p().abs();
        far(other).total_cmp(&far(one))
    });
    if rows.is_empty() {
        return format!(
            "With {changes}, under {}: the 99th percentile of no task's waits changes by more than between seeds",
            effect.policy
        );
    }
    let waits = rows.iter().take(NAMED).map(|row| format!("of {} {}", row.name, cell(row.wait_p99_ns)));
    let more = if rows.len() > NAMED { ", and others" } else { "" };
    format!(
        "With {changes}, under {}: p99 of waits {}{more}",
        effect.policy,
        waits.collect::<Vec<_>>().join(", ")
    )
}

/// A policy's row: medians.
pub(super) fn row(run: &PolicyFigures) -> [String; COLUMNS.len()] {
    let wait = |wait: Option<Interval>| wait.map_or_else(|| "-".to_owned(), |wait| ns(wait.median));
    [
        run.policy.clone(),
        ns(run.makespan_ns.median) + if run.complete { "" } else { "*" },
        run.voluntary.median.to_string(),
        run.involuntary.median.to_string(),
        run.migrations.median.to_string(),
        wait(run.wait_p50_ns),
        wait(run.wait_p90_ns),
        wait(run.wait_p99_ns),
    ]
}

/// How far the replay is off, and the intervals of its figures.
pub(super) fn distances(document: &SimulationDocument) -> String {
    let Some(ensemble) = &document.ensemble else { return String::new() };
    let distance = document.recorded.as_ref().and_then(|recorded| recorded.distance(&ensemble.policies));
    let mut text = distance.map_or_else(String::new, |line| format!("{line}\n"));
    let titles = [
        "of the seeds, 95 % of the median".to_owned(),
        "makespan".to_owned(),
        "switches".to_owned(),
        "wait p50".to_owned(),
        "wait p99".to_owned(),
    ];
    let mut table = TextTable::new(titles);
    for run in &ensemble.policies {
        let time = |interval: Option<Interval>| between(interval, ns);
        table.row([
            run.policy.clone(),
            time(Some(run.makespan_ns)),
            between(Some(run.context_switches), |count| count.to_string()),
            time(run.wait_p50_ns),
            time(run.wait_p99_ns),
        ]);
    }
    text.push_str(&format!("\n{table}"));
    text
}

fn between(interval: Option<Interval>, show: impl Fn(u64) -> String) -> String {
    let ends = interval.and_then(|interval| interval.ci_low.zip(interval.ci_high));
    ends.map_or_else(|| "-".to_owned(), |(low, high)| format!("{} to {}", show(low), show(high)))
}

/// What changes do, a table a policy.
pub(super) fn effects(document: &SimulationDocument) -> String {
    let Some(what_if) = &document.what_if else { return String::new() };
    let changes = what_if.changes.join(", ");
    let mut text = String::new();
    for effect in &what_if.policies {
        let makespan = cell(effect.makespan_ns);
        text.push_str(&format!(
            "\nWith {changes}, under {}: makespan {makespan}\n{}",
            effect.policy,
            table(effect)
        ));
    }
    text + "~: no more than between seeds\n"
}

fn table(effect: &Effect) -> TextTable {
    let mut table = TextTable::new(["tasks", "wait p50", "wait p99", "longest wait", "on CPUs", "ended"]);
    for row in &effect.tasks {
        let times = [row.wait_p50_ns, row.wait_p99_ns, row.wait_max_ns, row.run_ns, row.ended_ns];
        table.row(std::iter::once(row.name.clone()).chain(times.map(cell)));
    }
    table
}

/// `1.20 ms -> 3.40 ms`, with `~` where the seeds explain the difference.
fn cell(change: FigureChange) -> String {
    let show = |interval: Option<Interval>| interval.map_or_else(|| "-".to_owned(), |one| ns(one.median));
    let (before, after) = (show(change.before), show(change.after));
    match (change.differs, before == after) {
        (false, true) => before,
        (false, false) if change.before.is_some() && change.after.is_some() => format!("{before} ~ {after}"),
        _ => format!("{before} -> {after}"),
    }
}
