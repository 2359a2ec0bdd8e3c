//! The page of serverless functions: one study of tiers, one response, languages side by side, and what is missing.

use std::path::Path;

use crate::visible::visible;
use swtch_faas::own::{Comparison, Mode, OwnSwitches};
use swtch_faas::tiers::{ColdStart, Ending, Tiers};
use swtch_faas::{Document, Response};
use swtch_report::html::{NamedFaas, ReportError, render_faas};
use swtch_topology::Unavailable;

const LANGUAGES: [&str; 4] = ["python", "node", "go", "java"];

fn document(name: &str) -> Document {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/faas");
    swtch_faas::read(&folder.join(name)).unwrap()
}

fn tiers() -> Tiers {
    match document("gcf") {
        Document::Tiers(tiers) => *tiers,
        Document::Response(_) => unreachable!("a directory holds a study"),
    }
}

fn response(language: &str) -> Response {
    match document(&format!("{language}.json")) {
        Document::Response(response) => *response,
        Document::Tiers(_) => unreachable!("that file holds a response"),
    }
}

fn of_tiers(name: &str, tiers: Tiers) -> NamedFaas {
    NamedFaas { name: name.to_owned(), document: Document::Tiers(Box::new(tiers)) }
}

fn of_response(name: &str, response: Response) -> NamedFaas {
    NamedFaas { name: name.to_owned(), document: Document::Response(Box::new(response)) }
}

fn page(documents: &[NamedFaas]) -> String {
    render_faas(documents).unwrap()
}

/// The part of a page from an id to the end of what has it.
fn part<'a>(page: &'a str, id: &str, end: &str) -> &'a str {
    let from = page.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("nothing is called {id}"));
    let part = &page[from..];
    &part[..part.find(end).unwrap()]
}

#[test]
fn other_programs_load_is_said_before_the_figures() {
    let mut tiers = tiers();
    tiers.function.kind = "handler".to_owned();
    let words = "Unthrottled work waited for a CPU for";
    for (cpu_share, said) in [(0.98, false), (0.4, true)] {
        for one in &mut tiers.invocations {
            if let (Some(group), Some(latency_ns)) = (&mut one.group, one.latency_ns) {
                group.cpu_ns = Some((cpu_share * latency_ns as f64) as i64);
            }
        }
        let text = visible(&page(&[of_tiers("gcf", tiers.clone())]));
        assert_eq!(text.contains(&format!("{words} 60 % of its time")), said, "{cpu_share}");
        let figures = text.find("A switch with its read and write costs").unwrap();
        assert!(text.find(words).is_none_or(|at| at < figures));
    }
}

#[test]
fn the_answer_is_in_words_and_comes_first() {
    let tiers = tiers();
    let text = visible(&page(&[of_tiers("gcf", tiers.clone())]));
    let first = text.find("A switch with its read and write costs").expect("what a switch costs");
    let still = text.find("the quota stops the function in").expect("how much is throttled");
    let seen = text.find("Seen from inside, quota and period are within").expect("the quota from inside");
    let advice = text.find(&tiers.advice[0].text[1..]).expect("which tier to take");
    assert!(
        first < still
            && still < seen
            && seen < advice
            && advice < text.find("Switch cost by memory").unwrap()
    );
    // The first letter is raised.
    for advice in &tiers.advice {
        assert!(text.contains(&advice.text[1..]), "{}", advice.text);
    }
}

#[test]
fn median_and_mean_are_plots_of_their_own() {
    let page = page(&[of_tiers("gcf", tiers())]);
    for figure in ["figure-tiers", "figure-switch-cost"] {
        let figure = part(&page, figure, "</figure>");
        assert!(figure.contains(">median</text>") && figure.contains(">mean</text>"));
    }
}

#[test]
fn every_tier_and_amount_of_work_is_in_the_figures() {
    let tiers = tiers();
    let page = page(&[of_tiers("gcf", tiers.clone())]);
    for figure in ["figure-latency", "figure-slowdown", "figure-switch-cost", "figure-money-0"] {
        let figure = part(&page, figure, "</figure>");
        for tier in &tiers.tiers {
            assert!(figure.contains(&tier.name), "{} is missing", tier.name);
        }
    }
    // What ran without a quota is a line of the latency, and slowed by nothing.
    assert!(part(&page, "figure-latency", "</figure>").contains(">unthrottled</th>"));
    assert!(!part(&page, "figure-slowdown", "</figure>").contains(">unthrottled</th>"));
}

#[test]
fn every_tier_has_a_lane_and_its_quota_beside_the_groups_own() {
    let tiers = tiers();
    let page = page(&[of_tiers("gcf", tiers.clone())]);
    let lanes = part(&page, "figure-gaps", "</figure>");
    let quota = part(&page, "quota", "</section>");
    for tier in &tiers.tiers {
        assert!(lanes.contains(&format!(">{}</text>", tier.name)), "{}", tier.name);
        assert!(quota.contains(&format!(">{}</th>", tier.name)), "{}", tier.name);
    }
    assert!(lanes.contains("standing still\n"), "gaps can be pointed at");
}

#[test]
fn prices_have_their_date_and_source_and_old_ones_warn() {
    let mut tiers = tiers();
    let price = tiers.tiers[0].price.clone().unwrap();
    let text = visible(&page(&[of_tiers("gcf", tiers.clone())]));
    assert!(text.contains(&format!("{} as of {}", price.platform, price.dated)), "{text}");
    assert!(!text.contains("more than a year before"));
    "2019-05-01".clone_into(&mut tiers.tiers[0].price.as_mut().unwrap().dated);
    let text = visible(&page(&[of_tiers("gcf", tiers)]));
    assert!(text.contains("are from 2019-05-01, more than a year before the study"));
}

#[test]
fn languages_stand_side_by_side() {
    let documents: Vec<NamedFaas> =
        LANGUAGES.iter().map(|language| of_response(language, response(language))).collect();
    let page = page(&documents);
    let text = visible(&page);
    assert!(text.contains("cost functions: python, node, go and java"), "{}", &text[..400]);
    assert!(text.contains("In Node.js, a switch between two threads (method pipe) costs"));
    let figure = part(&page, "figure-methods", "</figure>");
    for (colour, language) in LANGUAGES.iter().enumerate() {
        assert!(figure.contains(&format!("fill c{colour}")), "{language}");
        for measurement in &response(language).measurements {
            assert!(figure.contains(&format!("{}, median", measurement.method)), "{}", measurement.method);
        }
    }
    assert!(!page.contains("id=\"execution-time\"") && !page.contains("id=\"money\""));
}

#[test]
fn here_and_deployed_stand_side_by_side_by_tier() {
    let mut deployed = tiers();
    deployed.function.deployed = true;
    let mut on_lambda = response("python");
    "lambda".clone_into(&mut on_lambda.platform.name);
    on_lambda.platform.memory_mb = Some(128);
    let documents =
        [of_tiers("here", tiers()), of_tiers("there", deployed), of_response("lambda", on_lambda)];
    let figure = page(&documents);
    let figure = part(&figure, "figure-places", "</figure>");
    for bar in ["128 MB, pipe, median", "2048 MB, pipe, mean"] {
        assert!(figure.contains(bar), "{bar}");
    }
    assert!(figure.contains("fill c0") && figure.contains("fill c1") && figure.contains("fill c2"));
    assert!(!page(&documents[..1]).contains("id=\"places\""));
}

#[test]
fn cold_starts_have_a_section_where_they_were_measured() {
    let mut tiers = tiers();
    assert!(!page(&[of_tiers("gcf", tiers.clone())]).contains("id=\"cold-starts\""));
    let row = &tiers.rows[0];
    let start = ColdStart {
        tier: row.tier.clone(),
        n: 3,
        failed: 0,
        runtime_ns: None,
        init_ns: row.latency_ns,
        first_call_ns: row.latency_ns,
        total_ns: row.latency_ns,
        init_billed: Some(true),
        cost_usd: row.cost_usd,
    };
    tiers.cold_starts = vec![start];
    let page = page(&[of_tiers("gcf", tiers)]);
    assert!(part(&page, "cold-starts", "</section>").contains("with the start"));
    assert!(visible(&page).contains("128 MB"));
}

#[test]
fn a_negative_cost_is_shown_as_it_is() {
    let mut odd = response("python");
    let net = odd.measurements[0].net_ns.as_mut().unwrap();
    (net.median, net.ci_low, net.ci_high) = (-4.0, -9.0, 2.0);
    let text = visible(&page(&[of_response("python", odd)]));
    assert!(text.contains("costs −4.00 ns (−9.00 to 2.00 ns) in the median"), "{}", &text[..700]);
}

#[test]
fn what_a_sandbox_hides_is_a_dash_with_its_reason() {
    let mut hidden = response("python");
    hidden.throttling = None;
    hidden.cpu = None;
    for measurement in &mut hidden.measurements {
        measurement.switches = None;
    }
    let why = "this sandbox always says <zero>".to_owned();
    hidden.unavailable = vec![Unavailable::new("throttling", why)];
    let page = page(&[of_response("python", hidden)]);
    let text = visible(&page);
    assert!(text.contains("holds no gaps over time. The reason given:"), "{text}");
    assert!(text.contains("holds no quota, set or seen. The reason given:"));
    assert!(text.contains("throttling: this sandbox always says &lt;zero&gt;"));
    assert!(!page.contains("id=\"figure-gaps\""));
}

#[test]
fn what_did_not_complete_is_counted_and_says_why() {
    let mut tiers = tiers();
    for invocation in tiers.invocations.iter_mut().take(3) {
        invocation.outcome = Ending::Oom;
        invocation.why = Some("<killed> at 128 MB".to_owned());
        invocation.response = None;
    }
    let total = tiers.invocations.len();
    let page = page(&[of_tiers("gcf", tiers)]);
    let text = visible(&page);
    assert!(text.contains(&format!("3 of {total} invocations did not complete")), "{}", &text[..600]);
    assert!(text.contains("killed, too little memory") && text.contains("&lt;killed&gt; at 128 MB"));
}

#[test]
fn nothing_complete_is_a_page_that_says_so() {
    let mut none = tiers();
    none.rows.clear();
    none.quota_check.clear();
    none.advice.clear();
    for invocation in &mut none.invocations {
        invocation.outcome = Ending::Timeout;
        invocation.response = None;
    }
    let text = visible(&page(&[of_tiers("gcf", none)]));
    assert!(text.contains("No invocation is complete"), "{}", &text[..600]);
    let mut nothing = response("go");
    nothing.measurements.clear();
    let text = visible(&page(&[of_response("go", nothing)]));
    assert!(text.contains("No method found what a switch costs"), "{}", &text[..600]);
    assert!(matches!(render_faas(&[]), Err(ReportError::NoFunctions)));
}

#[test]
fn a_function_with_its_own_work_has_its_costs_by_tier() {
    let mut own = tiers();
    own.rows.retain(|row| row.work_ms == 100.0);
    for row in &mut own.rows {
        row.work_ms = 0.0;
    }
    let page = page(&[of_tiers("own", own)]);
    let text = visible(&page);
    assert!(text.contains("With its own work the quota stops the function"), "{}", &text[..900]);
    assert!(page.contains("id=\"figure-tiers\"") && page.contains("id=\"figure-own-latency\""));
}

#[test]
fn switches_of_the_projects_handler_are_named_beside_a_function_of_ones_own() {
    let mut own = tiers();
    own.function.kind = "own".to_owned();
    let text = visible(&page(&[of_tiers("own", own)]));
    assert!(text.contains("In swtch’s own handler, next to the function: A switch with its read and write"));
    assert!(text.contains("made by swtch’s own handler next to the function"));
    assert!(text.contains("Switch of swtch’s handler, median"));
    assert!(!visible(&page(&[of_tiers("gcf", tiers())])).contains("own handler"));
}

#[test]
fn a_functions_own_switches_variants_and_two_latencies_are_on_the_page() {
    let mut own = tiers();
    let plain = page(&[of_tiers("own", own.clone())]);
    assert!(!plain.contains("id=\"own\""));
    let latency = own.rows[0].latency_ns.unwrap();
    let one = swtch_faas::Estimate { median: 5.0, ci_low: 4.0, ci_high: 6.0, ..latency };
    own.rows[0].own_switches = Some(OwnSwitches {
        voluntary: one,
        involuntary: one,
        counted_by: Some("getrusage".to_owned()),
        time_ns: Some(13_000.0),
        usd: Some(1e-9),
    });
    let slow = swtch_faas::Estimate { median: 2.0 * latency.median, ..latency };
    let mode = |latency_ns, stopped_share| Mode { latency_ns, share: 0.5, stopped_share };
    own.rows[0].modes = Some(vec![mode(latency, 0.0), mode(slow, 1.0)]);
    own.comparisons = vec![Comparison {
        tier: own.rows[0].tier.clone(),
        work_ms: own.rows[0].work_ms,
        function: "two threads".to_owned(),
        against: "one thread".to_owned(),
        times_as_fast: swtch_faas::Estimate { median: 1.3, ci_low: 1.2, ci_high: 1.4, ..latency },
        p_value: 0.001,
        p_adjusted: 0.002,
        verdict: "faster".to_owned(),
    }];
    swtch_faas::check(&own).unwrap();
    let page = page(&[of_tiers("own", own)]);
    assert!(page.contains("id=\"own\"") && page.contains("id=\"figure-two-latencies-0\""));
    let text = visible(&page);
    for words in [
        "two threads against one thread, round by round",
        "fits into the quota",
        "Switches of the function in an invocation",
        "13.0 µs",
    ] {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn a_study_whose_tiers_did_different_work_is_read_and_compares_nothing() {
    let Document::Tiers(old) = document("old") else { unreachable!("that directory holds a study") };
    assert!(old.is_old());
    let done: Vec<u64> =
        old.invocations.iter().filter_map(|one| one.response.as_ref()?.work.as_ref()?.iterations).collect();
    assert!(done.iter().max().unwrap() > &(done.iter().min().unwrap() * 3 / 2), "{done:?}");
    assert!(old.advice.is_empty());
    assert!(old.rows.iter().all(|row| row.slowdown.is_none() && row.extra_usd.is_none()));
    assert!(old.rows.iter().all(|row| row.latency_ns.is_some()));
    let text = visible(&page(&[of_tiers("old", *old)]));
    assert!(text.contains("its tiers did different amounts of work, so this page does not compare them"));
    assert!(!text.contains("figure-slowdown") && !text.contains("costs least"));
}
