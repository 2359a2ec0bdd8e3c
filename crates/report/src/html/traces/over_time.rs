//! Rates, processor time and tasks over time.

use swtch_trace::fields;
use swtch_trace::model::Scope;
use swtch_trace::tables::IntervalRow;

use super::super::charts::time_series::{Curve, Panel, Span, Step, TimeSeries};
use super::super::page::{Cell, Figure, Section, Table};
use super::super::text;
use super::{Traces, timeline};
use crate::intervals::{Metric, MetricKind, RATES, TASKS, TIMES};

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let points: Vec<Vec<IntervalRow>> =
        subjects.iter().map(|(_, named)| timeline::points(&named.trace.intervals)).collect();
    let charts: [(&'static str, &str, &[Metric]); 3] = [
        (
            "rates",
            "Switches, wake-ups and migrations by the second. A voluntary switch is a task that waits for something; an \
             involuntary one a task that could have gone on.",
            RATES,
        ),
        ("cpu-time", "Time on CPUs: 1 is one CPU kept busy all the time.", TIMES),
        ("tasks-over-time", "Threads and processes that exist at the end of each interval.", TASKS),
    ];
    let mut section = Section::bare("over-time", "Over time");
    for (id, caption, metrics) in charts {
        section.put(figure(subjects, &points, id, caption, metrics));
    }
    let has = |named: &super::NamedTrace| !named.trace.intervals.is_empty();
    section.put(subjects.lacking("figures over time", |field| field.is_of(&[fields::INTERVALS]), has));
    section
}

fn figure(
    subjects: Traces<'_>,
    points: &[Vec<IntervalRow>],
    id: &str,
    caption: &str,
    metrics: &[Metric],
) -> Option<Figure> {
    let known = |metric: &&Metric| points.iter().flatten().any(|row| metric.value(row).is_some());
    let shown: Vec<&Metric> = metrics.iter().filter(known).collect();
    if shown.is_empty() {
        return None;
    }
    let chart = TimeSeries {
        panels: shown.iter().enumerate().map(|(i, metric)| panel(subjects, points, metric, i)).collect(),
        spans: spans(subjects, points, &shown),
        label: format!("{caption} One plot each, over time"),
    };
    let mut figure = Figure::new(format!("figure-{id}"), caption, table(subjects, points, &shown), |size| {
        chart.draw(size)
    })
    .legend(subjects.legend());
    let together = subjects.iter().zip(points).find(|((_, named), points)| {
        named.trace.intervals.iter().filter(|row| row.cpu.is_none()).count() > points.len() + 1
    });
    if together.is_some() {
        figure = figure.note("Neighbouring intervals are summed, so that the chart has at most 400 of them.");
    }
    let others = |named: &super::NamedTrace| {
        named.trace.header.scope != Scope::Machine
            && named
                .trace
                .header
                .sources
                .get("intervals.user_ns")
                .is_some_and(|from| from.contains("whole machine"))
    };
    if id == "cpu-time" && subjects.iter().any(|(_, named)| others(named)) {
        figure = figure.note(
            "CPUs in use are the recorded tasks’; in programs, in the kernel, in interrupts, taken and idle, they are the whole machine’s.",
        );
    }
    let absent: Vec<String> =
        metrics.iter().filter(|metric| !known(metric)).map(|metric| metric.unit.to_owned()).collect();
    if !absent.is_empty() {
        figure = figure.note(format!("Not recorded over time: {}.", text::joined(&absent)));
    }
    Some(figure)
}

fn panel(subjects: Traces<'_>, points: &[Vec<IntervalRow>], metric: &Metric, series: usize) -> Panel {
    let curves = points.iter().enumerate().map(|(i, rows)| Curve {
        colour: subjects.look(i, series).class(),
        steps: rows
            .iter()
            .map(|row| Step {
                from: row.at_ns as f64,
                to: (row.at_ns + row.length_ns) as f64,
                value: metric.value(row),
            })
            .collect(),
    });
    let least = match metric.kind {
        MetricKind::Level => 1.0,
        MetricKind::Rate | MetricKind::Cpus => 0.1,
        MetricKind::Share => 0.01,
    };
    Panel { title: metric.title, curves: curves.collect(), least }
}

/// What was the case when. The longest run's intervals divide the axis; in each, every Trace says what it had in its middle.
fn spans(subjects: Traces<'_>, points: &[Vec<IntervalRow>], shown: &[&Metric]) -> Vec<Span> {
    let end = |rows: &&Vec<IntervalRow>| rows.last().map_or(0, |row| row.at_ns + row.length_ns);
    let Some(longest) = points.iter().max_by_key(end) else { return Vec::new() };
    longest
        .iter()
        .map(|row| {
            let (from, to) = (row.at_ns, row.at_ns + row.length_ns);
            let middle = from + row.length_ns / 2;
            let mut tip = vec![format!("{} to {}", text::moment(from as f64), text::moment(to as f64))];
            for (i, rows) in points.iter().enumerate() {
                let Some(row) = at(rows, middle) else { continue };
                let phrases: Vec<String> = shown
                    .iter()
                    .filter_map(|metric| metric.value(row).map(|value| metric.phrase(value)))
                    .collect();
                match subjects.name(i) {
                    Some(name) => tip.push(format!("{name}: {}", phrases.join(", "))),
                    None => tip.extend(phrases),
                }
            }
            Span { from: from as f64, to: to as f64, tip }
        })
        .collect()
}

/// The interval that a moment lies in.
fn at(rows: &[IntervalRow], at_ns: u64) -> Option<&IntervalRow> {
    let row = &rows[rows.partition_point(|row| row.at_ns <= at_ns).checked_sub(1)?];
    (at_ns < row.at_ns + row.length_ns).then_some(row)
}

fn table(subjects: Traces<'_>, points: &[Vec<IntervalRow>], shown: &[&Metric]) -> Table {
    let rows = points.iter().enumerate().flat_map(|(i, rows)| {
        let row = move |row: &IntervalRow| {
            let mut cells = vec![Cell::number("To", text::moment((row.at_ns + row.length_ns) as f64))];
            let cell = |metric: &&Metric| {
                Cell::or_dash(metric.column(), metric.value(row).map(|v| metric.figure(v)))
            };
            cells.extend(shown.iter().map(cell));
            (i, text::moment(row.at_ns as f64), cells)
        };
        rows.iter().map(row)
    });
    subjects.table("The intervals", "From", rows)
}
