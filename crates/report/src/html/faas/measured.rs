//! How the figures came about: batches, counted switches, tests, and what did not complete.

use std::collections::BTreeMap;

use swtch_faas::response::{Check, Measurement};
use swtch_faas::tiers::{Ending, Invocation, Tiers};

use super::figures::{self, median_cell, work_cell};
use super::{Functions, responses, studies};
use crate::html::prelude::*;

/// The section.
pub(super) fn section(subjects: Functions<'_>) -> Section {
    let of_studies = studies(subjects).flat_map(|(one, tiers)| {
        let summary = one.prefixed("Every method by tier");
        let table = by_method(&format!("{summary}: the median of the invocations’ figures."), tiers);
        let failures = failures(&one.prefixed("Invocations that did not complete."), tiers);
        Block::folded(summary, table).into_iter().chain([failures.into()])
    });
    Section::bare("measured", "How it was measured")
        .put([Block::Definitions { items: definitions() }])
        .put([measurements(subjects)])
        .put(of_studies)
}

fn definitions() -> Vec<Definition> {
    vec![
        Definition::new(
            "A switch",
            "Tasks bound to one CPU pass a token and wait for it. The time of a batch divided by its \
             switches is a switch with the read and write that cause it (gross). Studies of tiers have \
             that. From it the time that one task takes to pass the token to itself (baseline) is \
             subtracted batch by batch. The switch alone is left. A figure below zero is noise, and is \
             shown as it is.",
        ),
        Definition::new(
            "Intervals",
            "Between order statistics, because the distributions are not normal; the table has the test. Batches were repeated until the interval of the median was narrow \
             enough, or until a limit.",
        ),
        Definition::new(
            "Switches counted",
            "By the kernel, for each that the method should make. A sandbox that always says zero is not believed: the figure is then a dash.",
        ),
        Definition::new(
            "Throttled",
            "Time in which the cgroup’s quota was used up. Slow-down is the time from request to answer against the same work without a quota, in the same study.",
        ),
    ]
}

/// A row for each method of each response.
fn measurements(subjects: Functions<'_>) -> Table {
    let rows = responses(subjects).flat_map(|(one, response)| {
        let row = move |of: &Measurement| one.row(&of.method, measurement_cells(of));
        response.measurements.iter().map(row)
    });
    Table::new("What each method found.", "Method", rows).sortable()
}

fn measurement_cells(measurement: &Measurement) -> Vec<Cell> {
    let net = measurement.net_ns.as_ref();
    let bound = match (measurement.pinned, measurement.cpu) {
        (true, Some(cpu)) => format!(", on CPU {cpu}"),
        (true, None) => ", on one CPU".to_owned(),
        (false, _) => ", not bound".to_owned(),
    };
    let per_expected = measurement.switches.as_ref().and_then(|switches| switches.per_expected);
    let normal = text::or_dash(measurement.normality.as_ref(), |test| {
        format!("{} (p {:.2})", if test.normal { "not ruled out" } else { "no" }, test.p)
    });
    let check = text::or_dash(measurement.check.as_ref(), |check| {
        let Check { what, expected, found, ok } = check;
        if *ok { "right".to_owned() } else { format!("wrong: {what} is {found}, not {expected}") }
    });
    let two_digits = |value: f64| format!("{value:.2}");
    let mut cells =
        vec![Cell::text("Tasks", format!("{} {}{bound}", measurement.task_count, measurement.tasks))];
    cells.extend(figures::cells("Switch, median", net, text::ns));
    cells.extend([
        Cell::figure("Mean", net.and_then(|net| net.mean), text::ns),
        median_cell("Gross", measurement.gross_ns, text::ns),
        median_cell("Baseline", measurement.baseline_ns, text::ns),
        Cell::figure("Variation", measurement.gross_ns.and_then(|gross| gross.cov), text::percent),
        Cell::count("Switches a batch", measurement.switches_per_batch),
        Cell::count("Batches", measurement.batches),
        Cell::text("Ended by", measurement.stopped_by.clone()),
        Cell::figure("Counted", per_expected, two_digits),
        Cell::text("Normal", normal),
        Cell::figure("Lag 1", measurement.lag1, two_digits),
        Cell::text("Check", check),
    ]);
    cells
}

/// The medians of the invocations' figures, by tier and method.
fn by_method(caption: &str, tiers: &Tiers) -> Table {
    let mut found: BTreeMap<(usize, &str), Vec<&Measurement>> = BTreeMap::new();
    for (place, tier) in tiers.tiers.iter().enumerate() {
        let of_tier = tiers.invocations.iter().filter(|invocation| invocation.tier == tier.name);
        let responses = of_tier.filter_map(|invocation| invocation.response.as_ref());
        for measurement in responses.flat_map(|response| &response.measurements) {
            found.entry((place, &measurement.method)).or_default().push(measurement);
        }
    }
    let rows = found.into_iter().map(|((place, method), all)| {
        let figure = |title: &'static str, of: fn(&Measurement) -> Option<f64>, words: fn(f64) -> String| {
            Cell::figure(title, median(all.iter().filter_map(|one| of(one))), words)
        };
        let cells = vec![
            Cell::text("Method", method),
            figure("Switch, median", |one| Some(one.net_ns?.median), text::ns),
            figure("Mean", |one| one.net_ns?.mean, text::ns),
            figure("Gross", |one| Some(one.gross_ns?.median), text::ns),
            Cell::number("Switches a batch", text::count(all[0].switches_per_batch)),
            figure("Counted", |one| one.switches.as_ref()?.per_expected, |per| format!("{per:.2}")),
            Cell::number("Invocations", all.len().to_string()),
        ];
        TableRow::new(&tiers.tiers[place].name, cells)
    });
    Table::new(caption, "Tier", rows).sortable()
}

/// What did not complete, by tier, work and kind.
fn failures(caption: &str, tiers: &Tiers) -> Table {
    let rows = tiers.tiers.iter().flat_map(|tier| {
        let mut kinds: Vec<((f64, Ending), Vec<&Invocation>)> = Vec::new();
        let failed = |one: &&Invocation| one.tier == tier.name && one.outcome != Ending::Complete;
        for invocation in tiers.invocations.iter().filter(failed) {
            gathered(&mut kinds, (invocation.work_ms, invocation.outcome)).push(invocation);
        }
        kinds.into_iter().map(|((ms, outcome), all)| {
            let cells = vec![
                work_cell(ms),
                Cell::text("Ended", ended(outcome)),
                Cell::sorted("Invocations", all.len().to_string(), all.len() as f64),
                Cell::text("The first one says", all[0].why.as_deref().unwrap_or(text::DASH)),
            ];
            TableRow::new(&tier.name, cells)
        })
    });
    Table::new(caption, "Tier", rows)
}

fn ended(outcome: Ending) -> &'static str {
    match outcome {
        Ending::Complete => "complete",
        Ending::Failed => "failed",
        Ending::Timeout => "took too long",
        Ending::Oom => "killed, too little memory",
        Ending::Invalid => "gave no valid answer",
    }
}
