//! What the settings do to each model: threads beyond the CPUs, spinning against blocking.

use super::super::charts::amounts::{self, Amount, Thing};
use super::super::page::{Block, Cell, Figure, Section, Table};
use super::super::text;
use super::models::label;
use super::{NamedStudy, Studies, latency};
use swtch_study::model::{Estimate, Summary, Workload};

/// Workloads that were run under more than one setting.
fn swept(named: &NamedStudy) -> Vec<&Workload> {
    let mut workloads: Vec<&Workload> =
        named.study.summaries.iter().map(|summary| &summary.workload).collect();
    workloads.sort();
    let mut found: Vec<&Workload> =
        workloads.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    found.dedup();
    found
}

/// The section; nothing when every model was run in one way only.
pub(super) fn section(subjects: Studies<'_>) -> Option<Section> {
    let mut blocks = Vec::new();
    for (i, named) in subjects.iter() {
        for workload in swept(named) {
            let summaries: Vec<&Summary> =
                named.study.summaries.iter().filter(|summary| summary.workload == *workload).collect();
            blocks.push(Block::heading(subjects.prefixed(i, &label(workload))));
            let id = format!("{i}-{}", workload.slug);
            blocks.extend(latency::over_threads(subjects, i, &summaries, &id).map(Block::Figure));
            blocks.extend(latency::against_switches(subjects, i, &summaries, &id).map(Block::Figure));
            blocks.extend(switches(&summaries, &id).map(Block::Figure));
            blocks.push(Block::Table(table(&summaries)));
        }
    }
    if blocks.is_empty() {
        return None;
    }
    blocks.insert(0, Block::paragraph(
        "More threads than CPUs wait in run queues and preempt each other. Threads that spin while they wait switch seldom and keep the CPUs from those that \
         have work: fewer switches can be slower, so latency stands beside them.",
    ));
    Some(Section { id: "settings", title: "Threads, spinning and what else was set", blocks })
}

/// Involuntary switches for each inference, a bar for each setting.
fn switches(summaries: &[&Summary], id: &str) -> Option<Figure> {
    let caption = "Involuntary switches for each inference, by setting.";
    let mut table = Table::new(caption, &["Settings", "Involuntary", "Interval"]);
    let things: Vec<Thing> = summaries
        .iter()
        .filter_map(|summary| {
            let estimate = summary.involuntary_per_inference?;
            let words = summary.settings.words();
            let figure = text::amount(estimate.median);
            let interval = interval(&estimate, text::amount);
            table.row(
                words.clone(),
                vec![Cell::sorted(figure.clone(), estimate.median), Cell::text(interval.clone())],
            );
            let tip = vec![words.clone(), figure.clone(), interval];
            let bar = Amount { colour: "c0".to_owned(), value: estimate.median, figure, tip };
            Some(Thing { label: words, bars: vec![bar] })
        })
        .collect();
    if things.iter().flat_map(|thing| &thing.bars).all(|bar| bar.value <= 0.0) {
        return None;
    }
    let draw = |size| amounts::draw(&things, caption, size);
    Some(Figure::new(format!("figure-involuntary-{id}"), caption, table, draw))
}

fn interval(estimate: &Estimate, words: impl Fn(f64) -> String) -> String {
    format!("{} to {}", words(estimate.ci_low), words(estimate.ci_high))
}

fn table(summaries: &[&Summary]) -> Table {
    let head = [
        "Settings",
        "Images/s",
        "Interval",
        "p50",
        "p99",
        "Voluntary",
        "Involuntary",
        "Waiting",
        "Runs (disturbed)",
    ];
    let mut table =
        Table::new("Every setting; switches are for each inference, waiting is in run queues.", &head);
    table.sortable = true;
    let cell = |estimate: Option<Estimate>, words: fn(f64) -> String| {
        estimate.map_or_else(
            || Cell::number("–"),
            |estimate| Cell::sorted(words(estimate.median), estimate.median),
        )
    };
    for summary in summaries {
        let throughput = summary.images_per_second;
        table.row(
            summary.settings.words(),
            vec![
                cell(throughput, text::amount),
                Cell::text(
                    throughput.map_or_else(|| "–".to_owned(), |estimate| interval(&estimate, text::amount)),
                ),
                cell(summary.latency_p50_ns, text::ns),
                cell(summary.latency_p99_ns, text::ns),
                cell(summary.voluntary_per_inference, text::amount),
                cell(summary.involuntary_per_inference, text::amount),
                cell(summary.wait_share_of_latency, text::percent),
                Cell::number(format!("{} ({})", summary.runs, summary.disturbed)),
            ],
        );
    }
    table
}
