//! Processes and interrupts while the models ran, one run after the other.

use super::super::charts::time_series::{Curve, Panel, Span, Step, TimeSeries};
use super::super::page::{Cell, Figure, Section, Table};
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

const OVER_TIME: Field = Field::new("over_time");

/// The section.
pub(super) fn section(subjects: Studies<'_>) -> Section {
    let intro = "Runs stand one after the other as they were made, without the time between them.";
    let mut section = Section::new("over-time", "Processes and interrupts", intro);
    for (i, named) in subjects.iter() {
        if subjects.several() {
            section.heading(named.name.clone());
        }
        section.put(figure(subjects, i, named));
    }
    let has = |named: &NamedStudy| named.study.runs.iter().any(|run| run.over_time.is_some());
    section.put(subjects.lacking("figures over time", |field| field.is_of(&[OVER_TIME]), has));
    section
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
    let colour = subjects.colour(index);
    let panel = |(title, of, least): &Quantity| {
        let steps = runs.iter().flat_map(|(_, over_time, spans)| {
            let step = |(place, (from, to)): (usize, &(f64, f64))| Step {
                from: *from,
                to: *to,
                value: of(over_time, place),
            };
            spans.iter().enumerate().map(step)
        });
        Panel { title, curves: vec![Curve { colour: colour.clone(), steps: steps.collect() }], least: *least }
    };
    let caption = "What runs and what interrupts it, run after run.";
    let mut table = Table::new("The median of each run.", "Run");
    let mut whole = Vec::new();
    for (run, over_time, spans) in &runs {
        let (from, to) = (spans[0].0, spans[spans.len() - 1].1);
        let (model, settings) = (label(&run.workload), run.settings.words());
        let mut cells = vec![Cell::text("From", text::moment(from))];
        let mut tip = vec![model.clone(), settings.clone()];
        for (title, of, _) in &QUANTITIES {
            let cell = Cell::or_dash(*title, median(over_time, *of).map(text::amount));
            tip.push(format!("{title}: {}", cell.text));
            cells.push(cell);
        }
        table.row(format!("{model}, {settings}"), cells);
        whole.push(Span { from, to, tip });
    }
    let panels = QUANTITIES.iter().map(panel).collect();
    let chart = TimeSeries { panels, spans: whole, label: format!("{caption} One plot each, over time") };
    Some(Figure::new(format!("figure-over-time-{index}"), caption, table, |size| chart.draw(size)))
}

fn median(over_time: &OverTime, of: fn(&OverTime, usize) -> Option<f64>) -> Option<f64> {
    super::super::median((0..over_time.at_ms.len()).filter_map(|place| of(over_time, place)))
}
