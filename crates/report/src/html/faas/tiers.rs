//! What a switch costs by memory tier.

use super::super::charts::lines::{Point, Series, any_off_axis};
use super::super::charts::markers::line_item;
use super::super::charts::small_multiples::{self, Multiple, Shared};
use super::super::page::{Block, Cell, Figure, Section, Table};
use super::super::text;
use super::figures::{TierCost, cell, cells, tier_costs, tip, usual_work, work};
use super::{Functions, studies, unless_empty};
use swtch_faas::Estimate;

const INTRO: &str = "The median and the mean are kept apart because a quota moves only one of them: a batch of switches is short, so that most batches see no \
                     gap and the median is what a switch costs while it runs. The mean holds the time in which the quota stopped the function.";

/// The section; nothing when no tier is known.
pub(super) fn section(subjects: Functions<'_>) -> Option<Section> {
    let costs = tier_costs(subjects);
    let blocks: Vec<Block> =
        figure(subjects, &costs).into_iter().chain(own_latency(subjects)).map(Block::Figure).collect();
    unless_empty("tiers", "Switch cost by memory tier", INTRO, blocks)
}

fn figure(subjects: Functions<'_>, costs: &[TierCost]) -> Option<Figure> {
    // One tier is no comparison.
    if costs.iter().all(|cost| cost.memory_mb == costs[0].memory_mb) {
        return None;
    }
    let mut methods: Vec<&str> = Vec::new();
    for cost in costs {
        if !methods.contains(&cost.method.as_str()) {
            methods.push(&cost.method);
        }
    }
    let series = |of: fn(&TierCost) -> Option<Estimate>| -> Vec<Series> {
        let wanted = subjects
            .iter()
            .flat_map(|(i, _)| methods.iter().enumerate().map(move |(m, method)| (i, m, *method)));
        wanted
            .map(|(i, m, method)| Series {
                look: subjects.look(i, m),
                label: name(subjects, i, method, methods.len()),
                points: points(
                    subjects,
                    costs.iter().filter(|cost| cost.subject == i && cost.method == method),
                    of,
                ),
            })
            .filter(|series| !series.points.is_empty())
            .collect()
    };
    let multiples = [
        Multiple { title: "median".to_owned(), series: series(|cost| Some(cost.median)) },
        Multiple { title: "mean".to_owned(), series: series(|cost| cost.mean) },
    ];
    let own = studies(subjects).any(|(_, tiers)| tiers.switches_are_the_handlers());
    let caption = format!(
        "A switch with the read and write that cause it{}{}, over the memory of the tier. Axes are logarithmic and the same for both; bands are intervals.",
        with_work(subjects),
        if own { ", made by swtch’s own handler beside the function" } else { "" },
    );
    let memories = costs.iter().map(|cost| cost.memory_mb).collect();
    let shared = memory_axis(memories, "Cost of a switch by memory tier, median and mean");
    let legend =
        multiples[0].series.iter().map(|series| line_item(series.look, series.label.clone())).collect();
    let draw = |size| small_multiples::draw(&multiples, &shared, size);
    let figure = Figure::new("figure-tiers", caption, table(subjects, costs), draw).legend(legend);
    Some(if any_off_axis(multiples.iter().flat_map(|multiple| &multiple.series)) {
        figure.note("Values at or below zero are noise; they stand in the lane “≤ 0” under the axis.")
    } else {
        figure
    })
}

/// The time that functions with work of their own take, which has no place on an axis of work.
fn own_latency(subjects: Functions<'_>) -> Option<Figure> {
    let caption = "Time from the request to the end of the answer of a function that brings its own work, over the memory of the tier.";
    let head = ["Latency", "Interval", "p90", "p99", "Slow-down", "Periods throttled"];
    let mut table = Table::new(caption, &subjects.head("Tier", &head));
    let mut memories = Vec::new();
    let mut all = Vec::new();
    for (i, tiers) in studies(subjects) {
        let mut points = Vec::new();
        for tier in &tiers.tiers {
            let Some((row, memory_mb)) = tiers.row(&tier.name, 0.0).zip(tier.memory_mb) else { continue };
            let Some(latency) = row.latency_ns else { continue };
            let median = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.median);
            let mut figures: Vec<Cell> = cells(Some(&latency), text::ns).into();
            figures.extend([
                cell(row.p90_ns, text::ns),
                cell(row.p99_ns, text::ns),
                cell(median(row.slowdown), text::times),
                cell(median(row.throttled_periods_share), text::percent),
            ]);
            table.row(tier.name.clone(), subjects.cells(i, figures));
            memories.push(memory_mb);
            points.push(Point {
                x: memory_mb as f64,
                y: latency.median,
                low: latency.low,
                high: latency.high,
                tip: tip(subjects.prefixed(i, &tier.name), &latency, text::ns),
            });
        }
        if !points.is_empty() {
            all.push(Series {
                look: subjects.look(i, 0),
                label: subjects.name(i).unwrap_or_default(),
                points,
            });
        }
    }
    if all.is_empty() {
        return None;
    }
    let legend = if subjects.several() {
        all.iter().map(|series| line_item(series.look, series.label.clone())).collect()
    } else {
        Vec::new()
    };
    let multiples = [Multiple { title: String::new(), series: all }];
    let shared = memory_axis(memories, caption);
    let draw = |size| small_multiples::draw(&multiples, &shared, size);
    Some(Figure::new("figure-own-latency", caption, table, draw).legend(legend))
}

/// An axis of memory, and times over it.
fn memory_axis(mut memories: Vec<u64>, label: &str) -> Shared<'static> {
    memories.sort_unstable();
    memories.dedup();
    Shared {
        x_ticks: memories.iter().map(|memory| (*memory as f64, memory.to_string())).collect(),
        x_name: "memory of the tier, MB",
        y_tick: text::ns_tick,
        label: label.to_owned(),
    }
}

/// Which work the studies' rows are of.
fn with_work(subjects: Functions<'_>) -> String {
    let works: Vec<String> = studies(subjects)
        .filter_map(|(i, tiers)| Some(subjects.prefixed(i, &work(usual_work(tiers)?))))
        .collect();
    if works.is_empty() { String::new() } else { format!(" (in executions of {})", text::joined(&works)) }
}

fn name(subjects: Functions<'_>, index: usize, method: &str, methods: usize) -> String {
    match subjects.name(index) {
        Some(name) if methods > 1 => format!("{name}, {method}"),
        Some(name) => name,
        None => method.to_owned(),
    }
}

fn points<'a>(
    subjects: Functions<'_>,
    costs: impl Iterator<Item = &'a TierCost>,
    of: fn(&TierCost) -> Option<Estimate>,
) -> Vec<Point> {
    costs
        .filter_map(|cost| {
            let estimate = of(cost)?;
            Some(Point {
                x: cost.memory_mb as f64,
                y: estimate.median,
                low: estimate.low,
                high: estimate.high,
                tip: tip(
                    subjects.prefixed(cost.subject, &format!("{}, {}", cost.tier, cost.method)),
                    &estimate,
                    text::ns,
                ),
            })
        })
        .collect()
}

fn table(subjects: Functions<'_>, costs: &[TierCost]) -> Table {
    let head = ["CPUs", "Method", "Median", "Interval", "Mean", "Interval"];
    let mut table = Table::new("Cost of a switch by memory tier.", &subjects.head("Tier", &head));
    for cost in costs {
        let mut row = vec![
            cost.cpus.map_or_else(|| Cell::number("–"), |cpus| Cell::sorted(text::amount(cpus), cpus)),
            Cell::text(cost.method.clone()),
        ];
        row.extend(cells(Some(&cost.median), text::ns));
        row.extend(cells(cost.mean.as_ref(), text::ns));
        table.row(cost.tier.clone(), subjects.cells(cost.subject, row));
    }
    table
}
