//! What the settings do to each model: threads beyond the CPUs, spinning against blocking.

use swtch_study::Study;
use swtch_study::model::{Estimate, StudyWorkload, Summary};

use super::models::label;
use super::{Studies, latency};
use crate::html::prelude::*;

/// Workloads that were run under more than one setting.
fn swept(study: &Study) -> Vec<&StudyWorkload> {
    let mut workloads: Vec<&StudyWorkload> =
        study.summaries.iter().map(|summary| &summary.workload).collect();
    workloads.sort();
    distinct(workloads.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]))
}

/// The section; nothing when every model was run in one way only.
pub(super) fn section(subjects: Studies<'_>) -> Option<Section> {
    let intro = "More threads than CPUs wait in run queues and preempt each other. Threads that spin while \
                 they wait switch seldom and keep the CPUs from those that have work. Fewer switches can be \
                 slower, so latency is shown with them.";
    let mut section = Section::new("settings", "Threads, spinning and what else was set", intro);
    for one in subjects.iter() {
        for workload in swept(one.of) {
            let of_workload = one.of.summaries.iter().filter(|summary| summary.workload == *workload);
            let summaries: Vec<&Summary> = of_workload.collect();
            let id = format!("{}-{}", one.index, workload.slug);
            section = section
                .heading(one.prefixed(&label(workload)))
                .put(latency::over_threads(one, &summaries, &id))
                .put(latency::against_switches(one, &summaries, &id))
                .put(switches(&summaries, &id))
                .put([table(&summaries)]);
        }
    }
    section.unless_empty()
}

/// Involuntary switches for each inference, a bar for each setting.
fn switches(summaries: &[&Summary], id: &str) -> Option<Figure> {
    let mut rows = Vec::new();
    let mut chart = Amounts::default();
    for summary in summaries {
        let Some(estimate) = summary.involuntary_per_inference else { continue };
        let (words, figure) = (summary.settings.words(), text::amount(estimate.median));
        let interval = interval(&estimate, text::amount);
        let cell = Cell::sorted("Involuntary", figure.clone(), estimate.median);
        rows.push(TableRow::new(&words, vec![cell, Cell::text("Interval", &interval)]));
        let tip = vec![words.clone(), figure.clone(), interval];
        chart.bar(&words, Amount { colour: "c0".to_owned(), value: estimate.median, figure, tip });
    }
    let caption = "Involuntary switches for each inference, by setting.";
    let table = Table::new(caption, "Settings", rows);
    let figure = |chart| Figure::new(format!("figure-involuntary-{id}"), caption, caption, table, chart);
    chart.above_zero().map(figure)
}

fn interval(estimate: &Estimate, words: impl Fn(f64) -> String) -> String {
    format!("{} to {}", words(estimate.ci_low), words(estimate.ci_high))
}

fn table(summaries: &[&Summary]) -> Table {
    let rows = summaries.iter().map(|summary| {
        let throughput = summary.images_per_second;
        let cell = |title: &'static str, estimate: Option<Estimate>, words: fn(f64) -> String| {
            Cell::figure(title, estimate.map(|estimate| estimate.median), words)
        };
        let cells = vec![
            cell("Images/s", throughput, text::amount),
            Cell::text("Interval", text::or_dash(throughput, |estimate| interval(&estimate, text::amount))),
            cell("p50", summary.latency_p50_ns, text::ns),
            cell("p99", summary.latency_p99_ns, text::ns),
            cell("Voluntary", summary.voluntary_per_inference, text::amount),
            cell("Involuntary", summary.involuntary_per_inference, text::amount),
            cell("Waiting", summary.wait_share_of_latency, text::percent),
            Cell::number("Runs (disturbed)", format!("{} ({})", summary.runs, summary.disturbed)),
        ];
        TableRow::new(summary.settings.words(), cells)
    });
    let caption = "Every setting; switches are for each inference, waiting is in run queues.";
    Table::new(caption, "Settings", rows).sortable()
}
