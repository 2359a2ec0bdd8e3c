//! Money by tier and work, against the same work unthrottled.

use super::super::charts::lines::{Point, Series};
use super::super::charts::markers::{Look, Shape, line_item};
use super::super::charts::small_multiples::{Multiple, SmallMultiples};
use super::super::page::{Block, Cell, Figure, Section, Table};
use super::super::text;
use super::figures::{cells, interval, median_cell, of_work, tip, work_cell};
use super::work::work_ticks;
use super::{Functions, studies};
use swtch_faas::Estimate;
use swtch_faas::tiers::{Extra, TierRow, Tiers};

const INTRO: &str = "Dollars for a million invocations, with the fee for requests where the price has one; traffic is not in it. What throttling costs is a difference, so it needs \
                     another bill to be compared with: the same work at the same tier, had nothing stopped it, rounded as the platform rounds.";

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
    for (i, tiers) in studies(subjects) {
        if tiers.rows.iter().all(|row| row.cost_usd.is_none()) {
            continue;
        }
        section.put(figure(subjects, i, tiers));
        let against = tiers.rows.iter().find_map(|row| Some(row.extra_usd.as_ref()?.against.as_str()));
        section.put(against.map(|against| {
            let sentence = format!("What throttling costs is what lies between a bill and {against}.");
            Block::paragraph(subjects.prefixed(i, &sentence))
        }));
        section.put([table(&subjects.prefixed(i, "What a million invocations cost."), tiers)]);
    }
    section.unless_empty()
}

fn look(bill: usize) -> Look {
    Look { colour: bill, shape: Shape::nth(bill), dash: bill }
}

fn million(estimate: Estimate) -> Estimate {
    let Estimate { median, ci_low, ci_high, .. } = estimate;
    Estimate { median: median * MANY, ci_low: ci_low * MANY, ci_high: ci_high * MANY, ..estimate }
}

/// A plot for each tier, a line for each bill.
fn figure(subjects: Functions<'_>, index: usize, tiers: &Tiers) -> Option<Figure> {
    let caption = subjects
        .prefixed(index, "Cost of a million invocations over the work, a plot for each tier. Axes are logarithmic and the same for all.");
    let mut table = Table::new(caption.clone(), "Tier");
    let mut plots = Vec::new();
    for tier in &tiers.tiers {
        let mut rows: Vec<&TierRow> =
            tiers.rows.iter().filter(|row| row.tier == tier.name && row.work_ms > 0.0).collect();
        rows.sort_by(|one, other| one.work_ms.total_cmp(&other.work_ms));
        let mut series = Vec::new();
        for (bill, (label, of)) in BILLS.iter().enumerate() {
            let mut points = Vec::new();
            for row in &rows {
                let Some(cost) = of(row).map(million) else { continue };
                let mut figures = vec![work_cell(row.work_ms), Cell::text("Bill", *label)];
                figures.extend(cells("Cost", Some(&cost), text::dollars));
                table.row(tier.name.clone(), figures);
                let name = format!("{}, {}, {label}", tier.name, of_work(row.work_ms));
                points.push(Point::new(row.work_ms, &cost, tip(name, &cost, text::dollars)));
            }
            if !points.is_empty() {
                series.push(Series { look: look(bill), label: (*label).to_owned(), points });
            }
        }
        if !series.is_empty() {
            plots.push(Multiple { title: tier.name.clone(), series });
        }
    }
    if plots.is_empty() {
        return None;
    }
    let chart = SmallMultiples {
        plots,
        x_ticks: work_ticks(subjects),
        x_name: "work, CPU time",
        y_tick: text::dollars_tick,
        label: caption.clone(),
    };
    let legend = BILLS.iter().enumerate().map(|(bill, (label, _))| line_item(look(bill), *label)).collect();
    Some(chart.figure(format!("figure-money-{index}"), caption, table).legend(legend))
}

fn table(caption: &str, tiers: &Tiers) -> Table {
    let mut table = Table::new(caption, "Tier").sortable();
    for row in tiers.rows.iter().filter(|row| row.cost_usd.is_some()) {
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
        figures.push(cheapest);
        let against = row.extra_cheapest.as_ref().map(|extra| extra.against.clone());
        figures.push(Cell::or_dash("Which is", against));
        table.row(row.tier.clone(), figures);
    }
    table
}
