//! The verdict in a sentence: how much, and which task by which.

use super::{Diff, Difference};
use crate::metric::RATE;
use crate::pairs::{INTERRUPT, explaining};
use crate::verdict::{Change, Verdict};
use swtch_stats::median;
use swtch_units::{format_ns, grouped};

/// A pair explains the switches where it has at least this part of their difference.
const EXPLAINS: f64 = 0.25;
/// Figures in the sentence.
const NAMED: usize = 4;
/// Without repeats, a smaller difference is not in the sentence.
const LEAST_PLAIN: f64 = 0.01;

/// Of documents with many figures: how many of them differ, and the largest differences.
pub(super) fn answer_of_documents(diff: &Diff) -> String {
    let of = |verdict| diff.changes.iter().filter(|change| change.verdict == verdict).count();
    let would_show = visible(&diff.changes).map_or_else(String::new, |share| {
        format!(". Of those, half would show a change of {:.0} % or more", 100.0 * share)
    });
    let counts = format!(
        "{} of {} figures are worse, {} better, {} the same, {} unclear",
        of(Verdict::Worse),
        diff.changes.len(),
        of(Verdict::Better),
        of(Verdict::Same),
        of(Verdict::Unclear)
    );
    let size =
        |change: &&Change| change.ratio.filter(|ratio| *ratio > 0.0).map_or(0.0, |ratio| ratio.ln().abs());
    let differs = |change: &&Change| matches!(change.verdict, Verdict::Worse | Verdict::Better);
    let mut found: Vec<&Change> = diff.changes.iter().filter(differs).collect();
    found.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let largest: Vec<String> = found.iter().take(NAMED).map(|change| change.words()).collect();
    let most = if largest.is_empty() { String::new() } else { format!(". Most: {}", largest.join("; ")) };
    let would_show = if found.is_empty() { would_show } else { String::new() };
    format!("{}: {counts}{would_show}{most}.", capital(diff.verdict.name()))
}

/// The change that half of the figures that are unclear would show: the median of how far an end of their intervals is from the ratio.
fn visible(changes: &[Change]) -> Option<f64> {
    let widest = |change: &Change| {
        let (ratio, low, high) = (change.ratio?, change.ci_low?, change.ci_high?);
        Some((ratio / low).max(high / ratio) - 1.0)
    };
    let unclear = changes.iter().filter(|change| change.verdict == Verdict::Unclear);
    let shares: Vec<f64> = unclear.filter_map(widest).filter(|share| share.is_finite()).collect();
    (!shares.is_empty()).then(|| median(&shares))
}

pub(super) fn answer(diff: &Diff) -> String {
    let deciding: Vec<&Change> = diff.changes.iter().filter(|change| change.decides()).collect();
    let differs = |change: &&&Change| matches!(change.verdict, Verdict::Worse | Verdict::Better);
    let found: Vec<&Change> = deciding.iter().filter(differs).copied().collect();
    let list = |changes: &[&Change]| {
        let named = changes.iter().take(NAMED).map(|change| change.words()).collect::<Vec<_>>().join(", ");
        match changes.len().saturating_sub(NAMED) {
            0 => named,
            more => format!("{named}, and {more} more"),
        }
    };
    match diff.verdict {
        Verdict::Worse | Verdict::Better => {
            format!("{}: {}{}.", capital(diff.verdict.name()), list(&found), cause(diff, &found))
        }
        Verdict::Same => format!("The same: {}.", list(&deciding)),
        Verdict::Unclear if deciding.is_empty() => {
            "Unclear: the two sides share no figure that decides.".to_owned()
        }
        Verdict::Unclear if !found.is_empty() => {
            format!(
                "Unclear, because some figures are worse and others better: {}{}.",
                list(&found),
                cause(diff, &found)
            )
        }
        Verdict::Unclear => {
            let is_plain = deciding.iter().all(|change| change.p_holm.is_none());
            let matters =
                |change: &&&Change| (change.new - change.old).abs() > LEAST_PLAIN * change.old.abs();
            let plain: Vec<&Change> = deciding.iter().filter(matters).copied().collect();
            if !is_plain {
                return format!("Unclear, because like runs differ as much: {}.", list(&deciding));
            }
            let runs = diff.old.runs.min(diff.new.runs);
            let few = format!(
                "Unclear from {runs} {} of a side",
                if runs == 1 { "recording" } else { "recordings" }
            );
            let words =
                if plain.is_empty() { "no difference of 1 % or more".to_owned() } else { list(&plain) };
            format!("{few}: {words}{}.", cause(diff, &plain))
        }
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What explains the first change, after a colon; empty where nothing does.
fn cause(diff: &Diff, changes: &[&Change]) -> String {
    let Some(change) = changes.first() else { return String::new() };
    let difference = change.new - change.old;
    let metric = change.metric.trim_end_matches(RATE);
    let same_sign = |row: &&Difference| (row.difference > 0.0) == (difference > 0.0);
    let of = |row: &&Difference, wanted: &str| row.metric.trim_end_matches(RATE) == wanted;
    let rows = || diff.who.iter().filter(same_sign);
    let largest = |rows: Vec<&Difference>| {
        rows.into_iter().max_by(|a, b| a.difference.abs().total_cmp(&b.difference.abs())).cloned()
    };
    let pair = match metric {
        "switches" => {
            let of_pair =
                |row: &&Difference| ["involuntary", "wakeups", "switches"].iter().any(|name| of(row, name));
            let pairs = rows().filter(|row| row.peer.is_some() && of_pair(row));
            largest(pairs.collect()).filter(|row| row.difference.abs() >= EXPLAINS * difference.abs())
        }
        "wait.p99" => largest(rows().filter(|row| row.peer.is_some() && of(row, "wait.total")).collect()),
        _ => None,
    };
    let alone = || {
        let wanted = if metric == "elapsed" { "cpu.time" } else { metric };
        largest(
            rows().filter(|row| row.peer.is_none() && row.function.is_none() && of(row, wanted)).collect(),
        )
    };
    let row = pair.or_else(alone);
    row.map_or_else(String::new, |row| format!(": {}{}", words(&row), within(diff, &row)))
}

/// The function in which the task of a pair switches as much more often; empty where none explains it.
fn within(diff: &Diff, pair: &Difference) -> String {
    let metric = pair.metric.trim_end_matches(RATE);
    let (metric, words) = if metric == "wakeups" { ("voluntary", "which waits in") } else { (metric, "in") };
    let of_task =
        diff.who.iter().filter(|row| row.task == pair.task && row.metric.trim_end_matches(RATE) == metric);
    let functions = of_task.filter_map(|row| Some((row.function.as_deref()?, row.difference)));
    let found = explaining(pair.difference, functions).filter(|_| pair.peer.is_some());
    found.map_or_else(String::new, |function| format!(", {words} {function}"))
}

/// A difference as a clause: `worker is preempted by logger 398 times a second more`.
pub fn words(row: &Difference) -> String {
    let is_rate = row.metric.strip_suffix(RATE).is_some();
    let direction = if row.difference < 0.0 { "less" } else { "more" };
    let by_second = if is_rate { " a second" } else { "" };
    let times = || format!("{} times{by_second} {direction}", count(row.difference.abs()));
    let time = || format!("{}{by_second}", format_ns(row.difference.abs() * if is_rate { 1e9 } else { 1.0 }));
    let task = &row.task;
    let within = row.function.as_ref().map_or_else(String::new, |function| format!(" in {function}"));
    match (row.metric.trim_end_matches(RATE), &row.peer) {
        ("involuntary", Some(peer)) => format!("{task} is preempted by {} {}", other(peer, task), times()),
        ("wakeups", Some(peer)) if peer == INTERRUPT => format!("interrupts wake {task} {}", times()),
        ("wakeups", Some(peer)) => format!("{peer} wakes {} {}", other(task, peer), times()),
        ("switches", Some(peer)) => format!("{peer} preempts or wakes {} {}", other(task, peer), times()),
        ("wait.total", Some(peer)) => {
            format!("{task} waits {} {direction} behind {}", time(), other(peer, task))
        }
        ("wait.total", None) => format!("{task} waits {} {direction} for a CPU", time()),
        ("cpu.time", _) => format!("{task} takes {} {direction} CPU time", time()),
        ("voluntary", _) => format!("{task} blocks or sleeps{within} {}", times()),
        ("involuntary", _) => format!("{task} is preempted{within} {}", times()),
        ("wakeups", _) => format!("{task} is woken {}", times()),
        _ => format!("{task} switches{within} {}", times()),
    }
}

/// Tasks of the same name.
fn other(name: &str, than: &str) -> String {
    if name == than { format!("another {name}") } else { name.to_owned() }
}

fn count(value: f64) -> String {
    if value >= 9.95 { grouped(&format!("{value:.0}")) } else { format!("{value:.1}") }
}
