//! The quota as seen from inside, and the cgroup's own.

use swtch_faas::tiers::QuotaCheck;
use swtch_faas::{Document, Response};
use swtch_topology::Field;

use super::{Functions, THROTTLING, place, responses, studies};
use crate::html::prelude::*;

const INTRO: &str = "Seen from inside, the period is the largest distance of which the ends of gaps are whole multiples. The quota is the time that ran between two such ends. \
                     The cgroup’s own settings are next to them, where they can be read.";

/// The section.
pub(super) fn section(subjects: Functions<'_>) -> Section {
    let of_tiers = studies(subjects).flat_map(|(one, tiers)| {
        tiers.quota_check.iter().map(move |check| one.row(&check.tier, checked(check)))
    });
    let of_responses =
        responses(subjects).filter_map(|(one, response)| Some(one.row(place(response), cells_of(response)?)));
    let rows = of_tiers.chain(of_responses);
    let has = |document: &Document| match document {
        Document::Response(response) => cells_of(response).is_some(),
        Document::Tiers(tiers) => !tiers.quota_check.is_empty(),
    };
    let fields = [THROTTLING, Field::new("quota_check")];
    Section::new("quota", "The quota, seen from inside", INTRO)
        .put([Table::new("Quota and period, set and seen from inside.", "Tier", rows)])
        .put(subjects.lacking("quota, set or seen", &fields, has))
}

/// Relative error of what was seen.
pub(super) fn error(seen: Option<f64>, set: Option<f64>) -> Option<f64> {
    let set = set.filter(|set| *set > 0.0)?;
    Some(seen? / set - 1.0)
}

/// A quota or a period, as it is set, as it is seen, and how far that is off.
type SetAndSeen = (Option<f64>, Option<f64>, Option<f64>);

fn cells(period: SetAndSeen, quota: SetAndSeen, cpus: Option<f64>, n: u32) -> Vec<Cell> {
    vec![
        Cell::figure("Period set", period.0, text::ns),
        Cell::figure("Seen", period.1, text::ns),
        Cell::figure("Error", period.2, text::percent_signed),
        Cell::figure("Quota set", quota.0, text::ns),
        Cell::figure("Seen", quota.1, text::ns),
        Cell::figure("Error", quota.2, text::percent_signed),
        Cell::figure("CPUs seen", cpus, text::amount),
        Cell::number("n", n.to_string()),
    ]
}

/// The same of the invocations of a tier.
fn checked(check: &QuotaCheck) -> Vec<Cell> {
    let ns = |value: Option<f64>| value.map(|us| us * 1e3);
    let period = (ns(check.period_us), ns(check.inferred_period_us), check.error_period);
    let quota = (ns(check.quota_us), ns(check.inferred_quota_us), check.error_quota);
    let cpus = check.inferred_quota_us.zip(check.inferred_period_us).map(|(quota, period)| quota / period);
    cells(period, quota, cpus, check.n)
}

/// The same of one invocation; nothing where neither the platform nor the function knows of a quota.
fn cells_of(response: &Response) -> Option<Vec<Cell>> {
    let (seen, set) = (response.inferred(), response.set());
    let both = |set: Option<u64>, seen: Option<f64>| {
        let set = set.map(|ns| ns as f64);
        (set, seen, error(seen, set))
    };
    let period = both(set.and_then(|set| set.period_ns), seen.and_then(|seen| seen.period_ns));
    let quota = both(set.and_then(|set| set.quota_ns), seen.and_then(|seen| seen.quota_ns));
    let known = [period.0, period.1, quota.0, quota.1].iter().any(Option::is_some);
    known.then(|| cells(period, quota, seen.and_then(|seen| seen.cpus), 1))
}
