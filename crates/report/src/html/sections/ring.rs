//! The ring of processes: its surface as a heat map for each profile, and as curves.

use swtch_profile::Profile;
use swtch_profile::fields::ProfilePart;
use swtch_profile::model::Ring;

use super::{Profiles, estimate_cells, switches_cell, tip};
use crate::html::prelude::*;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "A token goes round a ring of processes joined by pipes. Each sums an array of its own \
         before it passes the token on, as in lmbench’s lat_ctx. The cost rises where the processes’ arrays \
         together outgrow a cache: the number of processes times the size of an array.";
    let has = |profile: &Profile| !profile.ring.is_empty();
    Section::new("ring", "A ring of processes", intro)
        .put(subjects.iter().filter(|one| has(one.of)).map(|one| heat_map(subjects, one)))
        .put(curves(subjects))
        .put(subjects.missing("ring of processes", ProfilePart::Ring, has))
}

fn array(bytes: u64) -> String {
    if bytes == 0 { "no array".to_owned() } else { text::bytes(bytes) }
}

fn name(row: &Ring) -> String {
    format!("{} processes, {}", row.processes, array(row.array_bytes))
}

fn heat_map(subjects: Profiles<'_>, one: One<'_, Profile>) -> Figure {
    let rows = &one.of.ring;
    let sizes = distinct(rows.iter().map(|row| row.array_bytes));
    let counts = distinct(rows.iter().map(|row| row.processes));
    let all = subjects.each(|profile| &profile.ring);
    let cells = rows.iter().filter_map(|row| {
        Some(GridCell {
            row: sizes.iter().position(|size| *size == row.array_bytes)?,
            column: counts.iter().position(|count| *count == row.processes)?,
            value: row.switch_cost_ns.median,
            flagged: !row.switch_cost_ns.flags.is_empty(),
            tip: tip(one, &name(row), &row.switch_cost_ns),
        })
    });
    let size_name = |size: &u64| if *size == 0 { "none".to_owned() } else { text::bytes(*size) };
    let map = HeatMap {
        rows: sizes.iter().map(size_name).collect(),
        columns: counts.iter().map(u32::to_string).collect(),
        cells: cells.collect(),
        rows_name: "array each",
        columns_name: "processes in the ring",
        span: extent(all.map(|(_, row)| row.switch_cost_ns.median)).unwrap_or((1.0, 1.0)),
        values: Values::Ns,
    };
    let in_order = sizes.iter().flat_map(|size| rows.iter().filter(move |row| row.array_bytes == *size));
    let table_rows = in_order.map(|row| {
        let mut cells = vec![Cell::number("Processes", row.processes.to_string())];
        cells.extend(estimate_cells(&row.switch_cost_ns));
        cells.push(Cell::number("Baseline", text::ns(row.baseline_ns)));
        cells.push(switches_cell("Switches / hop", row.switches_per_hop));
        TableRow::new(array(row.array_bytes), cells)
    });
    let table = Table::new("Ring of processes, time per hop", "Array each", table_rows);
    let caption = "Time per hop. The stronger the shade, the dearer the hop; shades follow the logarithm.";
    let label = one.prefixed("time per hop by number of processes and array size");
    let flagged = map.cells.iter().any(|cell| cell.flagged);
    Figure::new(format!("figure-ring-{}", one.index), one.prefixed(caption), &label, table, &map)
        .notes(flagged.then_some("* flagged; the table beneath says with what."))
}

fn curves(subjects: Profiles<'_>) -> Option<Figure> {
    let mut chart = SmallMultiples::new(("processes in the ring", |count| count.to_string()), text::ns_tick);
    let mut table_rows = Vec::new();
    for size in distinct(subjects.each(|profile| &profile.ring).map(|(_, row)| row.array_bytes)) {
        let title = if size == 0 { array(size) } else { format!("{} each", text::bytes(size)) };
        for one in subjects.iter() {
            let mut rows: Vec<&Ring> = one.of.ring.iter().filter(|row| row.array_bytes == size).collect();
            rows.sort_by_key(|row| row.processes);
            for row in rows {
                let cost = &row.switch_cost_ns;
                let point = Point::new(f64::from(row.processes), cost, tip(one, &name(row), cost));
                chart.point(&title, (one.look(0), &array(size)), point);
                let mut cells = vec![Cell::number("Processes", row.processes.to_string())];
                cells.extend(estimate_cells(cost).into_iter().take(3));
                table_rows.push(one.row(array(size), cells));
            }
        }
    }
    let table = Table::new("Ring of processes, median time per hop", "Array each", table_rows);
    let caption = "The same as curves: time per hop over the number of processes, as lat_ctx has it. Axes are \
                   logarithmic and shared by all plots; bands are 95\u{a0}% intervals.";
    let label = "Time per hop over the number of processes, one small plot for each array size";
    let figure = Figure::new("figure-ring-curves", caption, label, table, chart.some()?);
    Some(figure.legend(subjects.legend()).notes(chart.any_off_axis().then_some(OFF_AXIS)))
}
