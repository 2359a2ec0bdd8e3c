//! The quota as it is seen from inside, beside the control group's own.

use super::super::page::{Block, Cell, Section, Table};
use super::super::text;
use super::figures::cell;
use super::{Functions, NamedFaas, THROTTLING, place, responses, studies};
use swtch_faas::Response;
use swtch_topology::Field;

const INTRO: &str = "From inside, the period is the largest distance of which the ends of gaps are whole multiples, and the quota what ran between two of them. Beside it stands \
                     what the control group says of itself, where that can be read.";

/// The section.
pub(super) fn section(subjects: Functions<'_>) -> Section {
    let head = ["Period set", "Seen", "Error", "Quota set", "Seen", "Error", "CPUs seen", "n"];
    let mut table = Table::new("Quota and period, set and seen from inside.", &subjects.head("Tier", &head));
    for (i, tiers) in studies(subjects) {
        for check in &tiers.quota_check {
            let us = |value: Option<f64>| cell(value.map(|us| us * 1e3), text::ns);
            let cpus =
                check.inferred_quota_us.zip(check.inferred_period_us).map(|(quota, period)| quota / period);
            let row = vec![
                us(check.period_us),
                us(check.inferred_period_us),
                cell(check.error_period, text::percent_signed),
                us(check.quota_us),
                us(check.inferred_quota_us),
                cell(check.error_quota, text::percent_signed),
                cell(cpus, text::amount),
                Cell::number(check.n.to_string()),
            ];
            table.row(check.tier.clone(), subjects.cells(i, row));
        }
    }
    for (i, response) in responses(subjects) {
        if let Some(row) = row(response) {
            table.row(place(response), subjects.cells(i, row));
        }
    }
    let mut blocks = vec![Block::paragraph(INTRO)];
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    let about = |field: &Field| field.is_of(&[THROTTLING, Field::new("quota_check")]);
    blocks.extend(subjects.lacking("quota, set or seen", about, has).map(Block::Notice));
    Section { id: "quota", title: "The quota, seen from inside", blocks }
}

fn has(named: &NamedFaas) -> bool {
    match (named.response(), named.tiers()) {
        (Some(response), _) => row(response).is_some(),
        (_, tiers) => tiers.is_some_and(|tiers| !tiers.quota_check.is_empty()),
    }
}

/// Relative error of what was seen.
pub(super) fn error(seen: Option<f64>, set: Option<f64>) -> Option<f64> {
    let set = set.filter(|set| *set > 0.0)?;
    Some(seen? / set - 1.0)
}

/// What is set and what is seen in one invocation; nothing where neither knows of a quota.
fn row(response: &Response) -> Option<Vec<Cell>> {
    let throttling = response.throttling.as_ref()?;
    let (seen, set) = (throttling.inferred.as_ref(), throttling.platform.as_ref());
    let of_set = |value: Option<u64>| value.map(|value| value as f64);
    let period = (of_set(set.and_then(|set| set.period_ns)), seen.and_then(|seen| seen.period_ns));
    let quota = (of_set(set.and_then(|set| set.quota_ns)), seen.and_then(|seen| seen.quota_ns));
    if [period.0, period.1, quota.0, quota.1].iter().all(Option::is_none) {
        return None;
    }
    Some(vec![
        cell(period.0, text::ns),
        cell(period.1, text::ns),
        cell(error(period.1, period.0), text::percent_signed),
        cell(quota.0, text::ns),
        cell(quota.1, text::ns),
        cell(error(quota.1, quota.0), text::percent_signed),
        cell(seen.and_then(|seen| seen.cpus), text::amount),
        Cell::number("1"),
    ])
}
