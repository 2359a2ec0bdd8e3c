//! Latency, slow-down and switch cost by how much a function has to do.

use super::super::charts::lines::{Point, Series};
use super::super::charts::markers::line_item;
use super::super::charts::small_multiples::{self, Multiple, Shared};
use super::super::page::{Block, Cell, Figure, LegendItem, Section, Table};
use super::super::text;
use super::figures::{cell, cells, of_work, tier_look, tier_names, tip, work};
use super::{Functions, sortable, studies, unless_empty};
use swtch_faas::Estimate;
use swtch_faas::tiers::{Row, Tiers};

const INTRO: &str = "Work is a number of iterations, the same in every tier; it is called by the CPU time that it took where nothing throttled it. Below one quota it \
                     runs in a single stretch and is not slowed; beyond that it stands still until the next period, again and again. CPU time “beside it” is of the \
                     runtime and of measuring.";

/// A plot of a chart: its title, and what of a row it shows.
type Part = (&'static str, fn(&Row) -> Option<Estimate>);

/// A chart: the end of its id, its caption, its plots, and how values are written.
struct Chart {
    id: &'static str,
    caption: &'static str,
    parts: &'static [Part],
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
    let mut blocks: Vec<Block> =
        CHARTS.iter().filter_map(|chart| figure(subjects, &names, chart)).map(Block::Figure).collect();
    for (i, tiers) in studies(subjects) {
        blocks.push(Block::Folded {
            summary: subjects.prefixed(i, "Every tier and amount of work"),
            table: table(&subjects.prefixed(i, "Every tier and amount of work."), tiers),
        });
    }
    unless_empty("execution-time", "Switch cost and slow-down by execution time", INTRO, blocks)
}

/// Signs of the tiers that are drawn.
fn legend(names: &[String], drawn: impl Fn(&String) -> bool) -> Vec<LegendItem> {
    let places = names.iter().enumerate().filter(|(_, name)| drawn(name));
    places.map(|(place, name)| line_item(tier_look(place), name.clone())).collect()
}

/// One chart, a plot for each study and part, a line for each tier.
fn figure(subjects: Functions<'_>, names: &[String], chart: &Chart) -> Option<Figure> {
    let mut head = vec!["Work"];
    let titled = chart.parts.len() > 1;
    if titled {
        head.extend(chart.parts.iter().flat_map(|(title, _)| [*title, "Interval"]));
    } else {
        head.extend(["Median", "Interval"]);
    }
    let mut table = Table::new(chart.caption, &subjects.head("Tier", &head));
    let mut multiples = Vec::new();
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
                multiples.push(Multiple { title, series });
            }
        }
        for row in sorted(tiers, names) {
            let estimates: Vec<Option<Estimate>> = chart.parts.iter().map(|(_, of)| of(row)).collect();
            if estimates.iter().any(Option::is_some) {
                let mut figures = vec![Cell::sorted(work(row.work_ms), row.work_ms)];
                figures.extend(estimates.iter().flat_map(|estimate| cells(estimate.as_ref(), chart.words)));
                table.row(row.tier.clone(), subjects.cells(i, figures));
            }
        }
    }
    if multiples.is_empty() {
        return None;
    }
    // Not every chart has every tier: without a quota nothing is slowed.
    let drawn = |name: &String| {
        multiples.iter().flat_map(|multiple| &multiple.series).any(|series| series.label == *name)
    };
    let legend = legend(names, drawn);
    let shared = Shared {
        x_ticks: work_ticks(subjects),
        x_name: "work, CPU time",
        y_tick: chart.tick,
        label: format!("{} A line for each tier.", chart.caption),
    };
    let draw = |size| small_multiples::draw(&multiples, &shared, size);
    Some(Figure::new(format!("figure-{}", chart.id), chart.caption, table, draw).legend(legend))
}

/// Rows by tier, in the order of `names`, and work.
fn sorted<'a>(tiers: &'a Tiers, names: &[String]) -> Vec<&'a Row> {
    let mut rows: Vec<&Row> = tiers.rows.iter().collect();
    let place = |row: &Row| names.iter().position(|name| *name == row.tier);
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
    of: impl Fn(&Row) -> Option<Estimate>,
    words: fn(f64) -> String,
) -> Vec<Point> {
    let mut points: Vec<Point> = tiers
        .rows
        .iter()
        .filter(|row| row.tier == tier && row.work_ms > 0.0)
        .filter_map(|row| {
            let estimate = of(row)?;
            Some(Point {
                x: row.work_ms,
                y: estimate.median,
                low: estimate.low,
                high: estimate.high,
                tip: tip(format!("{tier}, {}", of_work(row.work_ms)), &estimate, words),
            })
        })
        .collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}

fn table(caption: &str, tiers: &Tiers) -> Table {
    let head = [
        "Tier",
        "Work",
        "Latency",
        "Interval",
        "p90",
        "p99",
        "Slow-down",
        "CPU time",
        "Beside it",
        "Periods throttled",
        if tiers.switches_are_the_handlers() {
            "Switch of swtch’s handler, median"
        } else {
            "Switch, median"
        },
        "Switch, mean",
        "Complete (others)",
    ];
    let mut table = sortable(caption, &head);
    for row in &tiers.rows {
        let median = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.median);
        let switch = row.switch_ns.as_ref();
        let mut figures = vec![Cell::sorted(work(row.work_ms), row.work_ms)];
        figures.extend(cells(row.latency_ns.as_ref(), text::ns));
        figures.extend([
            cell(row.p90_ns, text::ns),
            cell(row.p99_ns, text::ns),
            cell(median(row.slowdown), text::times),
            cell(median(row.cpu_ns), text::ns),
            cell(median(row.overhead_cpu_ns), text::ns),
            cell(median(row.throttled_periods_share), text::percent),
            cell(median(switch.and_then(|switch| switch.median)), text::ns),
            cell(median(switch.and_then(|switch| switch.mean)), text::ns),
            Cell::number(format!("{} ({})", row.n, row.failed)),
        ]);
        table.row(row.tier.clone(), figures);
    }
    table
}
