//! Every run, those that failed among them.

use super::super::page::{Block, Cell, Section, Table};
use super::super::text;
use super::Studies;
use super::models::label;
use swtch_study::model::{Outcome, Run};

/// The section.
pub(super) fn section(subjects: Studies<'_>) -> Section {
    let head = [
        "Settings",
        "Ended",
        "Images/s",
        "p50",
        "p90",
        "p99",
        "Waiting for each",
        "CPU use",
        "Others",
        "Stolen",
        "Memory",
        "Threads",
        "Trace",
        "Remarks",
    ];
    let mut table = Table::new("Every run, in the order they were made.", &subjects.head("Model", &head));
    table.sortable = true;
    for (i, named) in subjects.iter() {
        for run in &named.study.runs {
            table.row(label(&run.workload), subjects.cells(i, cells(run)));
        }
    }
    Section { id: "runs", title: "Runs", blocks: vec![Block::Table(table)] }
}

fn cells(run: &Run) -> Vec<Cell> {
    let number = |value: Option<f64>, words: fn(f64) -> String| {
        value.map_or_else(|| Cell::number("–"), |value| Cell::sorted(words(value), value))
    };
    let whole = |value: Option<u64>, words: fn(u64) -> String| {
        value.map_or_else(|| Cell::number("–"), |value| Cell::sorted(words(value), value as f64))
    };
    let remarks: Vec<&str> = run.error.iter().chain(&run.disturbed).map(String::as_str).collect();
    vec![
        Cell::text(run.settings.words()),
        Cell::text(ended(run.outcome)),
        number(run.images_per_second, text::amount),
        number(run.latency_ns.map(|latency| latency.p50), text::ns),
        number(run.latency_ns.map(|latency| latency.p90), text::ns),
        number(run.latency_ns.map(|latency| latency.p99), text::ns),
        number(run.per_inference.and_then(|figures| figures.wait_ns), text::ns),
        number(run.cpu.and_then(|cpu| cpu.utilisation), text::percent),
        number(run.cpu.and_then(|cpu| cpu.share(cpu.foreign_ns)), text::percent),
        number(run.cpu.and_then(|cpu| cpu.share(cpu.steal_ns)), text::percent),
        whole(run.peak_rss_bytes, text::bytes),
        whole(run.threads_peak.map(u64::from), text::count),
        Cell::text(run.trace.clone().unwrap_or_else(|| "–".to_owned())),
        Cell::text(remarks.join("; ")),
    ]
}

fn ended(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Crashed => "crashed",
        Outcome::Refused => "not started",
        Outcome::TimedOut => "took too long",
        Outcome::Interrupted => "interrupted",
        Outcome::Impossible => "figures contradict each other",
    }
}
