//! Total cost over stride, for the array sizes measured at several.

use swtch_profile::Profile;
use swtch_profile::fields::ProfilePart;
use swtch_profile::model::Total;

use super::total::{access_legend, row_cells};
use super::{Profiles, tip};
use crate::html::prelude::*;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "The stride is the step between the elements a task touches; it starts at element 0 and \
         comes round until every element was touched once. Steps longer than a cache line waste most of \
         each line that is fetched. Steps of a page need a new address translation each time.";
    let has = |profile: &Profile| !strided(&profile.total).is_empty();
    Section::new("stride", "Total cost over stride", intro).put(figure(subjects)).put(subjects.missing(
        "array size at several strides",
        ProfilePart::Total,
        has,
    ))
}

/// Rows by size and access that have several strides; ascending in size and stride.
fn strided(rows: &[Total]) -> Vec<Vec<&Total>> {
    let mut rows: Vec<&Total> = rows.iter().collect();
    rows.sort_by_key(|row| (row.array_bytes, row.access, row.stride_bytes));
    let same = |a: &&Total, b: &&Total| a.array_bytes == b.array_bytes && a.access == b.access;
    rows.chunk_by(same).filter(|rows| rows.len() > 1).map(<[&Total]>::to_vec).collect()
}

fn figure(subjects: Profiles<'_>) -> Option<Figure> {
    let curves = subjects
        .iter()
        .flat_map(|one| strided(&one.of.total).concat().into_iter().map(move |row| (one, row)));
    let mut rows: Vec<(One<'_, Profile>, &Total)> = curves.collect();
    let table_rows = rows.iter().map(|(one, row)| {
        let mut cells = vec![Cell::number("Stride", text::bytes(row.stride_bytes))];
        cells.extend(row_cells(row));
        one.row(text::bytes(row.array_bytes), cells)
    });
    let table = Table::new("Total cost c2 over stride", "Array", table_rows);
    rows.sort_by_key(|(one, row)| (row.array_bytes, one.index));
    let mut chart = SmallMultiples::new(("stride", |bytes| text::bytes(bytes as u64)), text::ns_tick);
    for (one, row) in &rows {
        let (array, stride) = (text::bytes(row.array_bytes), text::bytes(row.stride_bytes));
        let name = format!("{array} arrays, stride {stride}, {}", row.access);
        let cost = &row.total_cost_ns;
        let point = Point::new(row.stride_bytes as f64, cost, tip(*one, &name, cost));
        let look = one.look(row.access as usize);
        chart.point(&format!("{array} arrays"), (look, row.access.name()), point);
    }
    let caption = "Total cost c2 of a switch over the stride, for each array size. Both axes are logarithmic and shared \
                   by all plots; bands are 95\u{a0}% intervals.";
    let sizes = distinct(rows.iter().map(|(_, row)| row.array_bytes)).len();
    let label = format!("Total cost c2 over stride, one small plot for each of {sizes} array sizes");
    let legend =
        subjects.legend().into_iter().chain(access_legend(subjects, rows.iter().map(|(_, row)| row.access)));
    let figure = Figure::new("figure-stride", caption, &label, table, chart.some()?).legend(legend.collect());
    Some(figure.notes(chart.any_off_axis().then_some(OFF_AXIS)))
}
