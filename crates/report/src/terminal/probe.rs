//! What an interruption costs a program, as text.

use super::paragraph;
use crate::wording::bill::percent_range;
use crate::wording::text;
use std::path::Path;
use swtch_decide::probe::{InterruptionCost, Probe, ProbeEnded, ProgressBy};
use swtch_units::{Bytes, TextTable, format_ns};

/// What one interruption costs: the answer first, then every size, then what it rests on.
pub fn probe(probe: &Probe) -> String {
    let mut text = paragraph("", &answer(probe), 0);
    if let Some(why) = imprecise(probe) {
        text.push_str(&paragraph("", &why, 0));
    }
    text.push('\n');
    let titles =
        ["touched between", "a second", "interruption", "95 % interval", "of it, refilling", "95 % interval"];
    let mut table = TextTable::new(titles);
    for cost in &probe.interruption_ns {
        let refill = probe.refill_ns.iter().find(|refill| refill.displaced_bytes == cost.displaced_bytes);
        let median = |cost: &InterruptionCost| format_ns(cost.median);
        table.row([
            if cost.displaced_bytes == 0 {
                "nothing".to_owned()
            } else {
                Bytes::new(cost.displaced_bytes).to_string()
            },
            format!("{:.0}", cost.rate_per_s),
            median(cost),
            interval(cost),
            refill.map_or_else(String::new, median),
            refill.map_or_else(String::new, interval),
        ]);
    }
    text.push_str(&table.under("What one interruption costs the program, and what of it refills its caches"));
    text.push('\n');
    text.push_str(&paragraph("", &basis(probe), 0));
    text
}

fn program(probe: &Probe) -> String {
    let name = probe.command.first().and_then(|program| Path::new(program).file_name());
    name.map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn interval(cost: &InterruptionCost) -> String {
    text::range(&format_ns(cost.ci_low), &format_ns(cost.ci_high), ' ')
}

fn answer(probe: &Probe) -> String {
    let bare = probe.interruption_ns.iter().find(|cost| cost.displaced_bytes == 0);
    let most = probe.refill_ns.iter().max_by_key(|cost| cost.displaced_bytes);
    let costs = bare.map_or(String::new(), |cost| format_ns(cost.median));
    let refill = most.map_or(String::new(), |cost| {
        let displaced = Bytes::new(cost.displaced_bytes);
        // A figure that noise may have made is a bound.
        if cost.ci_low > 0.0 {
            format!(
                ", and {} ({}) more when {displaced} were touched meanwhile",
                format_ns(cost.median),
                interval(cost)
            )
        } else {
            format!(
                ", and at most {} more when {displaced} were touched meanwhile",
                format_ns(cost.ci_high.max(0.0))
            )
        }
    });
    format!(
        "One interruption costs {} {costs}{refill}. Its own {:.0} switches a second of CPU time take {} of that time.",
        program(probe),
        probe.switches_per_cpu_s,
        percent_range(probe.bill_share),
    )
}

/// Why the figures are wide, and what would narrow them.
fn imprecise(probe: &Probe) -> Option<String> {
    let further = format_ns(probe.further_s? * 1e9);
    let unit = match probe.progress {
        ProgressBy::Runs => "its runs differ",
        _ => "its own time varies",
    };
    let ended = match probe.ended {
        ProbeEnded::Interrupted => "the probe was interrupted",
        ProbeEnded::Precise | ProbeEnded::TimeLimit => "the time limit came first",
    };
    Some(format!(
        "The intervals are wide: {unit} too much for {} rounds, and {ended}; about {further} more would narrow them.",
        probe.rounds
    ))
}

fn basis(probe: &Probe) -> String {
    let blocks = probe
        .block_ns
        .map_or_else(|| "whole runs".to_owned(), |ns| format!("blocks of {}", format_ns(ns as f64)));
    format!(
        "On CPU {}, {} rounds of {blocks} in random order within {:.0} s, {} started; progress by {} ({:.0} a second of CPU time).",
        probe.cpu,
        probe.rounds,
        probe.elapsed_s,
        if probe.runs == 1 { "once".to_owned() } else { format!("{} times", probe.runs) },
        probe.progress.units(),
        probe.progress_per_cpu_s,
    )
}
