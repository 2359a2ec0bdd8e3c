//! The answer: what to change, and the figures that matter most.

use super::super::page::Section;
use super::super::subjects::KeyFigure;
use super::super::text;
use super::{NamedStudy, Studies};
use std::collections::BTreeSet;
use swtch_study::model::{Advice, Outcome, Summary};

/// Sentences at the top; the others are in the section.
const AT_TOP: usize = 2;
/// With fewer runs settings are not compared.
const LEAST_RUNS: u32 = 3;

/// What can explain the figures of a study, then what its search found or its first advice, or what its models do without any.
pub(super) fn sentences(named: &NamedStudy) -> Vec<String> {
    let study = &named.study;
    let mut sentences = Vec::from_iter(named.interference());
    sentences.extend(study.undecided.iter().cloned());
    let tuned = study.tuned.as_ref().filter(|_| !named.is_older());
    sentences.extend(tuned.map(|tuned| tuned.text.clone()));
    if study.advice.is_empty() && tuned.is_none() {
        sentences.push(plainly(named));
    }
    sentences.extend(study.advice.iter().take(AT_TOP).map(advised));
    sentences
}

fn advised(advice: &Advice) -> String {
    format!("{}: {}", advice.workload.name, advice.text)
}

fn plainly(named: &NamedStudy) -> String {
    let switches = |summary: &Summary| {
        Some(summary.voluntary_per_inference?.median + summary.involuntary_per_inference?.median)
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
    let intro = "Each from runs that took turns; the chance that a study of alike settings gives any advice is at most the level that is named.";
    let mut section = Section::new("advice", "What to change", intro);
    for (i, named) in subjects.iter() {
        for advice in &named.study.advice {
            section.say(subjects.prefixed(i, &advised(advice)));
        }
    }
    section.unless_empty()
}

/// The key figures.
pub(super) const TILES: [KeyFigure<NamedStudy>; 4] = [
    ("Models run", "to their end", models),
    ("Most memory", "resident, of one process", memory),
    ("Most preempted", "involuntary switches for each inference", preempted),
    ("Recording costs", "throughput lost to the recorder", overhead),
];

fn models(named: &NamedStudy) -> (Option<String>, String) {
    let runs = &named.study.runs;
    let complete = || runs.iter().filter(|run| run.outcome == Outcome::Complete);
    let detail = format!("{} runs, {} not complete", runs.len(), runs.len() - complete().count());
    let complete: BTreeSet<_> = complete().map(|run| &run.workload).collect();
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
