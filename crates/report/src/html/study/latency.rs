//! How long an inference takes: over threads, and against the switches that it makes.

use super::super::charts::lines::{Point, Series};
use super::super::charts::small_multiples::{Multiple, SmallMultiples};
use super::super::page::{Cell, Figure, Table};
use super::super::scale::{extent, ticks};
use super::super::text;
use super::Studies;
use swtch_study::model::{Estimate, Summary};

/// Summaries that differ in nothing but threads, by them.
struct Way<'a> {
    /// What they have in common, in words.
    label: String,
    summaries: Vec<&'a Summary>,
}

fn ways<'a>(summaries: &[&'a Summary]) -> Vec<Way<'a>> {
    let mut found: Vec<Way<'a>> = Vec::new();
    for summary in summaries {
        let belongs =
            |way: &&mut Way<'_>| way.summaries[0].settings.differs_in_threads_only(&summary.settings);
        if let Some(way) = found.iter_mut().find(belongs) {
            way.summaries.push(summary);
            continue;
        }
        let words = summary.settings.words();
        let label = words.split_once(", ").map_or(&*words, |(_, rest)| rest).to_owned();
        found.push(Way { label, summaries: vec![summary] });
    }
    for way in &mut found {
        way.summaries.sort_by_key(|summary| summary.settings.threads);
    }
    found
}

/// Latency over threads, a line for each way to wait.
pub(super) fn over_threads(
    subjects: Studies<'_>,
    index: usize,
    summaries: &[&Summary],
    id: &str,
) -> Option<Figure> {
    let mut ways = ways(summaries);
    ways.retain(|way| way.summaries.len() > 1);
    let mut threads: Vec<u32> =
        ways.iter().flat_map(|way| &way.summaries).map(|summary| summary.settings.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    if threads.len() < 2 {
        return None;
    }
    let caption = "Median time of an inference over the number of threads.";
    let mut table = Table::new(caption, "Settings");
    let x_ticks = threads.iter().map(|threads| (f64::from(*threads), threads.to_string())).collect();
    let series = series(subjects, index, &ways, |summary| {
        let latency = summary.latency_p50_ns?;
        table.row(summary.settings.words(), cells(&latency).into());
        Some((f64::from(summary.settings.threads), summary.settings.words()))
    });
    Some(figure(format!("figure-latency-{id}"), caption, table, series, (x_ticks, "threads")))
}

/// Latency against switches, a point for each setting; those that differ in threads only are joined.
pub(super) fn against_switches(
    subjects: Studies<'_>,
    index: usize,
    summaries: &[&Summary],
    id: &str,
) -> Option<Figure> {
    let caption =
        "Median time of an inference against the switches that it makes, voluntary and involuntary.";
    let mut table = Table::new(caption, "Settings");
    let series = series(subjects, index, &ways(summaries), |summary| {
        let latency = summary.latency_p50_ns?;
        let switches = summary.voluntary_per_inference?.median + summary.involuntary_per_inference?.median;
        // A logarithm takes no 0.
        if switches <= 0.0 {
            return None;
        }
        let words = text::amount(switches);
        let [median, interval] = cells(&latency);
        let cells = vec![Cell::sorted("Switches", words.clone(), switches), median, interval];
        table.row(summary.settings.words(), cells);
        Some((switches, format!("{}: {words} switches", summary.settings.words())))
    });
    let points = || series.iter().flat_map(|series| &series.points);
    if points().count() < 2 {
        return None;
    }
    let domain = extent(points().map(|point| point.x))?;
    let x_ticks = ticks(domain, 7).into_iter().map(|tick| (tick, text::amount(tick))).collect();
    let id = format!("figure-latency-switches-{id}");
    Some(figure(id, caption, table, series, (x_ticks, "switches for each inference")))
}

fn cells(latency: &Estimate) -> [Cell; 2] {
    [
        Cell::sorted("Median", text::ns(latency.median), latency.median),
        Cell::text("Interval", text::ns_range(latency.ci_low, latency.ci_high)),
    ]
}

/// A line for each way; `place` says where on the x axis a summary is, and what it is called.
fn series(
    subjects: Studies<'_>,
    index: usize,
    ways: &[Way<'_>],
    mut place: impl FnMut(&Summary) -> Option<(f64, String)>,
) -> Vec<Series> {
    let mut found = Vec::new();
    for (number, way) in ways.iter().enumerate() {
        let points = way.summaries.iter().filter_map(|summary| {
            let (x, name) = place(summary)?;
            let latency = summary.latency_p50_ns?;
            let interval = text::ns_range(latency.ci_low, latency.ci_high);
            Some(Point::new(x, &latency, vec![name, text::ns(latency.median), interval]))
        });
        let mut look = subjects.look(index, number);
        look.colour = index + number;
        found.push(Series { look, label: way.label.clone(), points: points.collect() });
    }
    found.retain(|series| !series.points.is_empty());
    found
}

fn figure(
    id: String,
    caption: &str,
    table: Table,
    series: Vec<Series>,
    (x_ticks, x_name): (Vec<(f64, String)>, &str),
) -> Figure {
    let plots = vec![Multiple { title: String::new(), series }];
    let chart = SmallMultiples { plots, x_ticks, x_name, y_tick: text::ns_tick, label: caption.to_owned() };
    chart.figure(id, caption, table).legend(chart.legend())
}
