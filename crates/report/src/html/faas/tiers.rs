//! What a switch costs by memory tier.

use super::super::charts::lines::{Point, Series};
use super::super::charts::small_multiples::{Multiple, SmallMultiples};
use super::super::page::{Cell, Figure, Section, Table};
use super::super::text;
use super::figures::{self, TierCost, cells, median_cell, tier_costs, tip, usual_work, work};
use super::{Functions, studies};
use swtch_faas::Estimate;

const INTRO: &str = "The median and the mean are kept apart because a quota moves only one of them: a batch of switches is short, so that most batches see no \
                     gap and the median is what a switch costs while it runs. The mean holds the time in which the quota stopped the function.";

/// The section; nothing when no tier is known.
pub(super) fn section(subjects: Functions<'_>) -> Option<Section> {
    let costs = tier_costs(subjects);
    let mut section = Section::new("tiers", "Switch cost by memory tier", INTRO);
    section.put(figure(subjects, &costs));
    section.put(own_latency(subjects));
    section.unless_empty()
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
    let plot = |title: &str, of: fn(&TierCost) -> Option<Estimate>| {
        let wanted = subjects
            .iter()
            .flat_map(|(i, _)| methods.iter().enumerate().map(move |(m, method)| (i, m, *method)));
        let series = wanted.map(|(i, m, method)| Series {
            look: subjects.look(i, m),
            label: name(subjects, i, method, methods.len()),
            points: points(
                subjects,
                costs.iter().filter(|cost| cost.subject == i && cost.method == method),
                of,
            ),
        });
        let series = series.filter(|series| !series.points.is_empty()).collect();
        Multiple { title: title.to_owned(), series }
    };
    let plots = vec![plot("median", |cost| Some(cost.median)), plot("mean", |cost| cost.mean)];
    let own = studies(subjects).any(|(_, tiers)| tiers.switches_are_the_handlers());
    let caption = format!(
        "A switch with the read and write that cause it{}{}, over the memory of the tier. Axes are logarithmic and the same for both; bands are intervals.",
        with_work(subjects),
        if own { ", made by swtch’s own handler beside the function" } else { "" },
    );
    let memories = costs.iter().map(|cost| cost.memory_mb).collect();
    let chart = over_memory(plots, memories, "Cost of a switch by memory tier, median and mean");
    let figure = chart.figure("figure-tiers", caption, table(subjects, costs)).legend(chart.legend());
    let note = "Values at or below zero are noise; they stand in the lane “≤ 0” under the axis.";
    Some(if chart.any_off_axis() { figure.note(note) } else { figure })
}

/// The time that functions with work of their own take, which has no place on an axis of work.
fn own_latency(subjects: Functions<'_>) -> Option<Figure> {
    let caption = "Time from the request to the end of the answer of a function that brings its own work, over the memory of the tier.";
    let mut rows = Vec::new();
    let mut memories = Vec::new();
    let mut series = Vec::new();
    for (i, tiers) in studies(subjects) {
        let mut points = Vec::new();
        for tier in &tiers.tiers {
            let Some((row, memory_mb)) = tiers.row(&tier.name, 0.0).zip(tier.memory_mb) else { continue };
            let Some(latency) = row.latency_ns else { continue };
            let mut figures: Vec<Cell> = cells("Latency", Some(&latency), text::ns).into();
            figures.extend([
                Cell::figure("p90", row.p90_ns, text::ns),
                Cell::figure("p99", row.p99_ns, text::ns),
                median_cell("Slow-down", row.slowdown, text::times),
                median_cell("Periods throttled", row.throttled_periods_share, text::percent),
            ]);
            rows.push((i, tier.name.clone(), figures));
            memories.push(memory_mb);
            let tip = tip(subjects.prefixed(i, &tier.name), &latency, text::ns);
            points.push(Point::new(memory_mb as f64, &latency, tip));
        }
        if !points.is_empty() {
            let label = subjects.name(i).unwrap_or_default();
            series.push(Series { look: subjects.look(i, 0), label, points });
        }
    }
    if series.is_empty() {
        return None;
    }
    let chart = over_memory(vec![Multiple { title: String::new(), series }], memories, caption);
    let legend = if subjects.several() { chart.legend() } else { Vec::new() };
    Some(chart.figure("figure-own-latency", caption, subjects.table(caption, "Tier", rows)).legend(legend))
}

/// Times over memory.
fn over_memory(plots: Vec<Multiple>, mut memories: Vec<u64>, label: &str) -> SmallMultiples<'static> {
    memories.sort_unstable();
    memories.dedup();
    let x_ticks = memories.iter().map(|memory| (*memory as f64, memory.to_string())).collect();
    let (x_name, label) = ("memory of the tier, MB", label.to_owned());
    SmallMultiples { plots, x_ticks, x_name, y_tick: text::ns_tick, label }
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
    let point = |cost: &TierCost| {
        let estimate = of(cost)?;
        let name = subjects.prefixed(cost.subject, &format!("{}, {}", cost.tier, cost.method));
        Some(Point::new(cost.memory_mb as f64, &estimate, tip(name, &estimate, text::ns)))
    };
    costs.filter_map(point).collect()
}

fn table(subjects: Functions<'_>, costs: &[TierCost]) -> Table {
    let rows = costs.iter().map(|cost| {
        let mut cells =
            vec![Cell::figure("CPUs", cost.cpus, text::amount), Cell::text("Method", &cost.method)];
        cells.extend(figures::cells("Median", Some(&cost.median), text::ns));
        cells.extend(figures::cells("Mean", cost.mean.as_ref(), text::ns));
        (cost.subject, cost.tier.clone(), cells)
    });
    subjects.table("Cost of a switch by memory tier.", "Tier", rows)
}
