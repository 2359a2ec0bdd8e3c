//! What the sections share: costs by tier, words and cells for figures.

use swtch_faas::tiers::{Ending, TierRow, Tiers, UNTHROTTLED};
use swtch_faas::{Document, Estimate, Response};

use super::{Functions, responses, studies};
use crate::html::prelude::*;

/// What a switch costs at a tier, its read and write included.
pub(super) struct TierCost<'a> {
    pub(super) one: One<'a, Document>,
    pub(super) method: &'a str,
    pub(super) tier: String,
    pub(super) memory_mb: u64,
    pub(super) cpus: Option<f64>,
    pub(super) median: Estimate,
    pub(super) mean: Option<Estimate>,
}

/// What a switch costs at each tier: a study's rows of its usual work, and responses that know their tier.
pub(super) fn tier_costs(subjects: Functions<'_>) -> Vec<TierCost<'_>> {
    let mut costs = Vec::new();
    for (one, tiers) in studies(subjects) {
        let Some(work_ms) = usual_work(tiers) else { continue };
        costs.extend(tiers.tiers.iter().filter_map(|tier| {
            let (row, memory_mb) = tiers.row(&tier.name, work_ms).zip(tier.memory_mb)?;
            let cost = row.switch_ns.as_ref()?;
            let (method, median, mean) = (&*cost.method, cost.median?, cost.mean);
            Some(TierCost { one, method, tier: tier.name.clone(), memory_mb, cpus: tier.cpus, median, mean })
        }));
    }
    // A study has pipes only; next to one, other methods would be alone.
    let with_study = !costs.is_empty();
    for (one, response) in responses(subjects) {
        let Some(memory_mb) = response.platform.memory_mb else { continue };
        let wanted = response.measurements.iter().filter(|of| !with_study || of.method == "pipe");
        costs.extend(wanted.filter_map(|measurement| {
            // With the read and write, as the studies have it.
            let (method, median) = (&*measurement.method, measurement.gross_ns?);
            let (tier, cpus, mean) = (format!("{memory_mb} MB"), response.platform.cpus, mean_of(&median));
            Some(TierCost { one, method, tier, memory_mb, cpus, median, mean })
        }));
    }
    costs.sort_by_key(|cost| (cost.one.index, cost.memory_mb));
    costs
}

/// The mean of one invocation, which has no interval of its own.
pub(super) fn mean_of(estimate: &Estimate) -> Option<Estimate> {
    let mean = estimate.mean?;
    Some(Estimate { median: mean, ci_low: mean, ci_high: mean, ..*estimate })
}

/// The work that most tiers have a switch cost for, the longest of those.
pub(super) fn usual_work(tiers: &Tiers) -> Option<f64> {
    let having = |work_ms: f64| {
        let has = |row: &&TierRow| {
            row.work_ms == work_ms && (row.switch_ns.is_some() || row.throttled_periods_share.is_some())
        };
        tiers.rows.iter().filter(has).count()
    };
    tiers.works().into_iter().max_by_key(|work_ms| having(*work_ms))
}

/// The rows of a tier that have an amount of work, ascending.
pub(super) fn by_work<'a>(tiers: &'a Tiers, tier: &str) -> Vec<&'a TierRow> {
    let mut rows: Vec<&TierRow> =
        tiers.rows.iter().filter(|row| row.tier == tier && row.work_ms > 0.0).collect();
    rows.sort_by(|one, other| one.work_ms.total_cmp(&other.work_ms));
    rows
}

/// An amount of work: `20 ms`.
pub(super) fn work(ms: f64) -> String {
    if ms > 0.0 { text::ns_tick(ms * 1e6) } else { "its own".to_owned() }
}

/// The same in a sentence: `20 ms of work`.
pub(super) fn of_work(ms: f64) -> String {
    if ms > 0.0 { format!("{} of work", work(ms)) } else { "its own work".to_owned() }
}

/// `1.20 to 1.22 µs`, and with which probability it holds where that is not 95 %.
pub(super) fn interval(estimate: &Estimate, words: fn(f64) -> String) -> String {
    if estimate.ci_low == estimate.ci_high {
        return "–".to_owned();
    }
    let range = text::range(&words(estimate.ci_low), &words(estimate.ci_high), text::NO_BREAK);
    match estimate.confidence {
        Some(confidence) if (confidence - 0.95).abs() > 0.02 => {
            format!("{range} ({} sure)", text::percent(confidence))
        }
        _ => range,
    }
}

/// Median and interval as cells.
pub(super) fn cells(title: &'static str, estimate: Option<&Estimate>, words: fn(f64) -> String) -> [Cell; 2] {
    let interval = estimate.map(|estimate| interval(estimate, words));
    [median_cell(title, estimate.copied(), words), Cell::or_dash("Interval", interval)]
}

/// The median alone.
pub(super) fn median_cell(title: &'static str, estimate: Option<Estimate>, words: fn(f64) -> String) -> Cell {
    Cell::figure(title, estimate.map(|estimate| estimate.median), words)
}

/// An amount of work as a cell.
pub(super) fn work_cell(ms: f64) -> Cell {
    Cell::sorted("Work", work(ms), ms)
}

/// The lines that a mark shows about its figure.
pub(super) fn tip(name: String, estimate: &Estimate, words: fn(f64) -> String) -> Vec<String> {
    let mut lines = vec![name, words(estimate.median)];
    if estimate.ci_low != estimate.ci_high {
        lines.push(interval(estimate, words));
    }
    lines.extend(estimate.n.map(|n| format!("n = {n}")));
    lines
}

/// How a tier looks on every chart: its place among all tiers of the page, by memory.
pub(super) fn tier_look(place: usize) -> Look {
    Look::new(place, place, place / 6)
}

/// The names of all tiers on the page, from the least memory to the most; without a quota is the last.
pub(super) fn tier_names(subjects: Functions<'_>) -> Vec<String> {
    let tiers = studies(subjects).flat_map(|(_, tiers)| tiers.tiers.iter().enumerate());
    let mut known: Vec<(u64, usize, &str)> = Vec::new();
    for (place, tier) in tiers {
        if known.iter().all(|(.., name)| *name != tier.name) {
            known.push((tier.memory_mb.unwrap_or(u64::MAX), place, &tier.name));
        }
    }
    known.sort_unstable();
    let free = studies(subjects).any(|(_, tiers)| tiers.rows.iter().any(|row| row.tier == UNTHROTTLED));
    let names = known.into_iter().map(|(.., name)| name).chain(free.then_some(UNTHROTTLED));
    names.map(str::to_owned).collect()
}

/// The response of a tier whose gaps are shown: the one with the median share of time in gaps, among the complete ones.
pub(super) fn typical<'a>(tiers: &'a Tiers, tier: &str) -> Option<&'a Response> {
    let complete = tiers.invocations.iter().filter(|one| one.tier == tier && one.outcome == Ending::Complete);
    let responses = complete.filter_map(|one| {
        let response = one.response.as_ref()?;
        Some((response.timeline()?.share_in_gaps(), response))
    });
    let mut responses: Vec<(f64, &Response)> = responses.collect();
    responses.sort_by(|one, other| one.0.total_cmp(&other.0));
    responses.get(responses.len() / 2).map(|(_, response)| *response)
}
