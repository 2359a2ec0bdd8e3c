//! The ring of processes: its surface as a heat map for each profile, and as curves.

use swtch_profile::fields::ProfilePart;
use swtch_profile::model::Ring;

use super::super::charts::heat_map::{HeatCell, HeatMap};
use super::super::charts::lines::{Point, Series};
use super::super::charts::small_multiples::{Multiple, OFF_AXIS, SmallMultiples};
use super::super::page::{Cell, Figure, Section, Table};
use super::super::profile::NamedProfile;
use super::super::scale::extent;
use super::super::text;
use super::{Profiles, estimate_cells, switches_cell, tip};

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "A token goes round a ring of processes joined by pipes; each sums an array of its own before it passes the \
         token on, as in lmbench’s lat_ctx. The cost rises where the processes’ arrays together outgrow a cache: the \
         number of processes times the size of an array.";
    let mut section = Section::new("ring", "A ring of processes", intro);
    for (index, named) in subjects.iter().filter(|(_, named)| !named.profile.ring.is_empty()) {
        section.put([heat_map(subjects, index, &named.profile.ring)]);
    }
    let has = |p: &swtch_profile::Profile| !p.ring.is_empty();
    if subjects.iter().any(|(_, named)| has(&named.profile)) {
        section.put([curves(subjects)]);
    }
    section.put(subjects.missing("ring of processes", ProfilePart::Ring, has));
    section
}

fn array(bytes: u64) -> String {
    if bytes == 0 { "no array".to_owned() } else { text::bytes(bytes) }
}

fn name(row: &Ring) -> String {
    format!("{} processes, {}", row.processes, array(row.array_bytes))
}

fn distinct<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn heat_map(subjects: Profiles<'_>, index: usize, rows: &[Ring]) -> Figure {
    let sizes = distinct(rows.iter().map(|row| row.array_bytes));
    let counts = distinct(rows.iter().map(|row| row.processes));
    let all = subjects.iter().flat_map(|(_, named)| &named.profile.ring);
    let cells = rows.iter().filter_map(|row| {
        Some(HeatCell {
            row: sizes.iter().position(|size| *size == row.array_bytes)?,
            column: counts.iter().position(|count| *count == row.processes)?,
            value: row.switch_cost_ns.median,
            flagged: !row.switch_cost_ns.flags.is_empty(),
            tip: tip(subjects, index, &name(row), &row.switch_cost_ns),
        })
    });
    let map = HeatMap {
        rows: sizes
            .iter()
            .map(|size| if *size == 0 { "none".to_owned() } else { text::bytes(*size) })
            .collect(),
        columns: counts.iter().map(u32::to_string).collect(),
        cells: cells.collect(),
        rows_name: "array each",
        columns_name: "processes in the ring",
        span: extent(all.map(|row| row.switch_cost_ns.median)).unwrap_or((1.0, 1.0)),
        label: subjects.prefixed(index, "time per hop by number of processes and array size"),
    };
    let caption = subjects.prefixed(
        index,
        "Time per hop. The stronger the shade, the dearer the hop; shades follow the logarithm.",
    );
    let mut table = Table::new("Ring of processes, time per hop", "Array each");
    for size in &sizes {
        for row in rows.iter().filter(|row| row.array_bytes == *size) {
            let mut cells = vec![Cell::number("Processes", row.processes.to_string())];
            cells.extend(estimate_cells(&row.switch_cost_ns));
            cells.push(Cell::number("Baseline", text::ns(row.baseline_ns)));
            cells.push(switches_cell("Switches / hop", row.switches_per_hop));
            table.row(array(*size), cells);
        }
    }
    let figure = Figure::new(format!("figure-ring-{index}"), caption, table, |size| map.draw(size));
    if map.cells.iter().any(|cell| cell.flagged) {
        return figure.note("* flagged; the table beneath says with what.");
    }
    figure
}

fn curves<'a>(subjects: Profiles<'a>) -> Figure {
    let all = || subjects.iter().flat_map(|(_, named)| &named.profile.ring);
    let sizes = distinct(all().map(|row| row.array_bytes));
    let counts = distinct(all().map(|row| row.processes));
    let plots = sizes.iter().map(|size| Multiple {
        title: if *size == 0 { "no array".to_owned() } else { format!("{} each", text::bytes(*size)) },
        series: subjects
            .iter()
            .map(|(index, named)| series(subjects, index, &named.profile.ring, *size))
            .filter(|series| !series.points.is_empty())
            .collect(),
    });
    let chart = SmallMultiples {
        plots: plots.collect(),
        x_ticks: counts.iter().map(|count| (f64::from(*count), count.to_string())).collect(),
        x_name: "processes in the ring",
        y_tick: text::ns_tick,
        label: "Time per hop over the number of processes, one small plot for each array size".to_owned(),
    };
    let rows = sizes.iter().flat_map(|size| {
        let row = |index: usize, row: &Ring| {
            let mut cells = vec![Cell::number("Processes", row.processes.to_string())];
            cells.extend(estimate_cells(&row.switch_cost_ns).into_iter().take(3));
            (index, array(*size), cells)
        };
        let of = move |(index, named): (usize, &'a NamedProfile)| {
            of_size(&named.profile.ring, *size).into_iter().map(move |ring| row(index, ring))
        };
        subjects.iter().flat_map(of)
    });
    let table = subjects.table("Ring of processes, median time per hop", "Array each", rows);
    let caption = "The same as curves: time per hop over the number of processes, as lat_ctx has it. Axes are \
                   logarithmic and shared by all plots; bands are 95\u{a0}% intervals.";
    let figure = chart.figure("figure-ring-curves", caption, table).legend(subjects.legend());
    if chart.any_off_axis() { figure.note(OFF_AXIS) } else { figure }
}

/// The rows of one size of array, by the number of processes.
fn of_size(rows: &[Ring], size: u64) -> Vec<&Ring> {
    let mut rows: Vec<&Ring> = rows.iter().filter(|row| row.array_bytes == size).collect();
    rows.sort_by_key(|row| row.processes);
    rows
}

fn series(subjects: Profiles<'_>, index: usize, rows: &[Ring], size: u64) -> Series {
    let point = |row: &&Ring| {
        let cost = &row.switch_cost_ns;
        Point::new(f64::from(row.processes), cost, tip(subjects, index, &name(row), cost))
    };
    let points = of_size(rows, size).iter().map(point).collect();
    Series { look: subjects.look(index, 0), label: array(size), points }
}
