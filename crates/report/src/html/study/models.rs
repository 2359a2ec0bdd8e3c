//! Switches and processor use by model, a section for each figure of the study that is followed.

use super::super::charts::amounts::{self, Amount, Thing};
use super::super::page::{Cell, Figure, Section};
use super::super::{median, text};
use super::{NamedStudy, Studies};
use swtch_study::model::{Run, StudyWorkload, Summary};

/// A figure of a run, if it has it.
type Of = fn(&Run) -> Option<f64>;

/// A chart: the end of its id, its caption, what it shows, and how that is said.
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
    let mut workloads: Vec<&StudyWorkload> = subjects
        .iter()
        .flat_map(|(_, named)| named.chosen())
        .map(|summary| &summary.workload)
        .filter(|workload| belongs(workload))
        .collect();
    workloads.sort();
    workloads.dedup();
    if workloads.is_empty() {
        return None;
    }
    let intro = "Each model under the settings with the largest median of images a second, or, where runs were disturbed, under those that ran first. A switch is voluntary when a thread waits, involuntary when it could have gone on.";
    let mut section = Section::new(id, title, intro);
    for chart in &CHARTS {
        section.put(figure(subjects, &workloads, id, chart));
    }
    Some(section)
}

/// Number and name, as the study has them.
pub(super) fn label(workload: &StudyWorkload) -> String {
    workload.number.map_or_else(|| workload.name.clone(), |number| format!("{number} {}", workload.name))
}

/// The median over the runs of a workload under the settings that stand for it, with those settings.
fn of_chosen<'a>(named: &'a NamedStudy, workload: &StudyWorkload, of: Of) -> Option<(&'a Summary, f64)> {
    let summary = named.chosen().into_iter().find(|summary| summary.workload == *workload)?;
    Some((summary, median(named.runs_of(summary).filter_map(of))?))
}

fn figure(
    subjects: Studies<'_>,
    workloads: &[&StudyWorkload],
    id: &str,
    (what, caption, of, words): &Chart,
) -> Option<Figure> {
    let known = |workload: &StudyWorkload| {
        let of = |(i, named)| of_chosen(named, workload, *of).map(|(summary, value)| (i, summary, value));
        subjects.iter().filter_map(of).collect::<Vec<_>>()
    };
    let rows = workloads.iter().flat_map(|workload| {
        let row = |(i, summary, value): (usize, &Summary, f64)| {
            let settings = Cell::text("Settings", summary.settings.words());
            (i, label(workload), vec![settings, Cell::sorted("Figure", words(value), value)])
        };
        known(workload).into_iter().map(row)
    });
    let things = workloads.iter().map(|workload| {
        let bar = |(i, summary, value): (usize, &Summary, f64)| {
            let figure = words(value);
            let tip = vec![subjects.prefixed(i, &label(workload)), figure.clone(), summary.settings.words()];
            Amount { colour: subjects.colour(i), value, figure, tip }
        };
        Thing { label: label(workload), bars: known(workload).into_iter().map(bar).collect() }
    });
    let (table, mut things) = (subjects.table(*caption, "Model", rows), things.collect::<Vec<_>>());
    things.retain(|thing| !thing.bars.is_empty());
    let figure = amounts::figure(format!("figure-{id}-{what}"), caption, caption, table, &things);
    amounts::any(&things).then(|| figure.legend(subjects.legend()))
}
