//! Switches and CPU use by model, a section for each figure of the study that is followed.

use swtch_study::model::{Run, StudyWorkload};

use super::Studies;
use crate::html::prelude::*;

/// A figure of a run, if it has it.
type Of = fn(&Run) -> Option<f64>;

/// A chart: the end of its id, its caption, the figure it shows, and how the figure is printed.
type Chart = (&'static str, &'static str, Of, fn(f64) -> String);

const CHARTS: [Chart; 4] = [
    ("voluntary", "Voluntary switches a second.", |run| run.per_second?.voluntary, text::amount),
    ("involuntary", "Involuntary switches a second.", |run| run.per_second?.involuntary, text::amount),
    (
        "interrupts",
        "Interrupts of the whole machine a second.",
        |run| run.per_second?.interrupts,
        text::amount,
    ),
    ("cpu", "Use of the CPUs it may use.", |run| run.cpu?.utilisation, text::percent),
];

/// The groups, with where their sections are and what they are called; others come last.
const GROUPS: [(&str, &str, &str); 2] = [
    ("image recognition", "image-recognition", "Image recognition"),
    ("image processing and segmentation", "image-processing", "Image processing and segmentation"),
];

/// A section for each group that has models.
pub(super) fn sections(subjects: Studies<'_>) -> Vec<Section> {
    let mut sections = Vec::new();
    for (group, id, title) in GROUPS {
        sections.extend(section(subjects, &|workload| workload.group == group, id, title));
    }
    let is_other = |workload: &StudyWorkload| GROUPS.iter().all(|(group, ..)| workload.group != *group);
    sections.extend(section(subjects, &is_other, "other-workloads", "Other workloads"));
    sections
}

fn section(
    subjects: Studies<'_>,
    belongs: &dyn Fn(&StudyWorkload) -> bool,
    id: &'static str,
    title: &'static str,
) -> Option<Section> {
    let chosen = subjects.iter().flat_map(|one| one.of.chosen()).map(|summary| &summary.workload);
    let workloads = distinct(chosen.filter(|workload| belongs(workload)));
    let intro = "Each model under the settings with the largest median of images a second, or, where runs were disturbed, under those that ran first. A switch is voluntary when a thread waits, involuntary when it could have gone on.";
    let figures = CHARTS.iter().filter_map(|chart| figure(subjects, &workloads, id, chart));
    (!workloads.is_empty()).then(|| Section::new(id, title, intro).put(figures))
}

/// Number and name, as the study has them.
pub(super) fn label(workload: &StudyWorkload) -> String {
    workload.number.map_or_else(|| workload.name.clone(), |number| format!("{number} {}", workload.name))
}

/// A bar for each workload: the median over its runs under the settings that stand for it.
fn figure(
    subjects: Studies<'_>,
    workloads: &[&StudyWorkload],
    id: &str,
    (what, caption, of, words): &Chart,
) -> Option<Figure> {
    let mut rows = Vec::new();
    let mut chart = Amounts::default();
    for workload in workloads {
        let label = label(workload);
        for one in subjects.iter() {
            let chosen = one.of.chosen().into_iter().find(|summary| summary.workload == **workload);
            let Some(summary) = chosen else { continue };
            let Some(value) = median(one.of.runs_of(summary).filter_map(of)) else { continue };
            let (settings, figure) = (summary.settings.words(), words(value));
            let cells =
                vec![Cell::text("Settings", &settings), Cell::sorted("Figure", figure.clone(), value)];
            rows.push(one.row(&label, cells));
            let tip = vec![one.prefixed(&label), figure.clone(), settings];
            chart.bar(&label, Amount { colour: one.colour(), value, figure, tip });
        }
    }
    let table = Table::new(*caption, "Model", rows);
    let figure = |chart| Figure::new(format!("figure-{id}-{what}"), *caption, caption, table, chart);
    chart.above_zero().map(figure).map(|figure| figure.legend(subjects.legend()))
}
