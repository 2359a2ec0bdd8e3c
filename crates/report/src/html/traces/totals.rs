//! What was counted over the whole run; several Traces side by side.

use swtch_cost::Range;

use super::{PricedTrace, Traces, answer, scope_phrase};
use crate::html::prelude::*;
use crate::wording::bill::percent_range;

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let title = if subjects.several() { "Side by side" } else { "In all" };
    let intro = "A range holds the true cost. At its lower end caches need no refilling after a switch. At \
                 its upper end all that a task can touch between two switches is gone.";
    Section::new("totals", title, intro)
        .put([subjects.fact_table("The bill", bill), subjects.fact_table("What was counted", counts)])
}

fn bill(priced: &PricedTrace) -> Vec<(&'static str, String)> {
    let bill = &priced.bill;
    let range = |range: Option<Range>| text::or_dash(range, answer::range);
    let percent = |range: Range| text::flowing(&percent_range(range));
    let prices = match (&priced.prices, bill.measured_in_place) {
        (Some(prices), true) => format!("measured in place; caches by {}", prices.name),
        (None, true) => "measured in place; no Profile for the caches".to_owned(),
        (Some(prices), false) => prices.name.clone(),
        (None, false) => "nothing: no Profile was at hand".to_owned(),
    };
    let median = text::or_dash(bill.in_place, |measured| text::ns(measured.median_ns));
    let outliers = text::or_dash(bill.in_place, |measured| {
        format!("{} switches, {}", measured.outliers, text::ns(measured.outliers_ns))
    });
    vec![
        ("Share of the tasks’ CPU time", text::or_dash(bill.share, percent)),
        ("CPU time of the tasks", text::ns(bill.cpu_ns)),
        ("The switches themselves", range(bill.direct_ns)),
        ("One switch", range(bill.switch_ns)),
        ("The median switch, measured in place", median),
        ("Left out: interrupted, or longer than 20 medians", outliers),
        ("Refilling caches after them", range(bill.indirect_ns)),
        ("Priced by", prices),
    ]
}

fn counts(priced: &PricedTrace) -> Vec<(&'static str, String)> {
    let header = &priced.trace.header;
    let totals = &header.totals;
    let count = |value: Option<u64>| text::or_dash(value, text::count);
    let seconds = priced.duration_ns() / 1e9;
    let rated = |value: Option<u64>| {
        let words = |value| format!("{} ({}/s)", text::count(value), text::amount(value as f64 / seconds));
        text::or_dash(value, words)
    };
    let (switches, moves, processes) = (&totals.context_switches, &totals.migrations, &totals.processes);
    vec![
        ("What was recorded", scope_phrase(&header.scope)),
        ("Length", text::moment(priced.duration_ns())),
        ("Exit status", text::or_dash(header.exit_status, |status| status.to_string())),
        ("Voluntary switches", rated(switches.voluntary)),
        ("Involuntary switches", rated(switches.involuntary)),
        ("Switches from idle", rated(switches.idle)),
        ("Wake-ups", rated(totals.wakeups)),
        ("Migrations within an L2", rated(moves.same_l2)),
        ("Migrations within an L3", rated(moves.same_l3)),
        ("Migrations across", rated(moves.across)),
        ("Processes created", count(processes.forked)),
        ("Programs executed", count(processes.execs)),
        ("Processes ended", count(processes.exited)),
        ("Most processes at once", count(processes.peak)),
        ("Threads created", count(totals.threads_created)),
    ]
}
