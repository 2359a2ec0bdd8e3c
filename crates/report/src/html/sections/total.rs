//! Total cost c2 and indirect cost over array size.

use swtch_profile::fields::ProfilePart;
use swtch_profile::model::{RegionKind, Total};
use swtch_profile::vocabulary::Access;

use super::super::charts::caches::Lane;
use super::super::charts::lines::{Point, Series, any_off_axis};
use super::super::charts::markers::{Shape, block_item, line_item, off_axis_item, shape_item};
use super::super::charts::size_curve::SizeCurve;
use super::super::naming;
use super::super::page::{Cell, Figure, LegendItem, Section, Table};
use super::super::text;
use super::{Profiles, estimate_cells, switches_cell, tip};
use crate::wording::headline::SEQUENTIAL;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "A task that comes back finds its data pushed out of the caches by the other. The total cost c2 includes that: each \
         of two tasks walks through an array of its own between the switches, and the time one task needs for one array \
         is subtracted. The indirect cost is what remains beyond c1.";
    let mut section = Section::new("total", "Total and indirect cost over array size", intro);
    let has = |p: &swtch_profile::Profile| p.total.iter().any(|row| row.stride_bytes == SEQUENTIAL);
    if subjects.iter().any(|(_, named)| has(&named.profile)) {
        section.put([figure(subjects)]);
    }
    section.put(subjects.missing("sequential c2 curve", ProfilePart::Total, has));
    section
}

/// A profile's sequential rows of each access, ascending in size.
fn by_access(rows: &[Total]) -> Vec<Vec<&Total>> {
    let mut rows: Vec<&Total> = rows.iter().filter(|row| row.stride_bytes == SEQUENTIAL).collect();
    rows.sort_by(|a, b| {
        let key = |row: &Total| (row.access, row.array_bytes);
        key(a).cmp(&key(b))
    });
    rows.chunk_by(|a, b| a.access == b.access).map(<[&Total]>::to_vec).collect()
}

/// c1 as the profile itself subtracted it: the difference between total and indirect cost.
pub(in crate::html) fn direct_within(rows: &[Total]) -> Option<f64> {
    let row = rows.iter().find(|row| row.stride_bytes == SEQUENTIAL)?;
    Some(row.total_cost_ns.median - row.indirect_cost_ns.median)
}

fn figure(subjects: Profiles<'_>) -> Figure {
    let curve = curve(subjects);
    let caption = "Cost of a switch over the size of each task’s own array, walked from end to end (8-byte steps). \
                   Bands: 95\u{a0}% intervals of the median. Vertical lines: the caches’ sizes, solid; dashed at half the \
                   size, where the two tasks’ arrays together fill the cache.";
    let off_axis = any_off_axis(&curve.total) || any_off_axis(&curve.indirect);
    let mut figure = Figure::new("figure-total", caption, table(subjects), |size| curve.draw(size))
        .legend(legend(subjects, off_axis));
    if let Some(note) = direct_note(subjects) {
        figure = figure.note(note);
    }
    for (i, named) in subjects.iter() {
        figure = match beyond(subjects, i, &named.profile) {
            Some(note) => figure.note(note),
            None => figure,
        };
    }
    if off_axis {
        figure = figure.note(
            "Values at or below zero stand in the lane “≤ 0” under the axis: there noise is larger than the cost. \
             Their numbers are in the table as measured, not set to zero.",
        );
    }
    figure
}

/// Names the lines of c1.
fn direct_note(subjects: Profiles<'_>) -> Option<String> {
    let named: Vec<String> = subjects
        .iter()
        .filter_map(|(i, named)| Some(subjects.prefixed(i, &text::ns(direct_within(&named.profile.total)?))))
        .collect();
    (!named.is_empty())
        .then(|| format!("Horizontal line: c1, the direct cost without arrays ({}).", text::joined(&named)))
}

fn curve(subjects: Profiles<'_>) -> SizeCurve {
    let (mut total, mut indirect, mut direct, mut lanes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (index, named) in subjects.iter() {
        for rows in by_access(&named.profile.total) {
            total.push(series(subjects, index, &rows, false));
            indirect.push(series(subjects, index, &rows, true));
        }
        let colour = if subjects.several() { subjects.colour(index) } else { String::new() };
        direct.extend(direct_within(&named.profile.total).map(|c1| (c1, colour.clone())));
        lanes.push(Lane {
            profile: subjects.name(index).map(|name| (name, colour)),
            caches: naming::data_caches(&named.profile.host)
                .iter()
                .map(|cache| (naming::cache_name(cache), cache.bytes))
                .collect(),
            regions: named.profile.regions.clone(),
        });
    }
    let label = "Two curves over the size of each task’s array, both axes logarithmic: above the total cost c2, below \
                 the indirect cost c2 minus c1"
        .to_owned();
    SizeCurve { total, indirect, direct, lanes, end_labels: !subjects.several(), label }
}

fn series(subjects: Profiles<'_>, index: usize, rows: &[&Total], indirect: bool) -> Series {
    let access = rows[0].access;
    let look = subjects.look(index, access as usize);
    let points = rows.iter().map(|row| point(subjects, index, row, indirect)).collect();
    Series { look, label: text::shortened(access.name(), 18), points }
}

fn point(subjects: Profiles<'_>, index: usize, row: &Total, indirect: bool) -> Point {
    let what = if indirect { "indirect" } else { "total" };
    let name = format!("{what}, {} arrays, {}", text::bytes(row.array_bytes), row.access);
    let x = row.array_bytes as f64;
    if !indirect {
        return Point::new(x, &row.total_cost_ns, tip(subjects, index, &name, &row.total_cost_ns));
    }
    let extra = &row.indirect_cost_ns;
    let interval = text::ns_range(extra.ci_low, extra.ci_high);
    let tip = vec![
        subjects.prefixed(index, &name),
        format!("{} (95\u{a0}%: {interval})", text::ns(extra.median)),
        format!("undisturbed {}", text::ns(extra.undisturbed)),
    ];
    Point::new(x, extra, tip)
}

fn legend(subjects: Profiles<'_>, off_axis: bool) -> Vec<LegendItem> {
    let mut items = subjects.legend();
    let curves = subjects.iter().flat_map(|(_, named)| by_access(&named.profile.total));
    items.extend(access_legend(subjects, curves.map(|rows| rows[0].access).collect()));
    let regions = || subjects.iter().flat_map(|(_, named)| &named.profile.regions);
    for (kind, meaning) in [
        (RegionKind::Fits, "fits: both arrays stay in the cache"),
        (RegionKind::Interferes, "interferes: one array fits, both do not"),
        (RegionKind::Exceeds, "exceeds: one task alone misses too"),
    ] {
        if regions().any(|region| region.kind == kind) {
            items.push(block_item(&format!("region {}", naming::region_name(kind)), meaning));
        }
    }
    if off_axis {
        items.push(off_axis_item("at or below zero"));
    }
    items
}

/// A sign for each access that there is.
pub(super) fn access_legend(subjects: Profiles<'_>, mut accesses: Vec<Access>) -> Vec<LegendItem> {
    accesses.sort_unstable();
    accesses.dedup();
    let item = |access: Access| {
        let rank = access as usize;
        if subjects.several() {
            shape_item(Shape::nth(rank), rank, access.name())
        } else {
            line_item(subjects.look(0, rank), access.name())
        }
    };
    accesses.into_iter().map(item).collect()
}

/// Which of the machine's caches lie outside the measured sizes.
fn beyond(subjects: Profiles<'_>, index: usize, profile: &swtch_profile::Profile) -> Option<String> {
    let largest =
        profile.total.iter().filter(|row| row.stride_bytes == SEQUENTIAL).map(|row| row.array_bytes).max()?;
    let caches = naming::data_caches(&profile.host);
    if caches.is_empty() {
        return Some(subjects.prefixed(index, "The machine does not report its caches, so none are marked."));
    }
    let outside: Vec<String> = caches
        .iter()
        .filter(|cache| cache.bytes > largest)
        .map(|cache| format!("{} ({})", naming::cache_name(cache), text::bytes(cache.bytes)))
        .collect();
    if outside.is_empty() {
        return None;
    }
    let verb = if outside.len() == 1 { "is" } else { "are" };
    let note = format!("{} {verb} larger than the largest array measured.", text::joined(&outside));
    Some(subjects.prefixed(index, &note))
}

fn table(subjects: Profiles<'_>) -> Table {
    let rows = subjects.iter().flat_map(|(index, named)| {
        let row = move |row: &Total| (index, text::bytes(row.array_bytes), row_cells(row));
        by_access(&named.profile.total).concat().into_iter().map(row)
    });
    subjects.table("Total cost c2 and indirect cost c2 − c1 per switch", "Array", rows)
}

/// The cells of one row of c2, the access first.
pub(super) fn row_cells(row: &Total) -> Vec<Cell> {
    let indirect = &row.indirect_cost_ns;
    let mut cells = vec![Cell::text("Access", row.access.name())];
    cells.extend(estimate_cells(&row.total_cost_ns));
    cells.extend([
        Cell::number("Indirect", text::ns(indirect.median)),
        Cell::number("95\u{a0}% interval", text::ns_range(indirect.ci_low, indirect.ci_high)),
        Cell::number("Indirect, undisturbed", text::ns(indirect.undisturbed)),
        Cell::number("Baseline", text::ns(row.baseline_ns)),
        switches_cell("Switches / round trip", row.switches_per_round_trip),
    ]);
    cells
}
