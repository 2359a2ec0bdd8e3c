//! A function of the user's own: its switches beside what throttling costs, its variants against each other, and latencies of two kinds.

use swtch_faas::Document;
use swtch_faas::own::Comparison;
use swtch_faas::tiers::{Ending, Invocation, TierRow, Tiers};

use super::figures::{cells, median_cell, of_work, work_cell};
use super::{Functions, studies};
use crate::html::prelude::*;

const SWITCHES: &str = "How often the function’s tasks were switched out in an invocation: voluntarily, when they waited, and involuntarily, when the \
                        kernel gave the CPU to others or the quota was used up. Their time is that of as many switches as swtch’s handler measured in the tier, reads and writes included.";
const TWO: &str = "Some invocations fit into what is left of the quota, and the others wait for the next period. No single latency describes such a tier.";
/// Classes for each doubling of the time.
const CLASSES: f64 = 6.0;
const MANY: f64 = 1e6;

/// The section; nothing for the project's handler in tiers of one latency.
pub(super) fn section(subjects: Functions<'_>) -> Option<Section> {
    let all = || studies(subjects);
    let rows = || all().flat_map(|(_, tiers)| &tiers.rows);
    let compared = all().filter(|(_, tiers)| !tiers.comparisons.is_empty());
    let counted = all().filter(|(_, tiers)| tiers.rows.iter().any(|row| row.own_switches.is_some()));
    let section = Section::bare("own", "The function itself")
        .put(compared.map(|(one, tiers)| comparisons(one, &tiers.comparisons)))
        .put(rows().any(|row| row.own_switches.is_some()).then(|| SWITCHES.to_owned()))
        .put(counted.map(|(one, tiers)| switches(one, tiers)))
        .put(rows().any(|row| row.modes.is_some()).then(|| TWO.to_owned()))
        .put(all().filter_map(|(one, tiers)| two_latencies(one, tiers)));
    (!section.blocks.is_empty()).then_some(section)
}

fn comparisons(one: One<'_, Document>, of: &[Comparison]) -> Table {
    let rows = of.iter().map(|each| {
        let mut figures = vec![work_cell(each.work_ms), Cell::text("Verdict", each.verdict.clone())];
        figures.extend(cells("Times as fast", Some(&each.times_as_fast), text::times));
        figures.push(Cell::figure("p, corrected", Some(each.p_adjusted), text::amount));
        one.row(&each.tier, figures)
    });
    let (function, against) = of.first().map_or(("", ""), |each| (&*each.function, &*each.against));
    let caption = format!(
        "{function} against {against}, round by round; p is of the sign test after Holm’s correction."
    );
    Table::new(one.prefixed(&caption), "Tier", rows)
}

fn switches(one: One<'_, Document>, tiers: &Tiers) -> Table {
    let rows = tiers.rows.iter().filter_map(|row| Some((row, row.own_switches.as_ref()?)));
    let rows = rows.map(|(row, own)| {
        let mut figures = vec![work_cell(row.work_ms)];
        figures.extend(cells("Voluntary", Some(&own.voluntary), text::amount));
        figures.extend(cells("Involuntary", Some(&own.involuntary), text::amount));
        figures.push(Cell::figure("Time, at most", own.time_ns, text::ns));
        figures.push(median_cell("CPU time", row.cpu_ns, text::ns));
        figures.push(Cell::figure("A million cost", own.usd.map(|usd| usd * MANY), text::dollars));
        let extra = row.extra_usd.as_ref().and_then(|extra| extra.usd?.mean);
        figures.push(Cell::figure("Throttling costs", extra.map(|usd| usd * MANY), text::dollars));
        one.row(&row.tier, figures)
    });
    Table::new(one.prefixed("Switches of the function in an invocation."), "Tier", rows)
}

/// The latencies of each tier that has two kinds of them.
fn two_latencies(one: One<'_, Document>, tiers: &Tiers) -> Option<Figure> {
    let two: Vec<(usize, &TierRow)> =
        tiers.rows.iter().enumerate().filter(|(_, row)| row.modes.is_some()).collect();
    let mut all = Vec::new();
    let mut rows = Vec::new();
    for (place, row) in two {
        let seen: Vec<f64> =
            invocations(tiers, row).filter_map(|of| of.latency_ns).map(|ns| ns as f64).collect();
        all.push(Distribution {
            title: format!("{}, {}", row.tier, of_work(row.work_ms)),
            colour: one.look(place).class(),
            bins: bins(&seen),
            quantiles: Vec::new(),
        });
        let kinds = ["fits into the quota", "does not fit"];
        for (kind, mode) in kinds.iter().zip(row.modes.iter().flatten()) {
            let mut figures = vec![work_cell(row.work_ms), Cell::text("Kind", *kind)];
            figures.extend(cells("Latency", Some(&mode.latency_ns), text::ns));
            figures.push(Cell::figure("Invocations", Some(mode.share), text::percent));
            figures.push(Cell::figure("Stopped by the quota", Some(mode.stopped_share), text::percent));
            rows.push(TableRow::new(&row.tier, figures));
        }
    }
    let caption = one.prefixed("Tiers with two latencies: how many invocations took how long.");
    let table = Table::new(caption.clone(), "Tier", rows);
    let chart = Histogram { all, x_name: "time from the request to the end of the answer, logarithmic" };
    let id = format!("figure-two-latencies-{}", one.index);
    (!chart.all.is_empty()).then(|| Figure::new(id, &caption, &caption, table, &chart))
}

fn invocations<'a>(tiers: &'a Tiers, row: &'a TierRow) -> impl Iterator<Item = &'a Invocation> {
    tiers.invocations.iter().filter(move |one| {
        one.tier == row.tier
            && one.work_ms == row.work_ms
            && one.outcome == Ending::Complete
            && !one.measured()
    })
}

/// Classes of equal width on the logarithmic axis; empty ones in between are left out.
fn bins(seen: &[f64]) -> Vec<Bin> {
    let class = |ns: f64| (ns.max(1.0).log2() * CLASSES).floor() as i64;
    let mut classes: Vec<i64> = seen.iter().map(|ns| class(*ns)).collect();
    classes.sort_unstable();
    let bin = |same: &[i64]| {
        let edge = |class: i64| (class as f64 / CLASSES).exp2();
        let (from, to) = (edge(same[0]), edge(same[0] + 1));
        let range = text::range(&text::ns(from), &text::ns(to), text::NO_BREAK);
        let tip = vec![range, format!("{} of {} invocations", same.len(), seen.len())];
        Bin { from, to, density: same.len() as f64 / seen.len() as f64, tip }
    };
    classes.chunk_by(|one, other| one == other).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::bins;

    #[test]
    fn classes_hold_every_invocation_once() {
        let seen = [10e6, 10.1e6, 98e6, 99e6, 97e6];
        let bins = bins(&seen);
        assert!((bins.iter().map(|bin| bin.density).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(bins.iter().all(|bin| seen.iter().any(|ns| bin.from <= *ns && *ns <= bin.to)));
        assert!(bins.is_sorted_by(|one, other| one.to <= other.from));
    }
}
