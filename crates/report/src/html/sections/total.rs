//! Total cost c2 and indirect cost over array size.

use swtch_profile::Profile;
use swtch_profile::fields::ProfilePart;
use swtch_profile::model::{RegionKind, Total};
use swtch_profile::vocabulary::Access;

use super::{Profiles, estimate_cells, switches_cell, tip};
use crate::html::prelude::*;
use crate::wording::headline::SEQUENTIAL;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "A task that comes back finds its data pushed out of the caches by the other. The total \
         cost c2 includes that. Each of two tasks walks through an array of its own between the switches. \
         The time one task needs for one array is subtracted. The indirect cost is what remains beyond c1.";
    let has = |profile: &Profile| sequential(&profile.total).next().is_some();
    Section::new("total", "Total and indirect cost over array size", intro)
        .put(subjects.any(has).then(|| figure(subjects)))
        .put(subjects.missing("sequential c2 curve", ProfilePart::Total, has))
}

/// The rows whose arrays are walked from end to end.
fn sequential(rows: &[Total]) -> impl Iterator<Item = &Total> {
    rows.iter().filter(|row| row.stride_bytes == SEQUENTIAL)
}

/// The same by access, ascending in size.
fn by_access(rows: &[Total]) -> Vec<&Total> {
    let mut rows: Vec<&Total> = sequential(rows).collect();
    rows.sort_by_key(|row| (row.access, row.array_bytes));
    rows
}

/// c1 as the profile itself subtracted it: the difference between total and indirect cost.
fn direct_within(rows: &[Total]) -> Option<f64> {
    let row = sequential(rows).next()?;
    Some(row.total_cost_ns.median - row.indirect_cost_ns.median)
}

fn figure(subjects: Profiles<'_>) -> Figure {
    let curve = curve(subjects);
    let caption = "Cost of a switch over the size of each task’s own array, walked from end to end (8-byte steps). \
                   Bands: 95\u{a0}% intervals of the median. Vertical lines: the caches’ sizes, solid; dashed at half the \
                   size, where the two tasks’ arrays together fill the cache.";
    let off_axis = any_off_axis(&curve.total) || any_off_axis(&curve.indirect);
    let off_axis_note = "Values at or below zero are in the lane “≤ 0” under the axis: there noise is larger than the cost. \
                         Their numbers are in the table as measured, not set to zero.";
    let label = "Two curves over the size of each task’s array, both axes logarithmic: above the total cost c2, below \
                 the indirect cost c2 minus c1";
    let rows = subjects.iter().flat_map(|one| {
        let row = move |row: &Total| one.row(text::bytes(row.array_bytes), row_cells(row));
        by_access(&one.of.total).into_iter().map(row)
    });
    let table = Table::new("Total cost c2 and indirect cost c2 − c1 per switch", "Array", rows);
    Figure::new("figure-total", caption, label, table, &curve)
        .legend(legend(subjects, off_axis))
        .notes(direct_note(subjects))
        .notes(subjects.iter().filter_map(|one| Some(one.prefixed(&beyond(one.of)?))))
        .notes(off_axis.then_some(off_axis_note))
}

/// Names the lines of c1.
fn direct_note(subjects: Profiles<'_>) -> Option<String> {
    let named =
        subjects.iter().filter_map(|one| Some(one.prefixed(&text::ns(direct_within(&one.of.total)?))));
    let named: Vec<String> = named.collect();
    (!named.is_empty())
        .then(|| format!("Horizontal line: c1, the direct cost without arrays ({}).", text::joined(&named)))
}

fn curve(subjects: Profiles<'_>) -> SizeCurve {
    let (mut total, mut indirect, mut direct, mut lanes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for one in subjects.iter() {
        for rows in by_access(&one.of.total).chunk_by(|a, b| a.access == b.access) {
            total.push(series(one, rows, total_point));
            indirect.push(series(one, rows, indirect_point));
        }
        let colour = if subjects.several() { one.colour() } else { String::new() };
        direct.extend(direct_within(&one.of.total).map(|c1| (c1, colour.clone())));
        let caches = naming::data_caches(&one.of.host);
        lanes.push(CacheLane {
            profile: one.name().map(|name| (name, colour)),
            caches: caches.iter().map(|cache| (naming::cache_name(cache), cache.bytes)).collect(),
            regions: one.of.regions.clone(),
        });
    }
    SizeCurve { total, indirect, direct, lanes, end_labels: !subjects.several() }
}

fn series(one: One<'_, Profile>, rows: &[&Total], point: fn(One<'_, Profile>, &Total) -> Point) -> Series {
    let access = rows[0].access;
    let points = rows.iter().map(|row| point(one, row)).collect();
    Series { look: one.look(access as usize), label: text::shortened(access.name(), 18), points }
}

fn total_point(one: One<'_, Profile>, row: &Total) -> Point {
    let name = format!("total, {} arrays, {}", text::bytes(row.array_bytes), row.access);
    Point::new(row.array_bytes as f64, &row.total_cost_ns, tip(one, &name, &row.total_cost_ns))
}

fn indirect_point(one: One<'_, Profile>, row: &Total) -> Point {
    let extra = &row.indirect_cost_ns;
    let interval = text::ns_range(extra.ci_low, extra.ci_high);
    let tip = vec![
        one.prefixed(&format!("indirect, {} arrays, {}", text::bytes(row.array_bytes), row.access)),
        format!("{} (95\u{a0}%: {interval})", text::ns(extra.median)),
        format!("undisturbed {}", text::ns(extra.undisturbed)),
    ];
    Point::new(row.array_bytes as f64, extra, tip)
}

fn legend(subjects: Profiles<'_>, off_axis: bool) -> Vec<LegendItem> {
    let mut items = subjects.legend();
    let accesses = subjects.iter().flat_map(|one| sequential(&one.of.total)).map(|row| row.access);
    items.extend(access_legend(subjects, accesses));
    for (kind, meaning) in [
        (RegionKind::Fits, "fits: both arrays stay in the cache"),
        (RegionKind::Interferes, "interferes: one array fits, both do not"),
        (RegionKind::Exceeds, "exceeds: one task alone misses too"),
    ] {
        if subjects.any(|profile| profile.regions.iter().any(|region| region.kind == kind)) {
            items.push(block_item(&format!("region {}", naming::region_name(kind)), meaning));
        }
    }
    items.extend(off_axis.then(|| off_axis_item("at or below zero")));
    items
}

/// A sign for each access that there is.
pub(super) fn access_legend(
    subjects: Profiles<'_>,
    accesses: impl IntoIterator<Item = Access>,
) -> impl Iterator<Item = LegendItem> {
    distinct(accesses).into_iter().map(move |access| match subjects.iter().next() {
        Some(only) if !subjects.several() => line_item(only.look(access as usize), access.name()),
        _ => shape_item(Shape::nth(access as usize), access as usize, access.name()),
    })
}

/// Which of the machine's caches lie outside the measured sizes.
fn beyond(profile: &Profile) -> Option<String> {
    let largest = sequential(&profile.total).map(|row| row.array_bytes).max()?;
    let caches = naming::data_caches(&profile.host);
    if caches.is_empty() {
        return Some("The machine does not report its caches, so none are marked.".to_owned());
    }
    let outside = caches.iter().filter(|cache| cache.bytes > largest);
    let outside: Vec<String> = outside
        .map(|cache| format!("{} ({})", naming::cache_name(cache), text::bytes(cache.bytes)))
        .collect();
    let verb = if outside.len() == 1 { "is" } else { "are" };
    (!outside.is_empty())
        .then(|| format!("{} {verb} larger than the largest array measured.", text::joined(&outside)))
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
