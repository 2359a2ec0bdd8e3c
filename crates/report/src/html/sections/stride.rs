//! Total cost over stride, for the array sizes measured at several.

use swtch_profile::fields::Part;
use swtch_profile::model::Total;

use super::super::charts::lines::{Point, Series, any_off_axis};
use super::super::charts::markers::{Shape, line_item, shape_item};
use super::super::charts::small_multiples::{self, Multiple, Shared};
use super::super::naming;
use super::super::page::{Block, Cell, Figure, LegendItem, Section, Table};
use super::super::text;
use super::total::{row_cells, row_head};
use super::{Subjects, tip};

/// The section.
pub(in crate::html) fn section(subjects: Subjects<'_>) -> Section {
    let mut blocks = vec![Block::paragraph(
        "The stride is the step between the elements a task touches; it starts at element 0 and comes round until every \
         element was touched once. Steps longer than a cache line waste most of each line that is fetched, and steps of a \
         page need a new address translation each time.",
    )];
    let has = |p: &swtch_profile::Profile| !strided(&p.total).is_empty();
    if subjects.iter().any(|(_, named)| has(&named.profile)) {
        blocks.push(Block::Figure(figure(subjects)));
    }
    blocks.extend(subjects.missing("array size at several strides", Part::Total, has).map(Block::Notice));
    Section { id: "stride", title: "Total cost over stride", blocks }
}

/// Rows by size and access that have several strides; ascending in size and stride.
fn strided(rows: &[Total]) -> Vec<Vec<&Total>> {
    let mut rows: Vec<&Total> = rows.iter().collect();
    rows.sort_by(|a, b| {
        let key = |row: &Total| {
            (row.array_bytes, naming::access_rank(&row.access), row.access.clone(), row.stride_bytes)
        };
        key(a).cmp(&key(b))
    });
    let same = |a: &&Total, b: &&Total| a.array_bytes == b.array_bytes && a.access == b.access;
    rows.chunk_by(same).filter(|rows| rows.len() > 1).map(<[&Total]>::to_vec).collect()
}

fn figure(subjects: Subjects<'_>) -> Figure {
    let mut multiples: Vec<(u64, Multiple)> = Vec::new();
    let mut accesses: Vec<&str> = Vec::new();
    let mut strides: Vec<u64> = Vec::new();
    for (index, named) in subjects.iter() {
        for rows in strided(&named.profile.total) {
            strides.extend(rows.iter().map(|row| row.stride_bytes));
            accesses.push(&rows[0].access);
            let bytes = rows[0].array_bytes;
            let series = series(subjects, index, &rows);
            if let Some((_, multiple)) = multiples.iter_mut().find(|(size, _)| *size == bytes) {
                multiple.series.push(series);
            } else {
                let title = format!("{} arrays", text::bytes(bytes));
                multiples.push((bytes, Multiple { title, series: vec![series] }));
            }
        }
    }
    multiples.sort_by_key(|(bytes, _)| *bytes);
    strides.sort_unstable();
    strides.dedup();
    accesses.sort_by_key(|access| (naming::access_rank(access), *access));
    accesses.dedup();
    let multiples: Vec<Multiple> = multiples.into_iter().map(|(_, multiple)| multiple).collect();
    let shared = Shared {
        x_ticks: strides.iter().map(|stride| (*stride as f64, text::bytes(*stride))).collect(),
        x_name: "stride",
        y_tick: text::ns_tick,
        label: format!(
            "Total cost c2 over stride, one small plot for each of {} array sizes",
            multiples.len()
        ),
    };
    let caption = "Total cost c2 of a switch over the stride, for each array size. Both axes are logarithmic and shared \
                   by all plots; bands are 95\u{a0}% intervals.";
    let figure = Figure::new("figure-stride", caption, table(subjects), |size| {
        small_multiples::draw(&multiples, &shared, size)
    })
    .legend(legend(subjects, &accesses));
    if any_off_axis(multiples.iter().flat_map(|multiple| &multiple.series)) {
        return figure.note("Values at or below zero stand in the lane “≤ 0” under the axis.");
    }
    figure
}

fn legend(subjects: Subjects<'_>, accesses: &[&str]) -> Vec<LegendItem> {
    let mut items = subjects.legend();
    for access in accesses {
        let rank = naming::access_rank(access);
        items.push(if subjects.several() {
            shape_item(Shape::nth(rank), rank, *access)
        } else {
            line_item(subjects.look(0, rank), *access)
        });
    }
    items
}

fn series(subjects: Subjects<'_>, index: usize, rows: &[&Total]) -> Series {
    let points = rows
        .iter()
        .map(|row| {
            let name = format!(
                "{} arrays, stride {}, {}",
                text::bytes(row.array_bytes),
                text::bytes(row.stride_bytes),
                row.access
            );
            let cost = &row.total_cost_ns;
            Point {
                x: row.stride_bytes as f64,
                y: cost.median,
                low: cost.ci_low,
                high: cost.ci_high,
                tip: tip(subjects, index, &name, cost),
            }
        })
        .collect();
    let access = &rows[0].access;
    Series { look: subjects.look(index, naming::access_rank(access)), label: access.clone(), points }
}

fn table(subjects: Subjects<'_>) -> Table {
    let rest = [vec!["Stride"], row_head()].concat();
    let mut table = Table::new("Total cost c2 over stride", &subjects.head("Array", &rest));
    for (index, named) in subjects.iter() {
        for row in strided(&named.profile.total).concat() {
            let mut cells = vec![Cell::number(text::bytes(row.stride_bytes))];
            cells.extend(row_cells(row));
            table.row(text::bytes(row.array_bytes), subjects.cells(index, cells));
        }
    }
    table
}
