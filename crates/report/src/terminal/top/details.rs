//! All there is to know about one line of the table.

use super::cells::{UNKNOWN, percent, printable, rate, some_time, time};
use super::header::{Pieces, Tone};
use super::rates::{Behind, TaskPair, TopRow};
use super::window::{CostSource, Window};
use swtch_trace::fields::PREEMPTIONS;
use swtch_trace::model::Unavailable;

/// The lines about a row of the last window.
pub(super) fn details(row: &TopRow, window: &Window) -> Vec<Pieces> {
    let mut lines = vec![vec![(title(row), Tone::Strong)], Vec::new()];
    let mut put = |name: &str, value: String| {
        lines.push(vec![(format!("{name:<14}"), Tone::Quiet), (value, Tone::Plain)]);
    };
    let rates = &row.rates;
    put("cgroup", row.cgroup.as_deref().map_or_else(|| "not known".to_owned(), printable));
    if let Some(name) = row.cgroup_name.as_ref().filter(|name| row.cgroup.as_ref() != Some(name)) {
        put("which is", printable(name));
    }
    put(
        "switches",
        format!(
            "{}/s: {} voluntary, {} involuntary",
            rate(Some(rates.switches_per_s())),
            rate(Some(rates.voluntary_per_s)),
            rate(Some(rates.involuntary_per_s))
        ),
    );
    put("switch cost", cost(row, window));
    put("runs", format!("{} % of a CPU", percent(Some(rates.cpu_share))));
    let known = |ns: Option<u64>| some_time(ns, UNKNOWN);
    let bound = if row.tasks > 1 { "at most " } else { "" };
    put(
        "waits to run",
        rates
            .wait_share
            .map_or_else(|| UNKNOWN.to_owned(), |share| format!("{} ms/s", rate(Some(1000.0 * share)))),
    );
    put(
        "one wait",
        format!(
            "p50 {}  p90 {}  p99 {bound}{}  longest {}",
            known(rates.wait_p50_ns),
            known(rates.wait_p90_ns),
            known(rates.wait_p99_ns),
            known(rates.wait_max_ns)
        ),
    );
    put("woken", format!("{}/s", rate(rates.wakeups_per_s)));
    put("migrates", format!("{}/s", rate(rates.migrations_per_s)));
    lines.push(Vec::new());
    lines.extend(listed("Waits behind", row.behind.as_deref().map(behind), "nothing since the last update"));
    lines.extend(pairs("Preempted by", row.preempted_by.as_deref(), "no task since the last update"));
    lines.extend(pairs("Woken by", row.woken_by.as_deref(), "only interrupts since the last update"));
    let reason = Unavailable::reason_in(&window.unavailable, &PREEMPTIONS);
    if let (None, Some(reason)) = (&row.preempted_by, reason) {
        lines.push(vec![(reason.to_owned(), Tone::Quiet)]);
    }
    lines
}

fn title(row: &TopRow) -> String {
    let name = printable(row.title());
    let name = if row.ended { format!("{name} (exited; as last seen)") } else { name };
    match (row.tid, row.pid) {
        (Some(tid), Some(pid)) if tid != pid => format!("{name}, task {tid} of process {pid}"),
        (Some(tid), _) => format!("{name}, task {tid}"),
        (None, Some(pid)) => format!("{name}, process {pid}, {} tasks", row.tasks),
        (None, None) => format!("{name}, cgroup, {} tasks", row.tasks),
    }
}

fn cost(row: &TopRow, window: &Window) -> String {
    let Some(share) = row.rates.cost_share else {
        return "unknown: no Profile; 'swtch measure' makes one".to_owned();
    };
    let each = row.rates.cost_ns.map_or_else(String::new, |each| format!(", {} a switch", each.words(time)));
    let how = match window.cost_source {
        CostSource::InPlace => "measured in place",
        _ => "by this machine's Profile",
    };
    format!("{} % of a CPU{each}, {how}", share.words(|share| percent(Some(share))))
}

/// What had the CPU while a row waited, each with its share of the waiting.
fn behind(parts: &[Behind]) -> Vec<String> {
    let all: f64 = parts.iter().map(|part| part.wait_share).sum();
    let words = |part: &Behind| {
        let share = 100.0 * part.wait_share / all.max(f64::MIN_POSITIVE);
        format!("{} {share:.0} %, {} ms/s", printable(part.name()), rate(Some(1000.0 * part.wait_share)))
    };
    parts.iter().map(words).collect()
}

fn pairs(heading: &str, pairs: Option<&[TaskPair]>, none: &str) -> Vec<Pieces> {
    let words = |pair: &TaskPair| {
        let waited = pair.wait_share.map_or_else(String::new, |share| {
            format!(", for which it waited {} ms/s", rate(Some(1000.0 * share)))
        });
        format!("{} ({}) {}/s{waited}", printable(&pair.comm), pair.tid, rate(Some(pair.per_s)))
    };
    listed(heading, pairs.map(|pairs| pairs.iter().map(words).collect()), none)
}

/// A line for each text, the first one behind `heading`.
fn listed(heading: &str, texts: Option<Vec<String>>, none: &str) -> Vec<Pieces> {
    let mut texts = texts.unwrap_or_else(|| vec![UNKNOWN.to_owned()]);
    if texts.is_empty() {
        texts.push(none.to_owned());
    }
    let headings = std::iter::once(heading).chain(std::iter::repeat(""));
    let line = |(text, heading)| vec![(format!("{heading:<14}"), Tone::Quiet), (text, Tone::Plain)];
    texts.into_iter().zip(headings).map(line).collect()
}
