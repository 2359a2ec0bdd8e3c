//! How it was recorded: the source and why, losses, our counts and the kernel's, and what is not known.

use swtch_trace::SourceKind;
use swtch_trace::model::Header;

use super::{Traces, origin};
use crate::html::prelude::*;

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    Section::bare("recording", "How it was recorded")
        .put([subjects.fact_table("The recording", |priced| facts(&priced.trace.header))])
        .heading("Events lost")
        .put(subjects.iter().filter_map(|one| Some(one.prefixed(nothing_lost(&one.of.trace.header)?))))
        .put([lost(subjects)])
        .heading("Our counts and the kernel’s")
        .put([reconciliation(subjects)])
        .heading("Where each column comes from")
        .put([sources(subjects)])
        .heading("Not recorded, and why")
        .put([subjects.unavailable("What could not be recorded").or("Everything could be recorded.")])
}

fn facts(header: &Header) -> Vec<(&'static str, String)> {
    let run = &header.provenance;
    let or = |value: Option<String>| value.unwrap_or_else(|| "not known".to_owned());
    let time = |ns: Option<u64>| or(ns.map(|ns| text::ns(ns as f64)));
    vec![
        ("Origin", origin(run.origin).to_owned()),
        ("Source", run.recorder.clone()),
        ("Why this source", run.why.clone()),
        ("Ended", run.ended.to_string()),
        ("Started", text::date(run.started_unix_ns / 1_000_000_000)),
        ("Written by", format!("swtch {}", run.swtch_version)),
        ("CPU time of the recorder", time(header.recorder.cpu_ns)),
        ("CPU time of its programs in the kernel", time(header.recorder.bpf_ns)),
        ("Most memory it held", or(header.recorder.memory_bytes.map(text::bytes))),
    ]
}

/// That no event was lost, where none was.
fn nothing_lost(header: &Header) -> Option<&'static str> {
    let words = if header.provenance.source().is_some_and(SourceKind::is_sampled) {
        "Samples see no single events, so none can be lost; what comes and goes between two samples is not seen."
    } else {
        "No event was lost."
    };
    header.lost.is_empty().then_some(words)
}

fn lost(subjects: Traces<'_>) -> Table {
    let rows = subjects.each(|priced| &priced.trace.header.lost).map(|(one, row)| {
        let cpu = row.cpu.map_or_else(|| "not known".to_owned(), |cpu| cpu.to_string());
        one.row(&row.what, vec![Cell::number("CPU", cpu), Cell::number("Events", text::count(row.events))])
    });
    Table::new("Events lost", "Which, and where", rows)
}

fn reconciliation(subjects: Traces<'_>) -> Block {
    let rows = subjects.each(|priced| &priced.trace.header.reconciliation).map(|(one, row)| {
        let difference = row.difference();
        let sign = if difference < 0 { "−" } else { "+" };
        let cells = vec![
            Cell::number("Counted", text::count(row.counted)),
            Cell::number("The kernel’s count", text::count(row.kernel)),
            Cell::number("Difference", format!("{sign}{}", text::count(difference.unsigned_abs()))),
            Cell::or_dash("Share", row.share().map(|share| format!("{:.2}\u{a0}%", 100.0 * share))),
            Cell::text("Source of the kernel’s", &row.source),
        ];
        one.row(&row.what, cells)
    });
    Table::new("Our counts and the kernel’s", "What", rows).or(
        "The kernel counts for the whole machine; only a recording of the whole machine can be compared with it.",
    )
}

fn sources(subjects: Traces<'_>) -> Block {
    let rows = subjects.iter().flat_map(|one| {
        let row =
            move |(column, source): (&String, &String)| one.row(column, vec![Cell::text("Source", source)]);
        one.of.trace.header.sources.iter().map(row)
    });
    let table = Table::new("Sources by column", "Column", rows);
    if table.rows.is_empty() {
        return Notice::new("No column says where it comes from.", Vec::new()).into();
    }
    table.into()
}
