//! The answer: what to change, and the figures that matter most.

use std::collections::BTreeSet;

use swtch_study::Study;
use swtch_study::model::{Advice, Summary};

use super::{Studies, interference};
use crate::html::prelude::*;

/// Sentences at the top; the others are in the section.
const AT_TOP: usize = 2;
/// With fewer runs settings are not compared.
const LEAST_RUNS: u32 = 3;

/// What can explain the figures of a study, then what its search found or its first advice, or what its models do without any.
pub(super) fn sentences(study: &Study) -> Vec<String> {
    let mut sentences = Vec::from_iter(interference(study));
    sentences.extend(study.undecided.iter().cloned());
    let tuned = study.tuned.as_ref().filter(|_| !study.is_older());
    sentences.extend(tuned.map(|tuned| tuned.text.clone()));
    if study.advice.is_empty() && tuned.is_none() {
        sentences.push(plainly(study));
    }
    sentences.extend(study.advice.iter().take(AT_TOP).map(advised));
    sentences
}

fn advised(advice: &Advice) -> String {
    format!("{}: {}", advice.workload.name, advice.text)
}

fn plainly(study: &Study) -> String {
    let switches = |summary: &Summary| {
        Some(summary.voluntary_per_inference?.median + summary.involuntary_per_inference?.median)
    };
    let best = study.chosen();
    let Some((summary, switches)) = largest(best.iter().copied(), switches) else {
        return "No run is complete, or nothing of it could be recorded; the table of runs says why."
            .to_owned();
    };
    format!(
        "{} makes {} context switches for each inference with {}{}.{}",
        summary.workload.name,
        text::amount(switches),
        summary.settings.words(),
        if best.len() > 1 { ", more than the other models here" } else { "" },
        no_advice(study)
    )
}

/// That settings were compared in vain, where they were.
fn no_advice(study: &Study) -> &'static str {
    let several = |summary: &Summary| study.chosen().iter().all(|chosen| chosen.settings != summary.settings);
    let compared = study.undecided.is_empty() && study.summaries.iter().any(several);
    let repeated = study.summaries.iter().all(|summary| summary.runs >= LEAST_RUNS && summary.disturbed == 0);
    if compared && repeated && !study.is_older() {
        " No difference between settings passed the test at the 5 % level."
    } else {
        ""
    }
}

/// Everything there is to change.
pub(super) fn advice(subjects: Studies<'_>) -> Option<Section> {
    let intro = "Each from runs that took turns; the chance that a study of alike settings gives any advice is at most the level that is named.";
    let sentences = subjects.each(|study| &study.advice).map(|(one, advice)| one.prefixed(&advised(advice)));
    Section::new("advice", "What to change", intro).put(sentences).unless_empty()
}

/// The key figures.
pub(super) const TILES: [KeyFigure<Study>; 4] = [
    ("Models run", "to their end", |study| {
        let (all, complete) = (study.runs.len(), study.complete().count());
        let models: BTreeSet<_> = study.complete().map(|run| &run.workload).collect();
        Ok((models.len().to_string(), format!("{all} runs, {} not complete", all - complete)))
    }),
    ("Most memory", "resident, of one process", |study| {
        let largest = study.runs.iter().max_by_key(|run| run.peak_rss_bytes);
        let known =
            largest.and_then(|run| Some((text::bytes(run.peak_rss_bytes?), run.workload.name.clone())));
        known.ok_or_else(|| "not known of any run".to_owned())
    }),
    ("Most preempted", "involuntary switches for each inference", |study| {
        let involuntary = |summary: &Summary| Some(summary.involuntary_per_inference?.median);
        let (summary, most) = largest(&study.summaries, involuntary).ok_or("nothing was recorded")?;
        Ok((text::amount(most), format!("{}, {}", summary.workload.name, summary.settings.words())))
    }),
    ("Recording costs", "throughput lost to the recorder", |study| {
        let none = "not tried; swtch ai run --check-overhead does";
        let overhead = study.recording_overhead.as_ref().ok_or(none)?;
        let ratio = overhead.throughput_ratio;
        let lost = |ratio: f64| text::percent(1.0 - ratio);
        let (least, most) = (lost(ratio.ci_high), lost(ratio.ci_low));
        Ok((lost(ratio.median), format!("{least} to {most}, {} pairs of intervals", overhead.pairs)))
    }),
];
