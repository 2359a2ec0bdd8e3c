//! Rates, CPU time and tasks over time.

use swtch_trace::fields;
use swtch_trace::model::Scope;
use swtch_trace::tables::IntervalRow;

use super::{PricedTrace, Traces, timeline};
use crate::html::prelude::*;
use crate::intervals::{Metric, MetricKind, RATES, TASKS, TIMES};

/// A chart: its id, its caption, and what it shows.
const CHARTS: [(&str, &str, &[Metric]); 3] = [
    (
        "figure-rates",
        "Switches, wake-ups and migrations by the second. A voluntary switch is a task that waits for something; an \
         involuntary one a task that could have gone on.",
        RATES,
    ),
    ("figure-cpu-time", "Time on CPUs: 1 is one CPU kept busy all the time.", TIMES),
    ("figure-tasks-over-time", "Threads and processes that exist at the end of each interval.", TASKS),
];

/// A Trace and its intervals, at most as many as a chart has room for.
type Points<'a> = (One<'a, PricedTrace>, Vec<IntervalRow>);

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let points: Vec<Points<'_>> =
        subjects.iter().map(|one| (one, timeline::points(&one.of.trace.intervals))).collect();
    let has = |priced: &PricedTrace| !priced.trace.intervals.is_empty();
    Section::bare("over-time", "Over time")
        .put(
            CHARTS
                .iter()
                .filter_map(|(id, caption, metrics)| figure(subjects, &points, id, caption, metrics)),
        )
        .put(subjects.lacking("figures over time", &[fields::INTERVALS], has))
}

fn figure(
    subjects: Traces<'_>,
    points: &[Points<'_>],
    id: &str,
    caption: &str,
    metrics: &[Metric],
) -> Option<Figure> {
    let known =
        |metric: &&Metric| points.iter().flat_map(|(_, rows)| rows).any(|row| metric.value(row).is_some());
    let (shown, absent): (Vec<&Metric>, Vec<&Metric>) = metrics.iter().partition(known);
    if shown.is_empty() {
        return None;
    }
    let panels = shown.iter().enumerate().map(|(i, metric)| panel(points, metric, i)).collect();
    let chart = TimeSeries { panels, spans: spans(points, &shown) };
    let together = points.iter().any(|(one, points)| {
        one.of.trace.intervals.iter().filter(|row| row.cpu.is_none()).count() > points.len() + 1
    });
    let others = id == "figure-cpu-time" && subjects.any(times_of_others);
    let absent: Vec<String> = absent.iter().map(|metric| metric.unit.to_owned()).collect();
    let absent = (!absent.is_empty()).then(|| format!("Not recorded over time: {}.", text::joined(&absent)));
    let label = format!("{caption} One plot each, over time");
    let figure = Figure::new(id, caption, &label, table(points, &shown), &chart).legend(subjects.legend());
    Some(
        figure
            .notes(
                together.then_some(
                    "Neighbouring intervals are summed, so that the chart has at most 400 of them.",
                ),
            )
            .notes(others.then_some(OF_OTHERS))
            .notes(absent),
    )
}

const OF_OTHERS: &str = "CPUs in use are the recorded tasks’; in programs, in the kernel, in interrupts, taken and idle, they are the whole machine’s.";

/// Whether times are the whole machine's, though it was not recorded as a whole.
fn times_of_others(priced: &PricedTrace) -> bool {
    let header = &priced.trace.header;
    let source = header.sources.get("intervals.user_ns");
    header.scope != Scope::Machine && source.is_some_and(|from| from.contains("whole machine"))
}

fn panel(points: &[Points<'_>], metric: &Metric, series: usize) -> Panel {
    let step = |row: &IntervalRow| Step {
        from: row.at_ns as f64,
        to: (row.at_ns + row.length_ns) as f64,
        value: metric.value(row),
    };
    let curves = points.iter().map(|(one, rows)| Curve {
        colour: one.look(series).class(),
        steps: rows.iter().map(step).collect(),
    });
    let least = match metric.kind {
        MetricKind::Level => 1.0,
        MetricKind::Rate | MetricKind::Cpus => 0.1,
        MetricKind::Share => 0.01,
    };
    Panel { title: metric.title, curves: curves.collect(), least }
}

/// What was the case when. The longest run's intervals divide the axis; in each, every Trace says what it had in its middle.
fn spans(points: &[Points<'_>], shown: &[&Metric]) -> Vec<Span> {
    let end = |(_, rows): &&Points<'_>| rows.last().map_or(0, |row| row.at_ns + row.length_ns);
    let Some((_, longest)) = points.iter().max_by_key(end) else { return Vec::new() };
    let span = |row: &IntervalRow| {
        let (from, to) = (row.at_ns, row.at_ns + row.length_ns);
        let mut tip = vec![format!("{} to {}", text::moment(from as f64), text::moment(to as f64))];
        for (one, rows) in points {
            let Some(row) = at(rows, from + row.length_ns / 2) else { continue };
            let phrases = shown.iter().filter_map(|metric| Some(metric.phrase(metric.value(row)?)));
            match one.name() {
                Some(name) => tip.push(format!("{name}: {}", phrases.collect::<Vec<_>>().join(", "))),
                None => tip.extend(phrases),
            }
        }
        Span { from: from as f64, to: to as f64, tip }
    };
    longest.iter().map(span).collect()
}

/// The interval of a time.
fn at(rows: &[IntervalRow], at_ns: u64) -> Option<&IntervalRow> {
    let row = &rows[rows.partition_point(|row| row.at_ns <= at_ns).checked_sub(1)?];
    (at_ns < row.at_ns + row.length_ns).then_some(row)
}

fn table(points: &[Points<'_>], shown: &[&Metric]) -> Table {
    let rows = points.iter().flat_map(|(one, rows)| {
        let row = move |row: &IntervalRow| {
            let to = Cell::number("To", text::moment((row.at_ns + row.length_ns) as f64));
            let cells = shown.iter().map(|metric| {
                Cell::or_dash(metric.column(), metric.value(row).map(|value| metric.figure(value)))
            });
            one.row(text::moment(row.at_ns as f64), [to].into_iter().chain(cells).collect())
        };
        rows.iter().map(row)
    });
    Table::new("The intervals", "From", rows)
}
