//! Time in which tasks could not go on: pressure, and the quota of a control group.

use swtch_trace::fields;
use swtch_trace::model::Field;

use super::super::page::{Block, Cell, Section, Table};
use super::super::text;
use super::{NamedTrace, Traces};

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let mut blocks = vec![Block::paragraph(
        "Pressure is the time in which at least one task (some), or every one (full), waited for a resource; it is the whole \
         machine’s, or the control group’s that was recorded. A quota stops a control group until its next period.",
    )];
    if subjects.iter().any(|(_, named)| !named.trace.header.totals.pressure.is_empty()) {
        blocks.push(Block::Table(pressure(subjects)));
    }
    const PRESSURE: [Field; 3] = [fields::PRESSURE, fields::CGROUP_CPU_PRESSURE, fields::CGROUPS_PRESSURE];
    let has = |named: &NamedTrace| !named.trace.header.totals.pressure.is_empty();
    blocks.extend(subjects.lacking("pressure", |field| field.is_of(&PRESSURE), has).map(Block::Notice));
    for (i, named) in subjects.iter() {
        blocks.push(Block::paragraph(subjects.prefixed(i, &throttling(named))));
    }
    Section { id: "stalls", title: "Pressure and throttling", blocks }
}

fn pressure(subjects: Traces<'_>) -> Table {
    let columns = ["Some waited", "Share of the run", "All waited", "Share of the run"];
    let mut table = Table::new("Pressure", &subjects.head("Resource", &columns));
    for (i, named) in subjects.iter() {
        for row in &named.trace.header.totals.pressure {
            let cells = [row.some_ns, row.full_ns].into_iter().flat_map(|ns| {
                let cell = |of: fn(f64, f64) -> String| {
                    Cell::number(ns.map_or_else(|| "–".to_owned(), |ns| of(ns as f64, named.duration_ns())))
                };
                [
                    cell(|ns, _| if ns > 0.0 { text::ns(ns) } else { "none".to_owned() }),
                    cell(|ns, duration_ns| text::percent(ns / duration_ns)),
                ]
            });
            table.row(&row.resource, subjects.cells(i, cells.collect()));
        }
    }
    table
}

fn throttling(named: &NamedTrace) -> String {
    let Some(throttled) = &named.trace.header.totals.throttled else {
        return "No quota was seen: the control group has none, or its files do not say.".to_owned();
    };
    if throttled.throttled_periods == 0 {
        return "No quota stopped these tasks.".to_owned();
    }
    format!(
        "A quota stopped the control group in {} of {} periods, for {} in all, summed over CPUs.",
        text::count(throttled.throttled_periods),
        text::count(throttled.periods),
        text::ns(throttled.throttled_ns as f64)
    )
}
