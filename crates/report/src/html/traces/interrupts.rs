//! Interrupts by line: how often, and how long.

use std::collections::BTreeMap;

use swtch_trace::tables::InterruptKind;
use swtch_trace::{Trace, fields};

use super::super::charts::amounts::{self, Amount, Thing};
use super::super::page::{Cell, Figure, Section, Table};
use super::super::text;
use super::{NamedTrace, Traces};

/// Lines in a chart; the rest is summed as one.
const MOST: usize = 14;

/// Count and time, ns.
type CountAndTime = (u64, Option<u64>);

/// A line, by what it is called.
struct InterruptLine {
    label: String,
    /// For each Trace.
    figures: Vec<Option<CountAndTime>>,
}

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let intro = "Hardware interrupts stop whatever runs; soft interrupts are the work they leave for later. They are everybody’s on the \
                 machine, not only the recorded tasks’.";
    let mut section = Section::new("interrupts", "Interrupts", intro);
    let lines = lines(subjects);
    let count = |line: &InterruptLine, i: usize| line.figures[i].map(|(count, _)| count as f64);
    let time = |line: &InterruptLine, i: usize| line.figures[i].and_then(|(_, ns)| ns).map(|ns| ns as f64);
    let captions = ["How often each interrupt came.", "Time in the handlers of each interrupt."];
    let many = |value: f64| text::count(value as u64);
    section.put(figure(subjects, &lines, ("figure-interrupts", captions[0]), count, many));
    section.put(figure(subjects, &lines, ("figure-interrupt-time", captions[1]), time, text::ns));
    let has = |named: &NamedTrace| !named.trace.interrupts.is_empty();
    section.put(subjects.lacking("interrupts", |field| field.is_of(&[fields::INTERRUPTS]), has));
    let timed = |named: &NamedTrace| !has(named) || named.trace.interrupts.iter().any(|row| row.ns.is_some());
    section.put(subjects.lacking("time in interrupts", |field| field.is_of(&[fields::INTERRUPTS_NS]), timed));
    section
}

/// The sums over processors by line. Rows of single processors count where there is no row for all.
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

fn lines(subjects: Traces<'_>) -> Vec<InterruptLine> {
    let mut by_label: BTreeMap<String, Vec<Option<CountAndTime>>> = BTreeMap::new();
    for (i, named) in subjects.iter() {
        for (label, figures) in of_trace(&named.trace) {
            by_label.entry(label).or_insert_with(|| vec![None; subjects.0.len()])[i] = Some(figures);
        }
    }
    by_label.into_iter().map(|(label, figures)| InterruptLine { label, figures }).collect()
}

/// A chart of one of the two figures; nothing when no line has it.
fn figure(
    subjects: Traces<'_>,
    lines: &[InterruptLine],
    (id, caption): (&str, &str),
    value: impl Fn(&InterruptLine, usize) -> Option<f64>,
    in_words: impl Fn(f64) -> String,
) -> Option<Figure> {
    let each = 0..subjects.0.len();
    let of = |line: &InterruptLine| -> Vec<(usize, f64)> {
        each.clone().filter_map(|i| Some((i, value(line, i)?))).collect()
    };
    let sum = |line: &InterruptLine| of(line).iter().map(|(_, value)| value).sum::<f64>();
    let mut known: Vec<&InterruptLine> = lines.iter().filter(|line| !of(line).is_empty()).collect();
    known.sort_by(|a, b| sum(b).total_cmp(&sum(a)));
    let table = table(subjects, &known);
    let rest = known.split_off(known.len().min(MOST));
    let thing = |label: String, values: Vec<(usize, f64)>| {
        let bar = |(i, value): (usize, f64)| {
            let duration_ns = subjects.0[i].duration_ns();
            let every = if id == "figure-interrupts" {
                format!("{} a second", text::amount(value / (duration_ns / 1e9)))
            } else {
                format!("{} of one CPU’s time", text::percent(value / duration_ns))
            };
            let tip = vec![subjects.prefixed(i, &label), in_words(value), every];
            Amount { colour: subjects.colour(i), value, figure: in_words(value), tip }
        };
        Thing { bars: values.into_iter().map(bar).collect(), label }
    };
    let mut things: Vec<Thing> = known.iter().map(|line| thing(line.label.clone(), of(line))).collect();
    if !rest.is_empty() {
        let others = |i| (i, rest.iter().filter_map(|line| value(line, i)).sum());
        things.push(thing(format!("{} others", rest.len()), each.clone().map(others).collect()));
    }
    let figure = amounts::figure(id, caption, &format!("{caption} Bars from zero"), table, &things);
    (!things.is_empty()).then(|| figure.legend(subjects.legend()))
}

fn table(subjects: Traces<'_>, lines: &[&InterruptLine]) -> Table {
    let rows = lines.iter().flat_map(|line| {
        subjects.iter().filter_map(|(i, named)| {
            let (count, ns) = line.figures[i]?;
            let share = |ns: u64| text::percent(ns as f64 / named.duration_ns());
            let cells = vec![
                Cell::number("Count", text::count(count)),
                Cell::number("A second", text::amount(count as f64 / (named.duration_ns() / 1e9))),
                Cell::or_dash("Time", ns.map(|ns| text::ns(ns as f64))),
                Cell::or_dash("Of one CPU’s time", ns.map(share)),
            ];
            Some((i, line.label.clone(), cells))
        })
    });
    subjects.table("Interrupts by line", "Line", rows)
}
