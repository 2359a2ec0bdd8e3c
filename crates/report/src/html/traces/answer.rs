//! The bill in a sentence, and the key figures.

use swtch_cost::Range;
use swtch_trace::figures;

use super::{PricedTrace, distributions};
use crate::html::prelude::*;
use crate::wording::bill;

/// Causes priced in addition to the bill.
const CAUSES: usize = 2;

/// As the terminal words it, so that the two never say different things.
pub(super) fn sentence(priced: &PricedTrace) -> String {
    let mut words = bill::answer(&priced.summary());
    let causes: Vec<String> = priced.bill.causes.iter().take(CAUSES).map(bill::cause_text).collect();
    if !causes.is_empty() {
        words.push_str(&format!("{}.", text::capitalised(&causes.join("; "))));
    }
    text::flowing(&words)
}

/// The key figures.
pub(super) const TILES: [KeyFigure<PricedTrace>; 4] = [
    ("Context switches", "Each stops one task and starts another.", |priced| {
        known::<PricedTrace>(switches(priced))
    }),
    ("One switch", "The switch itself, on average; what refilling caches takes comes on top.", |priced| {
        known::<PricedTrace>(one_switch(priced))
    }),
    ("Wait for a CPU", "Ready to run, and no CPU free: 99 waits of 100 were at most this long.", |priced| {
        known::<PricedTrace>(wait(priced))
    }),
    ("CPUs in use", "Time on CPUs divided by time on the clock.", |priced| {
        known::<PricedTrace>(cpus(priced))
    }),
];

fn switches(priced: &PricedTrace) -> Option<(String, String)> {
    let totals = &priced.trace.header.totals.context_switches;
    let all = figures::switches(&priced.trace.header)?;
    let rate = text::amount(figures::switches_per_second(&priced.trace.header)?);
    let involuntary = totals.involuntary.map_or_else(
        || "involuntary ones are not counted".to_owned(),
        |involuntary| format!("{} of them involuntary", text::count(involuntary)),
    );
    Some((format!("{rate}/s"), format!("{} in all, {involuntary}", text::count(all))))
}

fn one_switch(priced: &PricedTrace) -> Option<(String, String)> {
    let switch = priced.bill.switch_ns?;
    let detail = if priced.bill.measured_in_place {
        "measured where it happened".to_owned()
    } else {
        let name = priced.prices.as_ref().map_or("a Profile", |prices| &prices.name);
        format!("as {name} has it")
    };
    Some((range(switch), detail))
}

/// From the least to the most; one figure where both read alike.
pub(super) fn range(range: Range) -> String {
    if text::ns(range.low) == text::ns(range.high) {
        text::ns(range.high)
    } else if range.low > 0.0 {
        text::ns_range(range.low, range.high)
    } else {
        format!("at most {}", text::ns(range.high))
    }
}

fn wait(priced: &PricedTrace) -> Option<(String, String)> {
    let quantiles = distributions::quantiles(&priced.trace, "wait", "all");
    let value = |name: &str| quantiles.iter().find(|(known, _)| *known == name).map(|(_, ns)| text::ns(*ns));
    Some((value("p99")?, format!("median {}, longest {}", value("p50")?, value("max")?)))
}

fn cpus(priced: &PricedTrace) -> Option<(String, String)> {
    let tasks: Vec<_> = priced.trace.tasks.iter().filter(|task| task.in_scope).collect();
    if tasks.is_empty() {
        return None;
    }
    let used = priced.bill.cpu_ns / priced.duration_ns();
    let online = priced.trace.header.host.cpus.iter().filter(|cpu| cpu.online).count();
    let of = if online > 0 { format!("of {online}; ") } else { String::new() };
    let number = if tasks.len() == 1 {
        "one task".to_owned()
    } else {
        format!("{} tasks", text::count(tasks.len() as u64))
    };
    Some((text::amount(used), format!("{of}{number} took {}", text::ns(priced.bill.cpu_ns))))
}
