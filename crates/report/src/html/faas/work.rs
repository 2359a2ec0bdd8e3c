//! Latency, slow-down and switch cost by how much a function has to do.

use super::super::charts::lines::{Point, Series};
use super::super::charts::markers::line_item;
use super::super::charts::small_multiples::{Multiple, SmallMultiples};
use super::super::page::{Block, Cell, Figure, Section, Table};
use super::super::text;
use super::figures::{cells, median_cell, of_work, tier_look, tier_names, tip, work, work_cell};
use super::{Functions, studies};
use swtch_faas::Estimate;
use swtch_faas::tiers::{TierRow, Tiers};

const INTRO: &str = "Work is a number of iterations, the same in every tier; it is called by the CPU time that it took where nothing throttled it. Below one quota it \
                     runs in a single stretch and is not slowed; beyond that it stands still until the next period, again and again. CPU time “beside it” is of the \
                     runtime and of measuring.";

/// A plot of a chart: its title, and what of a row it shows.
type Plotted = (&'static str, fn(&TierRow) -> Option<Estimate>);

/// A chart: the end of its id, its caption, its plots, and how values are written.
struct Chart {
    id: &'static str,
    caption: &'static str,
    parts: &'static [Plotted],
    words: fn(f64) -> String,
    tick: fn(f64) -> String,
}

const CHARTS: [Chart; 3] = [
    Chart {
        id: "latency",
        caption: "Time from the request to the end of the answer, over the work.",
        parts: &[("", |row| row.latency_ns)],
        words: text::ns,
        tick: text::ns_tick,
    },
    Chart {
        id: "slowdown",
        caption: "Slow-down: that time against the same work unthrottled, over the work.",
        parts: &[("", |row| row.slowdown)],
        words: text::times,
        tick: text::times_tick,
    },
    Chart {
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
    let title = "Switch cost and slow-down by execution time";
    let mut section = Section::new("execution-time", title, INTRO);
    section.put(CHARTS.iter().filter_map(|chart| figure(subjects, &names, chart)));
    for (i, tiers) in studies(subjects) {
        let summary = subjects.prefixed(i, "Every tier and amount of work");
        let table = table(&format!("{summary}."), tiers);
        section.put((!table.rows.is_empty()).then_some(Block::Folded { summary, table }));
    }
    section.unless_empty()
}

/// One chart, a plot for each study and part, a line for each tier.
fn figure(subjects: Functions<'_>, names: &[String], chart: &Chart) -> Option<Figure> {
    let mut rows = Vec::new();
    let mut plots = Vec::new();
    for (i, tiers) in studies(subjects) {
        for (title, of) in chart.parts {
            let title = match (subjects.name(i), *title) {
                (Some(name), "") => name,
                (Some(name), title) => format!("{name}: {title}"),
                (None, title) => title.to_owned(),
            };
            let series: Vec<Series> = names
                .iter()
                .enumerate()
                .map(|(place, name)| Series {
                    look: tier_look(place),
                    label: name.clone(),
                    points: points(tiers, name, *of, chart.words),
                })
                .filter(|series| !series.points.is_empty())
                .collect();
            if !series.is_empty() {
                plots.push(Multiple { title, series });
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
                rows.push((i, row.tier.clone(), figures));
            }
        }
    }
    if plots.is_empty() {
        return None;
    }
    // Not every chart has every tier: without a quota nothing is slowed.
    let drawn = |name: &String| {
        plots.iter().flat_map(|plot: &Multiple| &plot.series).any(|series| series.label == *name)
    };
    let shown = names.iter().enumerate().filter(|(_, name)| drawn(name));
    let legend = shown.map(|(place, name)| line_item(tier_look(place), name.clone())).collect();
    let table = subjects.table(chart.caption, "Tier", rows);
    let drawing = SmallMultiples {
        plots,
        x_ticks: work_ticks(subjects),
        x_name: "work, CPU time",
        y_tick: chart.tick,
        label: format!("{} A line for each tier.", chart.caption),
    };
    Some(drawing.figure(format!("figure-{}", chart.id), chart.caption, table).legend(legend))
}

/// Rows by tier, in the order of `names`, and work.
fn sorted<'a>(tiers: &'a Tiers, names: &[String]) -> Vec<&'a TierRow> {
    let mut rows: Vec<&TierRow> = tiers.rows.iter().collect();
    let place = |row: &TierRow| names.iter().position(|name| *name == row.tier);
    rows.sort_by(|one, other| place(one).cmp(&place(other)).then(one.work_ms.total_cmp(&other.work_ms)));
    rows
}

/// Every amount of work on the page.
pub(super) fn work_ticks(subjects: Functions<'_>) -> Vec<(f64, String)> {
    let mut works: Vec<f64> =
        studies(subjects).flat_map(|(_, tiers)| tiers.works()).filter(|ms| *ms > 0.0).collect();
    works.sort_by(f64::total_cmp);
    works.dedup();
    works.into_iter().map(|ms| (ms, work(ms))).collect()
}

fn points(
    tiers: &Tiers,
    tier: &str,
    of: impl Fn(&TierRow) -> Option<Estimate>,
    words: fn(f64) -> String,
) -> Vec<Point> {
    let of_tier = tiers.rows.iter().filter(|row| row.tier == tier && row.work_ms > 0.0);
    let point = |row: &TierRow| {
        let estimate = of(row)?;
        let tip = tip(format!("{tier}, {}", of_work(row.work_ms)), &estimate, words);
        Some(Point::new(row.work_ms, &estimate, tip))
    };
    let mut points: Vec<Point> = of_tier.filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}

fn table(caption: &str, tiers: &Tiers) -> Table {
    let handlers = tiers.switches_are_the_handlers();
    let switch_title = if handlers { "Switch of swtch’s handler, median" } else { "Switch, median" };
    let mut table = Table::new(caption, "Tier").sortable();
    for row in &tiers.rows {
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
        table.row(row.tier.clone(), figures);
    }
    table
}
