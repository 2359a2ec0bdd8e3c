//! Money by tier and work, against the same work unthrottled.

use swtch_faas::tiers::{Extra, TierRow, Tiers};
use swtch_faas::{Document, Estimate};

use super::figures::{by_work, cells, interval, median_cell, of_work, tip, work, work_cell};
use super::{Functions, studies};
use crate::html::prelude::*;

const INTRO: &str = "Dollars for a million invocations, with the fee for requests where the price has one; \
                     traffic is not in it. The cost of throttling is the difference to another bill. That \
                     is the bill of the same work at the same tier without throttling, rounded as the \
                     platform rounds.";

/// Invocations that a figure of money is for: one costs too little to read.
const MANY: f64 = 1e6;

/// What a bill is called, and what it is in a row.
type Bill = (&'static str, fn(&TierRow) -> Option<Estimate>);

/// The bill, and the one it is compared with.
const BILLS: [Bill; 2] =
    [("as it ran", |row| row.cost_usd), ("the same work unthrottled", |row| row.cost_unthrottled_usd)];

/// The section; nothing when no tier has a price.
pub(super) fn section(subjects: Functions<'_>) -> Option<Section> {
    let mut section = Section::new("money", "Money", INTRO);
    let priced = |tiers: &Tiers| tiers.rows.iter().any(|row| row.cost_usd.is_some());
    for (one, tiers) in studies(subjects).filter(|(_, tiers)| priced(tiers)) {
        let against = tiers.rows.iter().find_map(|row| Some(row.extra_usd.as_ref()?.against.as_str()));
        let against = against.map(|against| {
            one.prefixed(&format!("The cost of throttling is the difference between a bill and {against}."))
        });
        section = section
            .put(figure(one, tiers))
            .put(against)
            .put([table(&one.prefixed("Cost of a million invocations."), tiers)]);
    }
    section.unless_empty()
}

/// Of a million invocations.
pub(super) fn million(estimate: Estimate) -> Estimate {
    let Estimate { median, ci_low, ci_high, .. } = estimate;
    Estimate { median: median * MANY, ci_low: ci_low * MANY, ci_high: ci_high * MANY, ..estimate }
}

/// A plot for each tier, a line for each bill.
fn figure(one: One<'_, Document>, tiers: &Tiers) -> Option<Figure> {
    let mut rows = Vec::new();
    let mut chart = SmallMultiples::new(("work, CPU time", work), text::dollars_tick);
    for tier in &tiers.tiers {
        let of_tier = by_work(tiers, &tier.name);
        for (bill, (label, of)) in BILLS.iter().enumerate() {
            for (row, cost) in of_tier.iter().filter_map(|row| Some((row, of(row).map(million)?))) {
                let mut figures = vec![work_cell(row.work_ms), Cell::text("Bill", *label)];
                figures.extend(cells("Cost", Some(&cost), text::dollars));
                rows.push(TableRow::new(&tier.name, figures));
                let name = format!("{}, {}, {label}", tier.name, of_work(row.work_ms));
                let point = Point::new(row.work_ms, &cost, tip(name, &cost, text::dollars));
                chart.point(&tier.name, (Look::new(bill, bill, bill), label), point);
            }
        }
    }
    let caption = one.prefixed("Cost of a million invocations over the work, a plot for each tier. Axes are logarithmic and the same for all.");
    let table = Table::new(caption.clone(), "Tier", rows);
    Some(Figure::new(format!("figure-money-{}", one.index), &caption, &caption, table, chart.some()?))
}

fn table(caption: &str, tiers: &Tiers) -> Table {
    let rows = tiers.rows.iter().filter(|row| row.cost_usd.is_some()).map(|row| {
        let many = |estimate: Option<Estimate>| estimate.map(million);
        let usd = |extra: &Option<Extra>| many(extra.as_ref().and_then(|extra| extra.usd));
        let mut figures = vec![work_cell(row.work_ms)];
        figures.extend(cells("Cost", many(row.cost_usd).as_ref(), text::dollars));
        figures.push(median_cell("Unthrottled", many(row.cost_unthrottled_usd), text::dollars));
        figures.extend(cells("Throttling costs", usd(&row.extra_usd).as_ref(), text::dollars));
        let mut cheapest = median_cell("Beside the cheapest", usd(&row.extra_cheapest), text::dollars);
        let range = usd(&row.extra_cheapest).map(|extra| interval(&extra, text::dollars));
        if let Some(range) = range.filter(|range| range != text::DASH) {
            cheapest.text.push_str(&format!(" ({range})"));
        }
        let against = row.extra_cheapest.as_ref().map(|extra| extra.against.clone());
        figures.extend([cheapest, Cell::or_dash("Which is", against)]);
        TableRow::new(&row.tier, figures)
    });
    Table::new(caption, "Tier", rows).sortable()
}
