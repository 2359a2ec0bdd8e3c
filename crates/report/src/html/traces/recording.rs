//! How it was recorded: the source and why, losses, our counts beside the kernel's, and what is not known.

use swtch_trace::SourceKind;
use swtch_trace::model::Header;

use super::super::page::{Block, Cell, Notice, Section, Table};
use super::super::text;
use super::{Traces, origin};

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let facts = subjects.fact_table("The recording", |named| facts(&named.trace.header));
    let mut blocks = vec![Block::Table(facts)];
    blocks.push(Block::heading("Events lost"));
    blocks.extend(lost(subjects));
    blocks.push(Block::heading("Our counts beside the kernel’s"));
    blocks.push(reconciliation(subjects));
    blocks.push(Block::heading("Where each column comes from"));
    blocks.push(sources(subjects));
    blocks.push(Block::heading("Not recorded, and why"));
    blocks.push(unavailable(subjects));
    Section { id: "recording", title: "How it was recorded", blocks }
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

fn lost(subjects: Traces<'_>) -> Vec<Block> {
    let mut table = Table::new("Events lost", &subjects.head("Which, and where", &["CPU", "Events"]));
    let mut blocks = Vec::new();
    for (i, named) in subjects.iter() {
        let header = &named.trace.header;
        if header.lost.is_empty() {
            let words = if header.provenance.source().is_some_and(SourceKind::is_sampled) {
                "Samples see no single events, so none can be lost; what comes and goes between two samples is not seen."
            } else {
                "No event was lost."
            };
            blocks.push(Block::paragraph(subjects.prefixed(i, words)));
        }
        for row in &header.lost {
            let cpu = row.cpu.map_or_else(|| "not known".to_owned(), |cpu| cpu.to_string());
            let cells = vec![Cell::number(cpu), Cell::number(text::count(row.events))];
            table.row(&row.what, subjects.cells(i, cells));
        }
    }
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks
}

fn reconciliation(subjects: Traces<'_>) -> Block {
    let columns = ["Counted", "The kernel’s count", "Difference", "Share", "Where the kernel’s stands"];
    let mut table = Table::new("Our counts and the kernel’s", &subjects.head("What", &columns));
    for (i, named) in subjects.iter() {
        for row in &named.trace.header.reconciliation {
            let difference = row.difference();
            let sign = if difference < 0 { "−" } else { "+" };
            let cells = vec![
                Cell::number(text::count(row.counted)),
                Cell::number(text::count(row.kernel)),
                Cell::number(format!("{sign}{}", text::count(difference.unsigned_abs()))),
                Cell::number(
                    row.share()
                        .map_or_else(|| "–".to_owned(), |share| format!("{:.2}\u{a0}%", 100.0 * share)),
                ),
                Cell::text(&row.source),
            ];
            table.row(&row.what, subjects.cells(i, cells));
        }
    }
    if table.rows.is_empty() {
        return Block::paragraph(
            "The kernel counts for the whole machine; only a recording of the whole machine can be set beside it.",
        );
    }
    Block::Table(table)
}

fn sources(subjects: Traces<'_>) -> Block {
    let mut table = Table::new("Sources by column", &subjects.head("Column", &["Source"]));
    for (i, named) in subjects.iter() {
        for (column, source) in &named.trace.header.sources {
            table.row(column, subjects.cells(i, vec![Cell::text(source)]));
        }
    }
    if table.rows.is_empty() {
        return Block::Notice(Notice {
            text: "No column says where it comes from.".to_owned(),
            items: Vec::new(),
        });
    }
    Block::Table(table)
}

fn unavailable(subjects: Traces<'_>) -> Block {
    let mut table =
        Table::new("What could not be recorded", &subjects.head("What", &["Why, and what would allow it"]));
    for (i, named) in subjects.iter() {
        for missing in &named.trace.header.unavailable {
            table.row(missing.field.as_str(), subjects.cells(i, vec![Cell::text(&missing.reason)]));
        }
    }
    if table.rows.is_empty() {
        return Block::paragraph("Everything could be recorded.");
    }
    Block::Table(table)
}
