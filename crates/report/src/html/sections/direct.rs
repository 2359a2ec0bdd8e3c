//! Direct cost c1 by placement, method, tasks and class.

use std::cmp::Reverse;
use swtch_profile::fields::ProfilePart;
use swtch_profile::model::Direct;
use swtch_profile::vocabulary::{Class, Tasks};

use super::super::charts::dots::{self, Dot, Facet, MethodRows};
use super::super::charts::markers::{Look, Shape, hollow_item, interval_item, shape_item};
use super::super::naming;
use super::super::page::{Cell, Figure, LegendItem, Notice, Section, Table};
use super::super::text;
use super::{Profiles, estimate_cells, switches_cell, tip};

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "The direct cost c1 is the time of a switch itself: two tasks hand a token back and forth, and the time that one \
                 task needs for the same system calls without a switch is subtracted. On one CPU the two tasks take turns; on \
                 two CPUs the figure is the time to wake a task on the other one.";
    let mut section = Section::new("direct", "Direct cost by method and placement", intro);
    let rows = rows(subjects);
    section.put((!rows.is_empty()).then(|| figure(subjects, &rows)));
    section.put(subjects.missing("direct cost", ProfilePart::Direct, |p| !p.direct.is_empty()));
    let measured = subjects.iter().filter(|(_, named)| !named.profile.direct.is_empty());
    let reasons = subjects
        .reasons(measured.map(|(i, _)| i), |field| ProfilePart::of(field).contains(&ProfilePart::Direct));
    if !reasons.is_empty() {
        section.put([Notice::new("What could not be measured here:", reasons)]);
    }
    section
}

/// The rows of all profiles in reading order; the profiles of one condition stand together.
fn rows(subjects: Profiles<'_>) -> Vec<(usize, &Direct)> {
    let mut rows: Vec<(usize, &Direct)> =
        subjects.iter().flat_map(|(i, named)| named.profile.direct.iter().map(move |row| (i, row))).collect();
    rows.sort_by(|(i, a), (j, b)| {
        let key = |index: usize, row: &Direct| {
            (
                row.placement,
                // The performance cores first.
                Reverse(core(subjects, index, row)),
                row.method,
                row.tasks,
                row.class,
            )
        };
        key(*i, a).cmp(&key(*j, b)).then(i.cmp(j))
    });
    rows
}

fn core(subjects: Profiles<'_>, index: usize, row: &Direct) -> Option<&'static str> {
    subjects.0[index].profile.core_of(row)
}

fn kind(row: &Direct) -> usize {
    usize::from(row.tasks == Tasks::Process) + 2 * usize::from(row.class == Class::Fifo)
}

fn look(subjects: Profiles<'_>, index: usize, row: &Direct) -> Look {
    subjects.look(index, kind(row))
}

fn name(row: &Direct) -> String {
    format!("{}, {}, {}", row.method, naming::tasks_and_class(row), naming::placement_phrase(row.placement))
}

fn figure(subjects: Profiles<'_>, rows: &[(usize, &Direct)]) -> Figure {
    let facets = facets(subjects, rows);
    let label = format!(
        "Direct cost of a switch by placement and method, {} figures from {} to {}",
        rows.len(),
        text::ns(rows.iter().map(|(_, row)| row.switch_cost_ns.median).fold(f64::INFINITY, f64::min)),
        text::ns(rows.iter().map(|(_, row)| row.switch_cost_ns.median).fold(f64::NEG_INFINITY, f64::max)),
    );
    let caption = "Direct cost c1 of one switch. Filled mark: median of all batches, with its 95\u{a0}% interval as a bar. \
                   Hollow mark: the cost on an undisturbed machine; the line between them is what noise added.";
    let figure = Figure::new("figure-direct", caption, table(subjects, rows), |size| {
        dots::draw(&facets, &label, size)
    })
    .legend(legend(subjects, rows));
    if rows.iter().any(|(_, row)| row.switch_cost_ns.median <= 0.0 || row.switch_cost_ns.undisturbed <= 0.0) {
        return figure.note(
            "An arrow at the left edge is a value at or below zero, which a logarithmic axis cannot hold: noise is larger \
             than the cost. The number stands at the right.",
        );
    }
    figure
}

fn legend(subjects: Profiles<'_>, rows: &[(usize, &Direct)]) -> Vec<LegendItem> {
    let mut items = subjects.legend();
    let mut seen: Vec<usize> = Vec::new();
    for (index, row) in rows {
        let kind = kind(row);
        if !seen.contains(&kind) {
            seen.push(kind);
            items.push(if subjects.several() {
                shape_item(Shape::nth(kind), 0, naming::tasks_and_class(row))
            } else {
                interval_item(look(subjects, *index, row), naming::tasks_and_class(row))
            });
        }
    }
    items.push(hollow_item("undisturbed"));
    items
}

fn facets(subjects: Profiles<'_>, rows: &[(usize, &Direct)]) -> Vec<Facet> {
    let by_placement = rows.chunk_by(|(i, a), (j, b)| {
        a.placement == b.placement && core(subjects, *i, a) == core(subjects, *j, b)
    });
    by_placement
        .map(|rows| Facet {
            title: match core(subjects, rows[0].0, rows[0].1) {
                Some(core) => format!("{}, {core}", naming::placement_title(rows[0].1.placement)),
                None => naming::placement_title(rows[0].1.placement).to_owned(),
            },
            detail: cpus(subjects, rows),
            groups: rows
                .chunk_by(|(_, a), (_, b)| a.method == b.method)
                .map(|rows| MethodRows {
                    label: text::shortened(rows[0].1.method.name(), 16),
                    dots: dots(subjects, rows),
                })
                .collect(),
        })
        .collect()
}

/// The CPUs, when all rows of a placement used the same ones.
fn cpus(subjects: Profiles<'_>, rows: &[(usize, &Direct)]) -> String {
    let mut cpus = rows[0].1.cpus.clone();
    if subjects.several() || cpus.is_empty() || rows.iter().any(|(_, row)| row.cpus != cpus) {
        return String::new();
    }
    cpus.dedup();
    let numbers: Vec<String> = cpus.iter().map(u32::to_string).collect();
    format!("{} {}", if numbers.len() == 1 { "CPU" } else { "CPUs" }, text::joined(&numbers))
}

fn dots(subjects: Profiles<'_>, rows: &[(usize, &Direct)]) -> Vec<Dot> {
    let mut previous = String::new();
    rows.iter()
        .map(|(index, row)| {
            let label = text::shortened(&naming::tasks_and_class(row), 14);
            let shown = if label == previous { String::new() } else { label.clone() };
            previous = label;
            let estimate = &row.switch_cost_ns;
            Dot {
                look: look(subjects, *index, row),
                label: shown,
                median: estimate.median,
                ci_low: estimate.ci_low,
                ci_high: estimate.ci_high,
                undisturbed: estimate.undisturbed,
                tip: tip(subjects, *index, &name(row), estimate),
            }
        })
        .collect()
}

fn table(subjects: Profiles<'_>, rows: &[(usize, &Direct)]) -> Table {
    let rows = rows.iter().map(|(index, row)| {
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
        (*index, row.method.to_string(), cells)
    });
    subjects.table("Direct cost c1 per switch", "Method", rows)
}
