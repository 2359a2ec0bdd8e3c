//! The answer: what to change, and the figures that matter most.

use super::super::page::{Block, Section, Sentence, Tile, TileValue};
use super::super::text;
use super::{NamedStudy, Studies};
use swtch_study::model::{Outcome, Summary};

/// Sentences at the top; the others are in the section.
const AT_TOP: usize = 2;
/// With fewer runs settings are not compared.
const LEAST_RUNS: u32 = 3;

/// What can explain the figures of each study, then what its search found or its first advice, or what its models do without any.
pub(super) fn sentences(subjects: Studies<'_>) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for (i, named) in subjects.iter() {
        let mut say = |text: String| sentences.push(Sentence { profile: subjects.name(i), text });
        let tuned = named.study.tuned.as_ref().filter(|_| !named.is_older());
        let found = tuned.map(|tuned| tuned.text.clone());
        let first = named.interference().into_iter().chain(named.study.undecided.iter().cloned());
        first.chain(found).for_each(&mut say);
        let advice = &named.study.advice;
        if advice.is_empty() && tuned.is_none() {
            say(plainly(named));
        }
        for advice in advice.iter().take(AT_TOP) {
            let text = format!("{}: {}", advice.workload.name, advice.text);
            sentences.push(Sentence { profile: subjects.name(i), text });
        }
    }
    sentences
}

fn plainly(named: &NamedStudy) -> String {
    let switches = |summary: &Summary| {
        let median =
            |estimate: Option<swtch_study::model::Estimate>| estimate.map(|estimate| estimate.median);
        Some(median(summary.voluntary_per_inference)? + median(summary.involuntary_per_inference)?)
    };
    let best = named.chosen();
    let most = best
        .iter()
        .filter_map(|summary| Some((summary, switches(summary)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1));
    match most {
        Some((summary, switches)) => {
            let others = if best.len() > 1 { ", more than the other models here" } else { "" };
            format!(
                "{} makes {} context switches for each inference with {}{others}.{}",
                summary.workload.name,
                text::amount(switches),
                summary.settings.words(),
                no_advice(named)
            )
        }
        None => {
            "No run is complete, or nothing of it could be recorded; the table of runs says why.".to_owned()
        }
    }
}

/// That settings were compared in vain, where they were.
fn no_advice(named: &NamedStudy) -> &'static str {
    let several = |summary: &Summary| named.chosen().iter().all(|chosen| chosen.settings != summary.settings);
    let compared = named.study.undecided.is_empty() && named.study.summaries.iter().any(several);
    let repeated =
        named.study.summaries.iter().all(|summary| summary.runs >= LEAST_RUNS && summary.disturbed == 0);
    if compared && repeated && !named.is_older() {
        " No difference between settings passed the test at the 5 % level."
    } else {
        ""
    }
}

/// Everything there is to change.
pub(super) fn advice(subjects: Studies<'_>) -> Option<Section> {
    if subjects.iter().all(|(_, named)| named.study.advice.is_empty()) {
        return None;
    }
    let mut blocks = vec![Block::paragraph(
        "Each from runs that took turns; the chance that a study of alike settings gives any advice is at most the level that is named.",
    )];
    for (i, named) in subjects.iter() {
        for advice in &named.study.advice {
            let text = format!("{}: {}", advice.workload.name, advice.text);
            blocks.push(Block::paragraph(subjects.prefixed(i, &text)));
        }
    }
    Some(Section { id: "advice", title: "What to change", blocks })
}

/// The key figures.
pub(super) fn tiles(subjects: Studies<'_>) -> Vec<Tile> {
    let tile = |label: &str, meaning: &str, value: &dyn Fn(&NamedStudy) -> (Option<String>, String)| Tile {
        label: label.to_owned(),
        values: subjects
            .iter()
            .map(|(i, named)| {
                let (value, detail) = value(named);
                TileValue { profile: subjects.name(i), value, detail }
            })
            .collect(),
        meaning: meaning.to_owned(),
    };
    vec![
        tile("Models run", "to their end", &models),
        tile("Most memory", "resident, of one process", &memory),
        tile("Most preempted", "involuntary switches for each inference", &preempted),
        tile("Recording costs", "throughput lost to the recorder", &overhead),
    ]
}

fn models(named: &NamedStudy) -> (Option<String>, String) {
    let complete: std::collections::BTreeSet<_> = named
        .study
        .runs
        .iter()
        .filter(|run| run.outcome == Outcome::Complete)
        .map(|run| &run.workload)
        .collect();
    let failed = named.study.runs.iter().filter(|run| run.outcome != Outcome::Complete).count();
    let detail = format!("{} runs, {failed} not complete", named.study.runs.len());
    (Some(complete.len().to_string()), detail)
}

fn memory(named: &NamedStudy) -> (Option<String>, String) {
    let largest = named.study.runs.iter().max_by_key(|run| run.peak_rss_bytes);
    match largest.and_then(|run| Some((run, run.peak_rss_bytes?))) {
        Some((run, bytes)) => (Some(text::bytes(bytes)), run.workload.name.clone()),
        None => (None, "not known of any run".to_owned()),
    }
}

fn preempted(named: &NamedStudy) -> (Option<String>, String) {
    let figures = named
        .study
        .summaries
        .iter()
        .filter_map(|summary| Some((summary, summary.involuntary_per_inference?.median)));
    match figures.max_by(|one, other| one.1.total_cmp(&other.1)) {
        Some((summary, most)) => {
            (Some(text::amount(most)), format!("{}, {}", summary.workload.name, summary.settings.words()))
        }
        None => (None, "nothing was recorded".to_owned()),
    }
}

fn overhead(named: &NamedStudy) -> (Option<String>, String) {
    match &named.study.recording_overhead {
        Some(overhead) => {
            let ratio = overhead.throughput_ratio;
            let lost = |ratio: f64| text::percent(1.0 - ratio);
            let detail = format!(
                "{} to {}, {} pairs of stretches",
                lost(ratio.ci_high),
                lost(ratio.ci_low),
                overhead.pairs
            );
            (Some(lost(ratio.median)), detail)
        }
        None => (None, "not tried; swtch ai run --check-overhead does".to_owned()),
    }
}
