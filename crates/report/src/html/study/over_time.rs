//! Processes and interrupts while the models ran, one run after the other.

use swtch_study::Study;
use swtch_study::model::{OverTime, Run};
use swtch_topology::Field;

use super::Studies;
use super::models::label;
use crate::html::prelude::*;

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
    let intro = "Runs are in the order in which they were made, without the time between them.";
    let has = |study: &Study| study.runs.iter().any(|run| run.over_time.is_some());
    let blocks = subjects.iter().flat_map(|one| {
        let heading = one.name().map(|text| Block::Heading { text });
        heading.into_iter().chain(figure(one).map(Block::from))
    });
    Section::new("over-time", "Processes and interrupts", intro).put(blocks).put(subjects.lacking(
        "figures over time",
        &[OVER_TIME],
        has,
    ))
}

/// A run with what changed while it went on, and where each of its samples begins and ends, ns.
type Placed<'a> = (&'a Run, &'a OverTime, Vec<(f64, f64)>);

/// The runs, one after the other.
fn placed(study: &Study) -> Vec<Placed<'_>> {
    let mut begin = 0.0;
    let mut all = Vec::new();
    for run in &study.runs {
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

fn figure(one: One<'_, Study>) -> Option<Figure> {
    let runs = placed(one.of);
    if runs.is_empty() {
        return None;
    }
    let panel = |(title, of, least): &Quantity| {
        let steps = runs.iter().flat_map(|(_, over_time, spans)| {
            let step = |(place, (from, to)): (usize, &(f64, f64))| Step {
                from: *from,
                to: *to,
                value: of(over_time, place),
            };
            spans.iter().enumerate().map(step)
        });
        Panel { title, curves: vec![Curve { colour: one.colour(), steps: steps.collect() }], least: *least }
    };
    let mut rows = Vec::new();
    let mut whole = Vec::new();
    for (run, over_time, spans) in &runs {
        let (from, to) = (spans[0].0, spans[spans.len() - 1].1);
        let (model, settings) = (label(&run.workload), run.settings.words());
        let cell = |(title, of, _): &Quantity| {
            let values = (0..over_time.at_ms.len()).filter_map(|place| of(over_time, place));
            Cell::or_dash(*title, median(values).map(text::amount))
        };
        let medians: Vec<Cell> = QUANTITIES.iter().map(cell).collect();
        let lines = medians.iter().map(|cell| format!("{}: {}", cell.title, cell.text));
        let tip = [model.clone(), settings.clone()].into_iter().chain(lines).collect();
        let cells = [Cell::text("From", text::moment(from))].into_iter().chain(medians).collect();
        rows.push(TableRow::new(format!("{model}, {settings}"), cells));
        whole.push(Span { from, to, tip });
    }
    let caption = "What runs and what interrupts it, run after run.";
    let table = Table::new("The median of each run.", "Run", rows);
    let chart = TimeSeries { panels: QUANTITIES.iter().map(panel).collect(), spans: whole };
    let label = format!("{caption} One plot each, over time");
    Some(Figure::new(format!("figure-over-time-{}", one.index), caption, &label, table, &chart))
}
