//! What was counted over the whole run; several Traces side by side.

use swtch_cost::Range;

use super::super::page::Section;
use super::super::text;
use super::{NamedTrace, Traces, answer, scope_phrase};
use crate::wording::bill::percent_range;

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let title = if subjects.several() { "Side by side" } else { "In all" };
    let intro = "A range holds the true cost: at its lower end caches need no refilling after a switch, at its upper end all that a \
                 task can touch between two switches is gone.";
    let mut section = Section::new("totals", title, intro);
    section.put([subjects.fact_table("The bill", bill), subjects.fact_table("What was counted", counts)]);
    section
}

fn bill(named: &NamedTrace) -> Vec<(&'static str, String)> {
    let bill = &named.bill;
    let range = |range: Option<Range>| range.map_or_else(|| text::DASH.to_owned(), answer::range);
    let percent = |range: Range| text::flowing(&percent_range(range));
    let priced = match (&named.prices, bill.measured_in_place) {
        (Some(prices), true) => format!("measured in place; caches by {}", prices.name),
        (None, true) => "measured in place; no Profile for the caches".to_owned(),
        (Some(prices), false) => prices.name.clone(),
        (None, false) => "nothing: no Profile was at hand".to_owned(),
    };
    let median = bill.in_place.map_or_else(|| text::DASH.to_owned(), |measured| text::ns(measured.median_ns));
    let outliers = bill.in_place.map_or_else(
        || text::DASH.to_owned(),
        |measured| format!("{} switches, {}", measured.outliers, text::ns(measured.outliers_ns)),
    );
    vec![
        ("Share of the tasks’ CPU time", bill.share.map_or_else(|| text::DASH.to_owned(), percent)),
        ("CPU time of the tasks", text::ns(bill.cpu_ns)),
        ("The switches themselves", range(bill.direct_ns)),
        ("One switch", range(bill.switch_ns)),
        ("The median switch, measured in place", median),
        ("Left out: interrupted, or longer than 20 medians", outliers),
        ("Refilling caches after them", range(bill.indirect_ns)),
        ("Priced by", priced),
    ]
}

fn counts(named: &NamedTrace) -> Vec<(&'static str, String)> {
    let header = &named.trace.header;
    let totals = &header.totals;
    let count = |value: Option<u64>| value.map_or_else(|| text::DASH.to_owned(), text::count);
    let seconds = named.duration_ns() / 1e9;
    let rated = |value: Option<u64>| match value {
        Some(value) => format!("{} ({}/s)", text::count(value), text::amount(value as f64 / seconds)),
        None => text::DASH.to_owned(),
    };
    let (switches, moves, processes) = (&totals.context_switches, &totals.migrations, &totals.processes);
    let mut facts = vec![
        ("What was recorded", scope_phrase(&header.scope)),
        ("Length", text::moment(named.duration_ns())),
        (
            "Exit status",
            header.exit_status.map_or_else(|| text::DASH.to_owned(), |status| status.to_string()),
        ),
        ("Voluntary switches", rated(switches.voluntary)),
        ("Involuntary switches", rated(switches.involuntary)),
        ("Switches from idle", rated(switches.idle)),
        ("Wake-ups", rated(totals.wakeups)),
        ("Migrations within an L2", rated(moves.same_l2)),
        ("Migrations within an L3", rated(moves.same_l3)),
        ("Migrations across", rated(moves.across)),
    ];
    facts.extend([
        ("Processes created", count(processes.forked)),
        ("Programs executed", count(processes.execs)),
        ("Processes ended", count(processes.exited)),
        ("Most processes at once", count(processes.peak)),
        ("Threads created", count(totals.threads_created)),
    ]);
    facts
}
