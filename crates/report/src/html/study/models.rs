//! Switches and processor use by model, a section for each figure of the study that is followed.

use super::super::charts::amounts::{self, Amount, Thing};
use super::super::page::{Block, Cell, Figure, Section, Table};
use super::super::{median, text};
use super::{NamedStudy, Studies};
use swtch_study::model::{Run, Summary, Workload};

/// A figure of a run, if it has it.
type Of = fn(&Run) -> Option<f64>;

/// A chart: the end of its id, its caption, what it shows, and how that is said.
type Chart = (&'static str, &'static str, Of, fn(f64) -> String);

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
    let is_other = |workload: &Workload| GROUPS.iter().all(|(group, ..)| workload.group != *group);
    sections.extend(section(subjects, &is_other, "other-workloads", "Other workloads"));
    sections
}

fn section(
    subjects: Studies<'_>,
    belongs: &dyn Fn(&Workload) -> bool,
    id: &'static str,
    title: &'static str,
) -> Option<Section> {
    let mut workloads: Vec<&Workload> = subjects
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
    let mut blocks = vec![Block::paragraph(
        "Each model under the settings with the largest median of images a second, or, where runs were disturbed, under those that ran first. A switch is voluntary when a thread waits, involuntary when it could have gone on.",
    )];
    let charts: [Chart; 4] = [
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
    for (what, caption, of, words) in charts {
        blocks.extend(
            figure(subjects, &workloads, (&format!("figure-{id}-{what}"), caption), of, words)
                .map(Block::Figure),
        );
    }
    Some(Section { id, title, blocks })
}

/// Number and name, as the study has them.
pub(super) fn label(workload: &Workload) -> String {
    workload.number.map_or_else(|| workload.name.clone(), |number| format!("{number} {}", workload.name))
}

/// The median over the runs of a workload under the settings that stand for it, with those settings.
fn of_chosen<'a>(named: &'a NamedStudy, workload: &Workload, of: Of) -> Option<(&'a Summary, f64)> {
    let summary = named.chosen().into_iter().find(|summary| summary.workload == *workload)?;
    Some((summary, median(named.runs_of(summary).filter_map(of))?))
}

fn figure(
    subjects: Studies<'_>,
    workloads: &[&Workload],
    (id, caption): (&str, &str),
    of: Of,
    words: fn(f64) -> String,
) -> Option<Figure> {
    let mut table = Table::new(caption, &subjects.head("Model", &["Settings", "Figure"]));
    let mut things = Vec::new();
    for workload in workloads {
        let mut bars = Vec::new();
        for (i, named) in subjects.iter() {
            let Some((summary, value)) = of_chosen(named, workload, of) else { continue };
            let settings = summary.settings.words();
            table.row(
                label(workload),
                subjects.cells(i, vec![Cell::text(settings.clone()), Cell::sorted(words(value), value)]),
            );
            bars.push(Amount {
                colour: subjects.look(i, 0).class(),
                value,
                figure: words(value),
                tip: vec![subjects.prefixed(i, &label(workload)), words(value), settings],
            });
        }
        if !bars.is_empty() {
            things.push(Thing { label: label(workload), bars });
        }
    }
    let is_empty = things.iter().flat_map(|thing| &thing.bars).all(|bar| bar.value <= 0.0);
    (!is_empty).then(|| {
        Figure::new(id, caption, table, |size| amounts::draw(&things, caption, size))
            .legend(subjects.legend())
    })
}
