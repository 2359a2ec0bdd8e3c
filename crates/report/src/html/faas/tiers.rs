//! What a switch costs by memory tier.

use super::figures::{TierCost, cells, median_cell, tier_costs, tip, usual_work, work};
use super::{Functions, studies};
use crate::html::prelude::*;

const INTRO: &str = "The median and the mean are kept apart because a quota moves only one of them. A batch \
                     of switches is short, so most batches see no gap. So the median is what a switch costs \
                     while it runs. The mean holds the time in which the quota stopped the function.";

/// The section; nothing when no tier is known.
pub(super) fn section(subjects: Functions<'_>) -> Option<Section> {
    let costs = tier_costs(subjects);
    Section::new("tiers", "Switch cost by memory tier", INTRO)
        .put(figure(subjects, &costs))
        .put(own_latency(subjects))
        .unless_empty()
}

/// Times over memory.
fn over_memory() -> SmallMultiples<'static> {
    SmallMultiples::new(("memory of the tier, MB", |memory| memory.to_string()), text::ns_tick)
}

fn figure(subjects: Functions<'_>, costs: &[TierCost<'_>]) -> Option<Figure> {
    // A single tier has nothing to compare it with.
    if costs.iter().all(|cost| cost.memory_mb == costs[0].memory_mb) {
        return None;
    }
    let methods = once(costs.iter().map(|cost| cost.method));
    let mut chart = over_memory();
    for (place, method) in methods.iter().enumerate() {
        for cost in costs.iter().filter(|cost| cost.method == *method) {
            let label = match cost.one.name() {
                Some(name) if methods.len() > 1 => format!("{name}, {method}"),
                name => name.unwrap_or_else(|| (*method).to_owned()),
            };
            let name = cost.one.prefixed(&format!("{}, {method}", cost.tier));
            for (plot, estimate) in [("median", Some(cost.median)), ("mean", cost.mean)] {
                let Some(estimate) = estimate else { continue };
                let tip = tip(name.clone(), &estimate, text::ns);
                let point = Point::new(cost.memory_mb as f64, &estimate, tip);
                chart.point(plot, (cost.one.look(place), &label), point);
            }
        }
    }
    let own = studies(subjects).any(|(_, tiers)| tiers.switches_are_the_handlers());
    let caption = format!(
        "A switch with the read and write that cause it{}{}, over the memory of the tier. Axes are logarithmic and the same for both; bands are intervals.",
        with_work(subjects),
        if own { ", made by swtch’s own handler next to the function" } else { "" },
    );
    let rows = costs.iter().map(|cost| {
        let mut row = vec![Cell::figure("CPUs", cost.cpus, text::amount), Cell::text("Method", cost.method)];
        row.extend(cells("Median", Some(&cost.median), text::ns));
        row.extend(cells("Mean", cost.mean.as_ref(), text::ns));
        cost.one.row(&cost.tier, row)
    });
    let table = Table::new("Cost of a switch by memory tier.", "Tier", rows);
    let label = "Cost of a switch by memory tier, median and mean";
    let note = "Values at or below zero are noise; they are in the lane “≤ 0” under the axis.";
    let figure = Figure::new("figure-tiers", caption, label, table, chart.some()?);
    Some(figure.notes(chart.any_off_axis().then_some(note)))
}

/// The time that functions with work of their own take, which has no place on an axis of work.
fn own_latency(subjects: Functions<'_>) -> Option<Figure> {
    let mut rows = Vec::new();
    let mut chart = over_memory();
    for (one, tiers) in studies(subjects) {
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
            rows.push(one.row(&tier.name, figures));
            let tip = tip(one.prefixed(&tier.name), &latency, text::ns);
            let label = one.name().unwrap_or_default();
            chart.point("", (one.look(0), &label), Point::new(memory_mb as f64, &latency, tip));
        }
    }
    let caption = "Time from the request to the end of the answer of a function that brings its own work, over the memory of the tier.";
    let table = Table::new(caption, "Tier", rows);
    Some(Figure::new("figure-own-latency", caption, caption, table, chart.some()?))
}

/// Which work the studies' rows are of.
fn with_work(subjects: Functions<'_>) -> String {
    let works = studies(subjects).filter_map(|(one, tiers)| Some(one.prefixed(&work(usual_work(tiers)?))));
    let works: Vec<String> = works.collect();
    if works.is_empty() { String::new() } else { format!(" (in executions of {})", text::joined(&works)) }
}
