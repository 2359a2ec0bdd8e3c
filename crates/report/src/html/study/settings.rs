//! What the settings do to each model: threads beyond the CPUs, spinning against blocking.

use super::super::charts::amounts::{self, Amount, Thing};
use super::super::page::{Cell, Figure, Section, Table};
use super::super::text;
use super::models::label;
use super::{NamedStudy, Studies, latency};
use swtch_study::model::{Estimate, StudyWorkload, Summary};

/// Workloads that were run under more than one setting.
fn swept(named: &NamedStudy) -> Vec<&StudyWorkload> {
    let mut workloads: Vec<&StudyWorkload> =
        named.study.summaries.iter().map(|summary| &summary.workload).collect();
    workloads.sort();
    let mut found: Vec<&StudyWorkload> =
        workloads.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    found.dedup();
    found
}

/// The section; nothing when every model was run in one way only.
pub(super) fn section(subjects: Studies<'_>) -> Option<Section> {
    let intro = "More threads than CPUs wait in run queues and preempt each other. Threads that spin while they wait switch seldom and keep the CPUs from those that \
                 have work: fewer switches can be slower, so latency stands beside them.";
    let mut section = Section::new("settings", "Threads, spinning and what else was set", intro);
    for (i, named) in subjects.iter() {
        for workload in swept(named) {
            let summaries: Vec<&Summary> =
                named.study.summaries.iter().filter(|summary| summary.workload == *workload).collect();
            section.heading(subjects.prefixed(i, &label(workload)));
            let id = format!("{i}-{}", workload.slug);
            section.put(latency::over_threads(subjects, i, &summaries, &id));
            section.put(latency::against_switches(subjects, i, &summaries, &id));
            section.put(switches(&summaries, &id));
            section.put([table(&summaries)]);
        }
    }
    section.unless_empty()
}

/// Involuntary switches for each inference, a bar for each setting.
fn switches(summaries: &[&Summary], id: &str) -> Option<Figure> {
    let caption = "Involuntary switches for each inference, by setting.";
    let mut table = Table::new(caption, "Settings");
    let thing = |summary: &&Summary| {
        let estimate = summary.involuntary_per_inference?;
        let (words, figure) = (summary.settings.words(), text::amount(estimate.median));
        let interval = interval(&estimate, text::amount);
        let cell = Cell::sorted("Involuntary", figure.clone(), estimate.median);
        table.row(words.clone(), vec![cell, Cell::text("Interval", interval.clone())]);
        let tip = vec![words.clone(), figure.clone(), interval];
        let bar = Amount { colour: "c0".to_owned(), value: estimate.median, figure, tip };
        Some(Thing { label: words, bars: vec![bar] })
    };
    let things: Vec<Thing> = summaries.iter().filter_map(thing).collect();
    let id = format!("figure-involuntary-{id}");
    amounts::any(&things).then(|| amounts::figure(id, caption, caption, table, &things))
}

fn interval(estimate: &Estimate, words: impl Fn(f64) -> String) -> String {
    format!("{} to {}", words(estimate.ci_low), words(estimate.ci_high))
}

fn table(summaries: &[&Summary]) -> Table {
    let caption = "Every setting; switches are for each inference, waiting is in run queues.";
    let mut table = Table::new(caption, "Settings").sortable();
    for summary in summaries {
        let throughput = summary.images_per_second;
        let interval = throughput.map(|estimate| interval(&estimate, text::amount));
        let cell = |title: &'static str, estimate: Option<Estimate>, words: fn(f64) -> String| {
            Cell::figure(title, estimate.map(|estimate| estimate.median), words)
        };
        let cells = vec![
            cell("Images/s", throughput, text::amount),
            Cell::text("Interval", interval.unwrap_or_else(|| text::DASH.to_owned())),
            cell("p50", summary.latency_p50_ns, text::ns),
            cell("p99", summary.latency_p99_ns, text::ns),
            cell("Voluntary", summary.voluntary_per_inference, text::amount),
            cell("Involuntary", summary.involuntary_per_inference, text::amount),
            cell("Waiting", summary.wait_share_of_latency, text::percent),
            Cell::number("Runs (disturbed)", format!("{} ({})", summary.runs, summary.disturbed)),
        ];
        table.row(summary.settings.words(), cells);
    }
    table
}
