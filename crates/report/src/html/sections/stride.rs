//! Total cost over stride, for the array sizes measured at several.

use swtch_profile::fields::ProfilePart;
use swtch_profile::model::Total;
use swtch_profile::vocabulary::Access;

use super::super::charts::lines::{Point, Series};
use super::super::charts::small_multiples::{Multiple, OFF_AXIS, SmallMultiples};
use super::super::page::{Cell, Figure, Section, Table};
use super::super::subjects::gathered;
use super::super::text;
use super::total::{access_legend, row_cells};
use super::{Profiles, tip};

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "The stride is the step between the elements a task touches; it starts at element 0 and comes round until every \
         element was touched once. Steps longer than a cache line waste most of each line that is fetched, and steps of a \
         page need a new address translation each time.";
    let mut section = Section::new("stride", "Total cost over stride", intro);
    let has = |p: &swtch_profile::Profile| !strided(&p.total).is_empty();
    if subjects.iter().any(|(_, named)| has(&named.profile)) {
        section.put([figure(subjects)]);
    }
    section.put(subjects.missing("array size at several strides", ProfilePart::Total, has));
    section
}

/// Rows by size and access that have several strides; ascending in size and stride.
fn strided(rows: &[Total]) -> Vec<Vec<&Total>> {
    let mut rows: Vec<&Total> = rows.iter().collect();
    rows.sort_by(|a, b| {
        let key = |row: &Total| (row.array_bytes, row.access, row.stride_bytes);
        key(a).cmp(&key(b))
    });
    let same = |a: &&Total, b: &&Total| a.array_bytes == b.array_bytes && a.access == b.access;
    rows.chunk_by(same).filter(|rows| rows.len() > 1).map(<[&Total]>::to_vec).collect()
}

fn figure(subjects: Profiles<'_>) -> Figure {
    let mut plots: Vec<(u64, Vec<Series>)> = Vec::new();
    let mut accesses: Vec<Access> = Vec::new();
    let mut strides: Vec<u64> = Vec::new();
    for (index, named) in subjects.iter() {
        for rows in strided(&named.profile.total) {
            strides.extend(rows.iter().map(|row| row.stride_bytes));
            accesses.push(rows[0].access);
            gathered(&mut plots, rows[0].array_bytes).push(series(subjects, index, &rows));
        }
    }
    plots.sort_by_key(|(bytes, _)| *bytes);
    strides.sort_unstable();
    strides.dedup();
    let plot = |(bytes, series)| Multiple { title: format!("{} arrays", text::bytes(bytes)), series };
    let plots: Vec<Multiple> = plots.into_iter().map(plot).collect();
    let chart = SmallMultiples {
        x_ticks: strides.iter().map(|stride| (*stride as f64, text::bytes(*stride))).collect(),
        x_name: "stride",
        y_tick: text::ns_tick,
        label: format!("Total cost c2 over stride, one small plot for each of {} array sizes", plots.len()),
        plots,
    };
    let caption = "Total cost c2 of a switch over the stride, for each array size. Both axes are logarithmic and shared \
                   by all plots; bands are 95\u{a0}% intervals.";
    let legend = subjects.legend().into_iter().chain(access_legend(subjects, accesses));
    let figure = chart.figure("figure-stride", caption, table(subjects)).legend(legend.collect());
    if chart.any_off_axis() { figure.note(OFF_AXIS) } else { figure }
}

fn series(subjects: Profiles<'_>, index: usize, rows: &[&Total]) -> Series {
    let point = |row: &&Total| {
        let (array, stride) = (text::bytes(row.array_bytes), text::bytes(row.stride_bytes));
        let name = format!("{array} arrays, stride {stride}, {}", row.access);
        let cost = &row.total_cost_ns;
        Point::new(row.stride_bytes as f64, cost, tip(subjects, index, &name, cost))
    };
    let access = rows[0].access;
    let look = subjects.look(index, access as usize);
    Series { look, label: access.to_string(), points: rows.iter().map(point).collect() }
}

fn table(subjects: Profiles<'_>) -> Table {
    let rows = subjects.iter().flat_map(|(index, named)| {
        let row = move |row: &Total| {
            let mut cells = vec![Cell::number("Stride", text::bytes(row.stride_bytes))];
            cells.extend(row_cells(row));
            (index, text::bytes(row.array_bytes), cells)
        };
        strided(&named.profile.total).concat().into_iter().map(row)
    });
    subjects.table("Total cost c2 over stride", "Array", rows)
}
