//! How the figures came about: batches, counted switches, tests, and what did not complete.

use super::super::page::{Block, Cell, Definition, Section, Table};
use super::super::{median, text};
use super::figures::{cell, cells, work};
use super::{Functions, responses, sortable, studies};
use std::collections::BTreeMap;
use swtch_faas::response::{Measurement, Response};
use swtch_faas::tiers::{Outcome, Tiers};

/// The section.
pub(super) fn section(subjects: Functions<'_>) -> Section {
    let mut blocks = vec![Block::Definitions { items: definitions() }];
    let measurements = measurements(subjects);
    if !measurements.rows.is_empty() {
        blocks.push(Block::Table(measurements));
    }
    for (i, tiers) in studies(subjects) {
        let by_method = by_method(
            &subjects.prefixed(i, "Every method by tier: the median of the invocations’ figures."),
            tiers,
        );
        if !by_method.rows.is_empty() {
            blocks.push(Block::Folded {
                summary: subjects.prefixed(i, "Every method by tier"),
                table: by_method,
            });
        }
        let failures = failures(&subjects.prefixed(i, "Invocations that did not complete."), tiers);
        if !failures.rows.is_empty() {
            blocks.push(Block::Table(failures));
        }
    }
    Section { id: "measured", title: "How it was measured", blocks }
}

fn definitions() -> Vec<Definition> {
    vec![
        Definition::new(
            "A switch",
            "Tasks bound to one CPU pass a token and wait for it. The time of a batch divided by its switches is a switch with the read and write that cause it (gross); \
             studies of tiers have that. From it the time that one task takes to pass the token to itself (baseline) is subtracted batch by batch, and the switch alone is left. A \
             figure below zero is noise, and is shown as it is.",
        ),
        Definition::new(
            "Intervals",
            "Between order statistics, for the distributions are not normal; the test of it stands in the table. Batches were repeated until the interval of the median was narrow \
             enough, or until a limit.",
        ),
        Definition::new(
            "Switches counted",
            "By the kernel, for each that the method should make. A sandbox that always says zero is not believed: the figure is then a dash.",
        ),
        Definition::new(
            "Throttled",
            "Time in which the control group’s quota was used up. Slow-down is the time from request to answer against the same work without a quota, in the same study.",
        ),
    ]
}

/// A row for each method of each response.
fn measurements(subjects: Functions<'_>) -> Table {
    let head = [
        "Tasks",
        "Switch, median",
        "Interval",
        "Mean",
        "Gross",
        "Baseline",
        "Variation",
        "Switches a batch",
        "Batches",
        "Ended by",
        "Counted",
        "Normal",
        "Lag 1",
        "Check",
    ];
    let mut table = sortable("What each method found.", &subjects.head("Method", &head));
    for (i, response) in responses(subjects) {
        for measurement in &response.measurements {
            table.row(measurement.method.clone(), subjects.cells(i, measurement_cells(measurement)));
        }
    }
    table
}

fn measurement_cells(measurement: &Measurement) -> Vec<Cell> {
    let net = measurement.net_ns.as_ref();
    let bound = match (measurement.pinned, measurement.cpu) {
        (true, Some(cpu)) => format!(", on CPU {cpu}"),
        (true, None) => ", on one CPU".to_owned(),
        (false, _) => ", not bound".to_owned(),
    };
    let median =
        |estimate: Option<&swtch_faas::Estimate>| cell(estimate.map(|estimate| estimate.median), text::ns);
    let mut row = vec![Cell::text(format!("{} {}{bound}", measurement.task_count, measurement.tasks))];
    row.extend(cells(net, text::ns));
    row.extend([
        cell(net.and_then(|net| net.mean), text::ns),
        median(measurement.gross_ns.as_ref()),
        median(measurement.baseline_ns.as_ref()),
        cell(measurement.gross_ns.and_then(|gross| gross.cov), text::percent),
        Cell::sorted(text::count(measurement.switches_per_batch), measurement.switches_per_batch as f64),
        Cell::sorted(text::count(measurement.batches), measurement.batches as f64),
        Cell::text(measurement.stopped_by.clone()),
        cell(measurement.switches.as_ref().and_then(|switches| switches.per_expected), |per| {
            format!("{per:.2}")
        }),
        Cell::text(measurement.normality.as_ref().map_or_else(
            || "–".to_owned(),
            |test| format!("{} (p {:.2})", if test.normal { "not ruled out" } else { "no" }, test.p),
        )),
        cell(measurement.lag1, |lag| format!("{lag:.2}")),
        Cell::text(measurement.check.as_ref().map_or_else(
            || "–".to_owned(),
            |check| {
                if check.ok {
                    "right".to_owned()
                } else {
                    format!("wrong: {} is {}, not {}", check.what, check.found, check.expected)
                }
            },
        )),
    ]);
    row
}

/// The medians of the invocations' figures, by tier and method.
fn by_method(caption: &str, tiers: &Tiers) -> Table {
    let mut found: BTreeMap<(usize, &str), Vec<&Measurement>> = BTreeMap::new();
    for (place, tier) in tiers.tiers.iter().enumerate() {
        let of_tier = tiers.invocations.iter().filter(|invocation| invocation.tier == tier.name);
        let responses = of_tier.filter_map(|invocation| invocation.response.as_ref());
        for measurement in responses.flat_map(|response: &Response| &response.measurements) {
            found.entry((place, &measurement.method)).or_default().push(measurement);
        }
    }
    let head =
        ["Tier", "Method", "Switch, median", "Mean", "Gross", "Switches a batch", "Counted", "Invocations"];
    let mut table = sortable(caption, &head);
    for ((place, method), all) in found {
        let median = |of: fn(&Measurement) -> Option<f64>| median(all.iter().filter_map(|one| of(one)));
        let row = vec![
            Cell::text(method),
            cell(median(|one| Some(one.net_ns?.median)), text::ns),
            cell(median(|one| one.net_ns?.mean), text::ns),
            cell(median(|one| Some(one.gross_ns?.median)), text::ns),
            Cell::number(text::count(all[0].switches_per_batch)),
            cell(median(|one| one.switches.as_ref()?.per_expected), |per| format!("{per:.2}")),
            Cell::number(all.len().to_string()),
        ];
        table.row(tiers.tiers[place].name.clone(), row);
    }
    table
}

/// What did not complete, by tier, work and kind.
fn failures(caption: &str, tiers: &Tiers) -> Table {
    let mut table = Table::new(caption, &["Tier", "Work", "Ended", "Invocations", "The first one says"]);
    for tier in tier_names_of(tiers) {
        let mut kinds: Vec<(f64, Outcome, &str, usize)> = Vec::new();
        for invocation in
            tiers.invocations.iter().filter(|one| one.tier == tier && one.outcome != Outcome::Complete)
        {
            let same = |kind: &&mut (f64, Outcome, &str, usize)| {
                (kind.0, kind.1) == (invocation.work_ms, invocation.outcome)
            };
            if let Some((.., count)) = kinds.iter_mut().find(same) {
                *count += 1;
            } else {
                let why = invocation.why.as_deref().unwrap_or("–");
                kinds.push((invocation.work_ms, invocation.outcome, why, 1));
            }
        }
        for (ms, outcome, why, count) in kinds {
            let row = vec![
                Cell::sorted(work(ms), ms),
                Cell::text(ended(outcome)),
                Cell::sorted(count.to_string(), count as f64),
                Cell::text(why),
            ];
            table.row(tier, row);
        }
    }
    table
}

fn tier_names_of(tiers: &Tiers) -> impl Iterator<Item = &str> {
    tiers.tiers.iter().map(|tier| tier.name.as_str())
}

fn ended(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Failed => "failed",
        Outcome::Timeout => "took too long",
        Outcome::Oom => "killed, too little memory",
        Outcome::Invalid => "gave no valid answer",
    }
}
