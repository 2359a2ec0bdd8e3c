//! Interrupts by line: how often, and how long.

use std::collections::BTreeMap;

use swtch_trace::tables::InterruptKind;
use swtch_trace::{Trace, fields};

use super::{PricedTrace, Traces};
use crate::html::prelude::*;

/// Lines in a chart; the rest is summed as one.
const MOST: usize = 14;

/// Count and time, ns.
type CountAndTime = (u64, Option<u64>);

/// A line, and what each Trace that has it says of it.
type InterruptLine<'a> = (String, Vec<(One<'a, PricedTrace>, CountAndTime)>);

/// One of the two figures: the end of its id, its caption and its value. `words` prints the value, and `every` relates it to the run's length, ns.
struct InterruptFigure {
    id: &'static str,
    caption: &'static str,
    value: fn(&CountAndTime) -> Option<f64>,
    words: fn(f64) -> String,
    every: fn(f64, f64) -> String,
}

const FIGURES: [InterruptFigure; 2] = [
    InterruptFigure {
        id: "figure-interrupts",
        caption: "How often each interrupt came.",
        value: |(count, _)| Some(*count as f64),
        words: |count| text::count(count as u64),
        every: |count, run_ns| format!("{} a second", text::amount(count / (run_ns / 1e9))),
    },
    InterruptFigure {
        id: "figure-interrupt-time",
        caption: "Time in the handlers of each interrupt.",
        value: |(_, ns)| ns.map(|ns| ns as f64),
        words: text::ns,
        every: |ns, run_ns| format!("{} of one CPU’s time", text::percent(ns / run_ns)),
    },
];

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let intro = "Hardware interrupts stop whatever runs; soft interrupts are the work they leave for later. They are the whole \
                 machine’s, not only the recorded tasks’.";
    let lines = lines(subjects);
    let has = |priced: &PricedTrace| !priced.trace.interrupts.is_empty();
    let timed =
        |priced: &PricedTrace| !has(priced) || priced.trace.interrupts.iter().any(|row| row.ns.is_some());
    Section::new("interrupts", "Interrupts", intro)
        .put(FIGURES.iter().filter_map(|kind| figure(subjects, &lines, kind)))
        .put(subjects.lacking("interrupts", &[fields::INTERRUPTS], has))
        .put(subjects.lacking("time in interrupts", &[fields::INTERRUPTS_NS], timed))
}

/// The sums over CPUs by line. Rows of single CPUs count where there is no row for all.
fn of_trace(trace: &Trace) -> BTreeMap<String, CountAndTime> {
    let mut sums: BTreeMap<String, CountAndTime> = BTreeMap::new();
    let mut single: BTreeMap<String, CountAndTime> = BTreeMap::new();
    for row in &trace.interrupts {
        let what = match row.kind {
            InterruptKind::Hard => row.name.as_str(),
            InterruptKind::Soft => "soft",
        };
        let label = if what.is_empty() { row.line.clone() } else { format!("{} {what}", row.line) };
        let into = if row.cpu.is_none() { &mut sums } else { &mut single };
        let sum = into.entry(label).or_insert((0, None));
        let ns = match (sum.1, row.ns) {
            (Some(before), Some(more)) => Some(before + more),
            (one, other) => one.or(other),
        };
        *sum = (sum.0 + row.count, ns);
    }
    for (label, figures) in single {
        sums.entry(label).or_insert(figures);
    }
    sums
}

fn lines(subjects: Traces<'_>) -> Vec<InterruptLine<'_>> {
    let mut by_label: BTreeMap<String, Vec<(One<'_, PricedTrace>, CountAndTime)>> = BTreeMap::new();
    for one in subjects.iter() {
        for (label, figures) in of_trace(&one.of.trace) {
            by_label.entry(label).or_default().push((one, figures));
        }
    }
    by_label.into_iter().collect()
}

/// A chart of one of the two figures; nothing when no line has it.
fn figure(subjects: Traces<'_>, lines: &[InterruptLine<'_>], kind: &InterruptFigure) -> Option<Figure> {
    let values =
        |(_, figures): &InterruptLine<'_>| figures.iter().filter_map(|(_, of)| (kind.value)(of)).collect();
    let mut known: Vec<(Vec<f64>, &InterruptLine<'_>)> =
        lines.iter().map(|line| (values(line), line)).collect();
    known.retain(|(values, _)| !values.is_empty());
    known.sort_by(|(a, _), (b, _)| b.iter().sum::<f64>().total_cmp(&a.iter().sum()));
    let table = table(known.iter().map(|(_, line)| *line));
    let rest = known.split_off(known.len().min(MOST));

    let mut chart = Amounts::default();
    let mut bar = |label: &str, one: One<'_, PricedTrace>, value: f64| {
        let figure = (kind.words)(value);
        let tip = vec![one.prefixed(label), figure.clone(), (kind.every)(value, one.of.duration_ns())];
        chart.bar(label, Amount { colour: one.colour(), value, figure, tip });
    };
    for (_, (label, figures)) in known {
        for (one, value) in figures.iter().filter_map(|(one, of)| Some((*one, (kind.value)(of)?))) {
            bar(label, one, value);
        }
    }
    if !rest.is_empty() {
        let figures = || rest.iter().flat_map(|(_, (_, figures))| figures);
        for one in subjects.iter() {
            let own = figures().filter(|(other, _)| other.index == one.index);
            bar(&format!("{} others", rest.len()), one, own.filter_map(|(_, of)| (kind.value)(of)).sum());
        }
    }
    let label = format!("{} Bars from zero", kind.caption);
    chart
        .some()
        .map(|chart| Figure::new(kind.id, kind.caption, &label, table, chart).legend(subjects.legend()))
}

fn table<'a>(lines: impl Iterator<Item = &'a InterruptLine<'a>>) -> Table {
    let rows = lines.flat_map(|(label, figures)| {
        figures.iter().map(move |(one, (count, ns))| {
            let run_ns = one.of.duration_ns();
            let share = |ns: u64| text::percent(ns as f64 / run_ns);
            let cells = vec![
                Cell::number("Count", text::count(*count)),
                Cell::number("A second", text::amount(*count as f64 / (run_ns / 1e9))),
                Cell::or_dash("Time", ns.map(|ns| text::ns(ns as f64))),
                Cell::or_dash("Of one CPU’s time", ns.map(share)),
            ];
            one.row(label, cells)
        })
    });
    Table::new("Interrupts by line", "Line", rows)
}
