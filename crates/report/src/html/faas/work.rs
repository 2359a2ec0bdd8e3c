//! Latency, slow-down and switch cost by how much a function has to do.

use swtch_faas::Estimate;
use swtch_faas::tiers::{TierRow, Tiers};

use super::figures::{by_work, cells, median_cell, of_work, tier_look, tier_names, tip, work, work_cell};
use super::{Functions, studies};
use crate::html::prelude::*;

const INTRO: &str = "Work is a number of iterations, the same in every tier, named by the CPU time that it took without throttling. Work below one quota runs without \
                     a stop; longer work is stopped until the next period, again and again. CPU time “beside it” is the runtime’s and the \
                     measurement’s.";

/// A plot of a chart: its title, and what of a row it shows.
type Plotted = (&'static str, fn(&TierRow) -> Option<Estimate>);

/// A chart: the end of its id, its caption, its plots, and how values are written.
struct WorkChart {
    id: &'static str,
    caption: &'static str,
    parts: &'static [Plotted],
    words: fn(f64) -> String,
    tick: fn(f64) -> String,
}

const CHARTS: [WorkChart; 3] = [
    WorkChart {
        id: "latency",
        caption: "Time from the request to the end of the answer, over the work.",
        parts: &[("", |row| row.latency_ns)],
        words: text::ns,
        tick: text::ns_tick,
    },
    WorkChart {
        id: "slowdown",
        caption: "Slow-down: that time against the same work unthrottled, over the work.",
        parts: &[("", |row| row.slowdown)],
        words: text::times,
        tick: text::times_tick,
    },
    WorkChart {
        id: "switch-cost",
        caption: "A switch with the read and write that cause it, in executions of that length.",
        parts: &[
            ("median", |row| row.switch_ns.as_ref()?.median),
            ("mean", |row| row.switch_ns.as_ref()?.mean),
        ],
        words: text::ns,
        tick: text::ns_tick,
    },
];

/// The section; nothing when there is no study of tiers.
pub(super) fn section(subjects: Functions<'_>) -> Option<Section> {
    let names = tier_names(subjects);
    let tables = studies(subjects).filter_map(|(one, tiers)| {
        let summary = one.prefixed("Every tier and amount of work");
        let table = table(&format!("{summary}."), tiers);
        Block::folded(summary, table)
    });
    Section::new("execution-time", "Switch cost and slow-down by execution time", INTRO)
        .put(CHARTS.iter().filter_map(|chart| figure(subjects, &names, chart)))
        .put(tables)
        .unless_empty()
}

/// One chart, a plot for each study and part, a line for each tier.
fn figure(subjects: Functions<'_>, names: &[String], chart: &WorkChart) -> Option<Figure> {
    let mut rows = Vec::new();
    let mut drawing = SmallMultiples::new(("work, CPU time", work), chart.tick);
    for (one, tiers) in studies(subjects) {
        for (title, of) in chart.parts {
            let title = if title.is_empty() { one.name().unwrap_or_default() } else { one.prefixed(title) };
            for (place, name) in names.iter().enumerate() {
                for (row, estimate) in by_work(tiers, name).iter().filter_map(|row| Some((row, of(row)?))) {
                    let tip = tip(format!("{name}, {}", of_work(row.work_ms)), &estimate, chart.words);
                    let point = Point::new(row.work_ms, &estimate, tip);
                    drawing.point(&title, (tier_look(place), name), point);
                }
            }
        }
        for row in sorted(tiers, names) {
            let estimates: Vec<Option<Estimate>> = chart.parts.iter().map(|(_, of)| of(row)).collect();
            if estimates.iter().any(Option::is_some) {
                let mut figures = vec![work_cell(row.work_ms)];
                for ((title, _), estimate) in chart.parts.iter().zip(&estimates) {
                    let title = if title.is_empty() { "Median" } else { title };
                    figures.extend(cells(title, estimate.as_ref(), chart.words));
                }
                rows.push(one.row(&row.tier, figures));
            }
        }
    }
    let table = Table::new(chart.caption, "Tier", rows);
    let label = format!("{} A line for each tier.", chart.caption);
    Some(Figure::new(format!("figure-{}", chart.id), chart.caption, &label, table, drawing.some()?))
}

/// Rows by tier, in the order of `names`, and work.
fn sorted<'a>(tiers: &'a Tiers, names: &[String]) -> Vec<&'a TierRow> {
    let mut rows: Vec<&TierRow> = tiers.rows.iter().collect();
    let place = |row: &TierRow| names.iter().position(|name| *name == row.tier);
    rows.sort_by(|one, other| place(one).cmp(&place(other)).then(one.work_ms.total_cmp(&other.work_ms)));
    rows
}

fn table(caption: &str, tiers: &Tiers) -> Table {
    let handlers = tiers.switches_are_the_handlers();
    let switch_title = if handlers { "Switch of swtch’s handler, median" } else { "Switch, median" };
    let rows = tiers.rows.iter().map(|row| {
        let switch = row.switch_ns.as_ref();
        let mut figures = vec![work_cell(row.work_ms)];
        figures.extend(cells("Latency", row.latency_ns.as_ref(), text::ns));
        figures.extend([
            Cell::figure("p90", row.p90_ns, text::ns),
            Cell::figure("p99", row.p99_ns, text::ns),
            median_cell("Slow-down", row.slowdown, text::times),
            median_cell("CPU time", row.cpu_ns, text::ns),
            median_cell("Beside it", row.overhead_cpu_ns, text::ns),
            median_cell("Periods throttled", row.throttled_periods_share, text::percent),
            median_cell(switch_title, switch.and_then(|switch| switch.median), text::ns),
            median_cell("Switch, mean", switch.and_then(|switch| switch.mean), text::ns),
            Cell::number("Complete (others)", format!("{} ({})", row.n, row.failed)),
        ]);
        TableRow::new(&row.tier, figures)
    });
    Table::new(caption, "Tier", rows).sortable()
}
