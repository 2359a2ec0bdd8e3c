//! The page of studies, from one machine, from two, and with runs that failed.

use std::path::Path;

use crate::visible::visible;
use swtch_report::html::{NamedStudy, ReportError, render_studies};
use swtch_study::model::Outcome;

fn study(name: &str) -> NamedStudy {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/studies").join(name);
    NamedStudy { name: name.to_owned(), document: swtch_study::read(&folder).unwrap() }
}

fn page(studies: &[NamedStudy]) -> String {
    render_studies(studies).unwrap()
}

#[test]
fn advice_comes_first_and_all_of_it_is_there() {
    let cloud = study("cloud");
    let page = page(std::slice::from_ref(&cloud));
    let text = visible(&page);
    let advice = &cloud.document.advice;
    assert!(advice.len() > 2, "the fixture has some");
    for advice in advice {
        assert!(text.contains(&advice.text), "{}", advice.text);
    }
    let first = text.find(&advice[0].text).unwrap();
    assert!(first < text.find("Image recognition").unwrap());
}

#[test]
fn every_model_and_every_setting_is_in_a_figure_or_a_table() {
    for name in ["cloud", "edge"] {
        let named = study(name);
        let text = visible(&page(std::slice::from_ref(&named)));
        for summary in &named.document.summaries {
            assert!(text.contains(&summary.workload.name), "{}", summary.workload.name);
            assert!(text.contains(&summary.settings.words()), "{}", summary.settings.words());
        }
    }
}

#[test]
fn sweeps_have_a_section_and_single_settings_have_none() {
    assert!(page(&[study("cloud")]).contains("id=\"settings\""));
    assert!(!page(&[study("edge")]).contains("id=\"settings\""));
}

#[test]
fn machines_stand_side_by_side_in_colours_of_their_own() {
    let page = page(&[study("cloud"), study("edge")]);
    let text = visible(&page);
    assert!(text.contains("AI workloads on cloud and edge"), "{}", &text[..400]);
    let figure = &page[page.find("figure-image-recognition-involuntary").unwrap()..];
    // The legend's signs are drawings too.
    let figure = &figure[figure.find("class=\"chart wide\"").unwrap()..];
    let drawing = &figure[..figure.find("</svg>").unwrap()];
    assert!(drawing.contains("fill c0") && drawing.contains("fill c1"));
}

#[test]
fn a_run_that_failed_says_so_and_its_error_is_escaped() {
    let mut named = study("edge");
    let run = &mut named.document.runs[0];
    run.outcome = Outcome::Crashed;
    run.error = Some("<script>alert(1)</script>".to_owned());
    run.latency_ns = None;
    let page = page(&[named]);
    let text = visible(&page);
    assert!(text.contains("crashed") && text.contains("1 not complete"));
    assert!(!page.contains("<script>alert(1)"));
}

#[test]
fn nothing_complete_is_a_page_that_says_so() {
    let mut named = study("edge");
    named.document.summaries.clear();
    named.document.advice.clear();
    for run in &mut named.document.runs {
        run.outcome = Outcome::Refused;
        run.over_time = None;
        run.interrupts.clear();
    }
    let text = visible(&page(&[named]));
    assert!(text.contains("No run is complete"), "{}", &text[..600]);
    assert!(matches!(render_studies(&[]), Err(ReportError::NoStudies)));
}

#[test]
fn what_can_explain_the_figures_is_the_first_sentence() {
    let mut named = study("board");
    for run in &mut named.document.runs {
        run.disturbed = Some("others used 47 % of its CPUs, the hypervisor took 3 %".to_owned());
        let cpu = run.cpu.as_mut().unwrap();
        let hundredth = cpu.capacity_ns().unwrap() / 100;
        (cpu.foreign_ns, cpu.steal_ns) = (Some(47 * hundredth), Some(3 * hundredth));
    }
    for summary in &mut named.document.summaries {
        summary.disturbed = summary.runs;
    }
    let runs = named.document.runs.len();
    let text = visible(&page(&[named])).replace(['\u{a0}', '\u{202f}'], " ");
    let sentence = format!(
        "{runs} of {runs} runs were disturbed by other programs or by the hypervisor (others used 47 % of the CPUs, the hypervisor took 3.0 %)"
    );
    let first = text.find(&sentence).unwrap_or_else(|| panic!("{}", &text[..1000]));
    assert!(first < text.find("context switches for each inference with").unwrap());
}

#[test]
fn one_model_is_not_compared_with_others() {
    let mut named = study("board");
    named.document.advice.clear();
    let text = visible(&page(std::slice::from_ref(&named)));
    assert!(text.contains("context switches for each inference with"), "{}", &text[..1000]);
    assert!(!text.contains("more than the other models"));
}

#[test]
fn nothing_is_best_among_disturbed_runs() {
    let mut named = study("board");
    named.document.advice.clear();
    named.document.summaries.iter_mut().for_each(|summary| summary.disturbed = 0);
    let fastest = |named: &NamedStudy| {
        let speed = |summary: &swtch_study::model::Summary| summary.images_per_second.unwrap().median;
        let best = named.document.summaries.iter().max_by(|one, other| speed(one).total_cmp(&speed(other)));
        best.unwrap().settings.words()
    };
    // The settings that ran first are made the slowest.
    let speed = named.document.summaries[0].images_per_second.as_mut().unwrap();
    (speed.median, speed.ci_low) = (speed.median / 100.0, speed.ci_low / 100.0);
    let said = |named: &NamedStudy, settings: &str| {
        visible(&page(std::slice::from_ref(named)))
            .contains(&format!("context switches for each inference with {settings}"))
    };
    assert!(said(&named, &fastest(&named)));
    named.document.summaries[0].disturbed = 1;
    assert!(said(&named, &named.document.summaries[0].settings.words()));
}

#[test]
fn an_older_study_says_what_it_lacks() {
    let text = visible(&page(&[study("cloud")]));
    assert!(text.contains("An older swtch wrote this study. Its CPU times are left out"));
    assert!(!visible(&page(&[study("board")])).contains("An older swtch"));
}
