//! Direct cost c1 by placement, method, tasks and class.

use std::cmp::Reverse;
use swtch_profile::Profile;
use swtch_profile::fields::ProfilePart;
use swtch_profile::model::Direct;
use swtch_profile::vocabulary::{Class, Tasks};

use super::{Profiles, estimate_cells, switches_cell, tip};
use crate::html::prelude::*;

/// A row of a profile.
type RowOf<'a> = (One<'a, Profile>, &'a Direct);

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "The direct cost c1 is the time of a switch itself. Two tasks hand a token back and forth. \
                 The time that one task needs for the same system calls without a switch is subtracted. On \
                 one CPU the two tasks take turns; on two CPUs the figure is the time to wake a task on the \
                 other one.";
    let rows = rows(subjects);
    let measured = subjects.iter().filter(|one| !one.of.direct.is_empty());
    let reasons = reasons(measured, |field| ProfilePart::of(field).contains(&ProfilePart::Direct));
    Section::new("direct", "Direct cost by method and placement", intro)
        .put((!rows.is_empty()).then(|| figure(subjects, &rows)))
        .put(subjects.missing("direct cost", ProfilePart::Direct, |p| !p.direct.is_empty()))
        .put((!reasons.is_empty()).then(|| Notice::new("What could not be measured here:", reasons)))
}

/// The rows of all profiles in reading order; the profiles of one condition are together.
fn rows(subjects: Profiles<'_>) -> Vec<RowOf<'_>> {
    let mut rows: Vec<RowOf<'_>> = subjects.each(|profile| &profile.direct).collect();
    // The performance cores first.
    rows.sort_by_key(|of| {
        (of.1.placement, Reverse(core(of)), of.1.method, of.1.tasks, of.1.class, of.0.index)
    });
    rows
}

fn core((one, row): &RowOf<'_>) -> Option<&'static str> {
    one.of.core_of(row)
}

fn kind(row: &Direct) -> usize {
    usize::from(row.tasks == Tasks::Process) + 2 * usize::from(row.class == Class::Fifo)
}

fn name(row: &Direct) -> String {
    format!("{}, {}, {}", row.method, naming::tasks_and_class(row), naming::placement_phrase(row.placement))
}

fn figure(subjects: Profiles<'_>, rows: &[RowOf<'_>]) -> Figure {
    let costs = || rows.iter().map(|(_, row)| &row.switch_cost_ns);
    let label = format!(
        "Direct cost of a switch by placement and method, {} figures from {} to {}",
        rows.len(),
        text::ns(costs().map(|cost| cost.median).fold(f64::INFINITY, f64::min)),
        text::ns(costs().map(|cost| cost.median).fold(f64::NEG_INFINITY, f64::max)),
    );
    let caption = "Direct cost c1 of one switch. Filled mark: median of all batches, with its 95\u{a0}% interval as a bar. \
                   Hollow mark: the cost on an undisturbed machine; the line between them is what noise added.";
    let off_axis = "An arrow at the left edge is a value at or below zero, which a logarithmic axis cannot hold: noise is larger \
                    than the cost. The number is at the right.";
    let any_off_axis = costs().any(|cost| cost.median <= 0.0 || cost.undisturbed <= 0.0);
    Figure::new("figure-direct", caption, &label, table(rows), &facets(subjects, rows))
        .legend(legend(subjects, rows))
        .notes(any_off_axis.then_some(off_axis))
}

fn legend(subjects: Profiles<'_>, rows: &[RowOf<'_>]) -> Vec<LegendItem> {
    let kinds = once(rows.iter().map(|(_, row)| (kind(row), naming::tasks_and_class(row))));
    let item = |(kind, words)| {
        if subjects.several() {
            return shape_item(Shape::nth(kind), 0, words);
        }
        interval_item(Look::new(kind, kind, 0), words)
    };
    let kinds = kinds.into_iter().map(item);
    subjects.legend().into_iter().chain(kinds).chain([hollow_item("undisturbed")]).collect()
}

fn facets(subjects: Profiles<'_>, rows: &[RowOf<'_>]) -> Vec<Facet> {
    let facet = |rows: &[RowOf<'_>]| {
        let placement = naming::placement_title(rows[0].1.placement);
        let groups = rows
            .chunk_by(|(_, a), (_, b)| a.method == b.method)
            .map(|rows| MethodRows { label: text::shortened(rows[0].1.method.name(), 16), dots: dots(rows) });
        Facet {
            title: core(&rows[0]).map_or_else(|| placement.to_owned(), |core| format!("{placement}, {core}")),
            detail: cpus(subjects, rows),
            groups: groups.collect(),
        }
    };
    rows.chunk_by(|a, b| a.1.placement == b.1.placement && core(a) == core(b)).map(facet).collect()
}

/// The CPUs, when all rows of a placement used the same ones.
fn cpus(subjects: Profiles<'_>, rows: &[RowOf<'_>]) -> String {
    let mut cpus = rows[0].1.cpus.clone();
    if subjects.several() || cpus.is_empty() || rows.iter().any(|(_, row)| row.cpus != cpus) {
        return String::new();
    }
    cpus.dedup();
    let numbers: Vec<String> = cpus.iter().map(u32::to_string).collect();
    format!("{} {}", if numbers.len() == 1 { "CPU" } else { "CPUs" }, text::joined(&numbers))
}

fn dots(rows: &[RowOf<'_>]) -> Vec<Dot> {
    let mut previous = String::new();
    let dot = |(one, row): &RowOf<'_>| {
        let label = text::shortened(&naming::tasks_and_class(row), 14);
        let shown = if label == previous { String::new() } else { label.clone() };
        previous = label;
        let estimate = &row.switch_cost_ns;
        Dot {
            look: one.look(kind(row)),
            label: shown,
            value: estimate.into(),
            undisturbed: estimate.undisturbed,
            tip: tip(*one, &name(row), estimate),
        }
    };
    rows.iter().map(dot).collect()
}

fn table(rows: &[RowOf<'_>]) -> Table {
    let rows = rows.iter().map(|(one, row)| {
        let cpus: Vec<String> = row.cpus.iter().map(u32::to_string).collect();
        let involuntary = row.involuntary_share.map_or_else(|| "not counted".to_owned(), text::percent);
        let mut cells = vec![
            Cell::text("Tasks", row.tasks.name()),
            Cell::text("Class", row.class.name()),
            Cell::text("Placement", row.placement.name()),
            Cell::text("CPUs", if cpus.is_empty() { "any".to_owned() } else { cpus.join(", ") }),
        ];
        cells.extend(estimate_cells(&row.switch_cost_ns));
        cells.extend([
            Cell::number("Round trip", text::ns(row.round_trip_ns.median)),
            Cell::number("Baseline", text::ns(row.baseline_ns)),
            switches_cell("Switches / round trip", row.switches_per_round_trip),
            Cell::number("Expected", format!("{:.2}", row.expected_switches_per_round_trip)),
            Cell::number("Involuntary", involuntary),
        ]);
        one.row(row.method.to_string(), cells)
    });
    Table::new("Direct cost c1 per switch", "Method", rows)
}
