//! Processes and interrupts while the models ran, one run after the other.

use super::super::charts::time_series::{Line, Moment, Panel, Step, TimeSeries};
use super::super::page::{Block, Cell, Figure, Section, Table};
use super::super::text;
use super::models::label;
use super::{NamedStudy, Studies};
use swtch_study::model::{OverTime, Run};
use swtch_topology::Field;

const MS: f64 = 1e6;

/// What is drawn: its title, its value at a place, and the least distance of two ticks.
type Quantity = (&'static str, fn(&OverTime, usize) -> Option<f64>, f64);

const QUANTITIES: [Quantity; 5] = [
    ("Threads", |run, place| run.threads.get(place).map(|threads| f64::from(*threads)), 1.0),
    ("Processes", |run, place| run.processes.get(place).map(|processes| f64::from(*processes)), 1.0),
    ("Use of the CPUs it may use", |run, place| run.cpu_utilisation.get(place).copied().flatten(), 0.0),
    ("Switches a second", |run, place| run.switches_per_s.get(place).copied().flatten(), 0.0),
    (
        "Interrupts a second, whole machine",
        |run, place| run.interrupts_per_s.get(place).copied().flatten(),
        0.0,
    ),
];

/// The section.
pub(super) fn section(subjects: Studies<'_>) -> Section {
    let mut blocks = vec![Block::paragraph(
        "Runs stand one after the other as they were made, without the time between them.",
    )];
    for (i, named) in subjects.iter() {
        if subjects.several() {
            blocks.push(Block::heading(named.name.clone()));
        }
        blocks.extend(figure(subjects, i, named).map(Block::Figure));
    }
    const OVER_TIME: Field = Field::new("over_time");
    let has = |named: &NamedStudy| named.study.runs.iter().any(|run| run.over_time.is_some());
    blocks.extend(
        subjects.lacking("figures over time", |field| field.is_of(&[OVER_TIME]), has).map(Block::Notice),
    );
    Section { id: "over-time", title: "Processes and interrupts", blocks }
}

/// A run with what changed while it went on, and where each of its samples begins and ends, ns.
type Placed<'a> = (&'a Run, &'a OverTime, Vec<(f64, f64)>);

/// The runs, one after the other.
fn placed(named: &NamedStudy) -> Vec<Placed<'_>> {
    let mut begin = 0.0;
    let mut all = Vec::new();
    for run in &named.study.runs {
        let Some(over_time) = run.over_time.as_ref().filter(|over_time| !over_time.at_ms.is_empty()) else {
            continue;
        };
        let ends: Vec<f64> = over_time.at_ms.iter().map(|ms| begin + ms * MS).collect();
        let begins = std::iter::once(begin).chain(ends.iter().copied());
        let spans: Vec<(f64, f64)> = begins.zip(ends.iter().copied()).collect();
        begin = ends.last().copied().unwrap_or(begin).max(begin);
        all.push((run, over_time, spans));
    }
    all
}

fn figure(subjects: Studies<'_>, index: usize, named: &NamedStudy) -> Option<Figure> {
    let runs = placed(named);
    if runs.is_empty() {
        return None;
    }
    let colour = subjects.look(index, 0).class();
    let panels = QUANTITIES
        .iter()
        .map(|(title, of, least)| {
            let steps = runs.iter().flat_map(|(_, over_time, spans)| {
                spans.iter().enumerate().map(|(place, (from, to))| Step {
                    from: *from,
                    to: *to,
                    value: of(over_time, place),
                })
            });
            Panel {
                title: (*title).to_owned(),
                lines: vec![Line { colour: colour.clone(), steps: steps.collect() }],
                least: *least,
            }
        })
        .collect();
    let caption = "What runs and what interrupts it, run after run.";
    let head: Vec<&str> =
        ["Run", "From"].into_iter().chain(QUANTITIES.iter().map(|(title, ..)| *title)).collect();
    let mut table = Table::new("The median of each run.", &head);
    let mut moments = Vec::new();
    for (run, over_time, spans) in &runs {
        let (from, to) = (spans[0].0, spans[spans.len() - 1].1);
        let medians: Vec<Option<f64>> = QUANTITIES.iter().map(|(_, of, _)| median(over_time, *of)).collect();
        let words = |value: &Option<f64>| value.map_or_else(|| "–".to_owned(), text::amount);
        let mut cells = vec![Cell::text(text::moment(from))];
        cells.extend(medians.iter().map(|value| Cell::number(words(value))));
        table.row(format!("{}, {}", label(&run.workload), run.settings.words()), cells);
        let mut tip = vec![label(&run.workload), run.settings.words()];
        tip.extend(
            QUANTITIES.iter().zip(&medians).map(|((title, ..), value)| format!("{title}: {}", words(value))),
        );
        moments.push(Moment { from, to, tip });
    }
    let chart = TimeSeries { panels, moments, label: format!("{caption} One plot each, over time") };
    Some(Figure::new(format!("figure-over-time-{index}"), caption, table, |size| chart.draw(size)))
}

fn median(over_time: &OverTime, of: fn(&OverTime, usize) -> Option<f64>) -> Option<f64> {
    super::super::median((0..over_time.at_ms.len()).filter_map(|place| of(over_time, place)))
}
