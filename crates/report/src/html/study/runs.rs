//! Every run, those that failed among them.

use swtch_study::model::{CpuUse, Outcome, Run};

use super::Studies;
use super::models::label;
use crate::html::prelude::*;

/// The section.
pub(super) fn section(subjects: Studies<'_>) -> Section {
    let runs = subjects.each(|study| &study.runs);
    let rows = runs.map(|(one, run)| one.row(label(&run.workload), cells(run)));
    let table = Table::new("Every run, in the order they were made.", "Model", rows);
    Section::bare("runs", "Runs").put([table.sortable()])
}

fn cells(run: &Run) -> Vec<Cell> {
    let remarks: Vec<&str> = run.error.iter().chain(&run.disturbed).map(String::as_str).collect();
    let wait_ns = run.per_inference.and_then(|figures| figures.wait_ns);
    let share = |of: fn(&CpuUse) -> Option<u64>| run.cpu.and_then(|cpu| cpu.share(of(&cpu)));
    vec![
        Cell::text("Settings", run.settings.words()),
        Cell::text("Ended", ended(run.outcome)),
        Cell::figure("Images/s", run.images_per_second, text::amount),
        Cell::figure("p50", run.latency_ns.map(|latency| latency.p50), text::ns),
        Cell::figure("p90", run.latency_ns.map(|latency| latency.p90), text::ns),
        Cell::figure("p99", run.latency_ns.map(|latency| latency.p99), text::ns),
        Cell::figure("Waiting for each", wait_ns, text::ns),
        Cell::figure("CPU use", run.cpu.and_then(|cpu| cpu.utilisation), text::percent),
        Cell::figure("Others", share(|cpu| cpu.foreign_ns), text::percent),
        Cell::figure("Stolen", share(|cpu| cpu.steal_ns), text::percent),
        Cell::bytes("Memory", run.peak_rss_bytes),
        Cell::count("Threads", run.threads_peak.map(u64::from)),
        Cell::text("Trace", text::or_dash(run.trace.clone(), |trace| trace)),
        Cell::text("Remarks", remarks.join("; ")),
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
