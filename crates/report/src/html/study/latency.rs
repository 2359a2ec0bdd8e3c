//! How long an inference takes: over threads, and against the switches that it makes.

use swtch_study::Study;
use swtch_study::model::Summary;

use crate::html::prelude::*;

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
pub(super) fn over_threads(one: One<'_, Study>, summaries: &[&Summary], id: &str) -> Option<Figure> {
    let caption = "Median time of an inference over the number of threads.";
    let mut ways = ways(summaries);
    ways.retain(|way| way.summaries.len() > 1);
    let threads = ways.iter().flat_map(|way| &way.summaries).map(|summary| summary.settings.threads);
    if distinct(threads).len() < 2 {
        return None;
    }
    let chart = SmallMultiples::new(("threads", |threads| threads.to_string()), text::ns_tick);
    let place = |summary: &Summary| Some((f64::from(summary.settings.threads), None));
    figure(one, &ways, chart, place, (format!("figure-latency-{id}"), caption))
}

/// Latency against switches, a point for each setting; those that differ in threads only are joined.
pub(super) fn against_switches(one: One<'_, Study>, summaries: &[&Summary], id: &str) -> Option<Figure> {
    let caption =
        "Median time of an inference against the switches that it makes, voluntary and involuntary.";
    let chart = SmallMultiples::new(("switches for each inference", text::amount), text::ns_tick).round_x();
    let place = |summary: &Summary| {
        let switches = summary.voluntary_per_inference?.median + summary.involuntary_per_inference?.median;
        // A logarithm takes no 0.
        (switches > 0.0).then(|| (switches, Some(text::amount(switches))))
    };
    figure(one, &ways(summaries), chart, place, (format!("figure-latency-switches-{id}"), caption))
}

/// A line for each way; `place` says where on the x axis a summary is, and how many switches that is. Nothing for a single point.
fn figure(
    one: One<'_, Study>,
    ways: &[Way<'_>],
    mut chart: SmallMultiples<'_>,
    place: impl Fn(&Summary) -> Option<(f64, Option<String>)>,
    (id, caption): (String, &str),
) -> Option<Figure> {
    let mut rows = Vec::new();
    for (number, way) in ways.iter().enumerate() {
        let look = Look { colour: one.index + number, ..one.look(number) };
        for summary in &way.summaries {
            let Some((latency, (x, switches))) = summary.latency_p50_ns.zip(place(summary)) else { continue };
            let settings = summary.settings.words();
            let interval = text::ns_range(latency.ci_low, latency.ci_high);
            let mut cells = vec![
                Cell::sorted("Median", text::ns(latency.median), latency.median),
                Cell::text("Interval", interval.clone()),
            ];
            let mut name = settings.clone();
            if let Some(switches) = switches {
                name = format!("{settings}: {switches} switches");
                cells.insert(0, Cell::sorted("Switches", switches, x));
            }
            rows.push(TableRow::new(settings, cells));
            let point = Point::new(x, &latency, vec![name, text::ns(latency.median), interval]);
            chart.point("", (look, &way.label), point);
        }
    }
    let several = rows.len() > 1;
    several.then(|| Figure::new(id, caption, caption, Table::new(caption, "Settings", rows), &chart))
}
