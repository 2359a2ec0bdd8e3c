//! The page of Traces, from recordings with everything, with little, with nothing, and with malice.

use std::path::{Path, PathBuf};

use crate::visible::visible;
use swtch_profile::file;
use swtch_report::files::{self, TraceOptions};
use swtch_report::html::{NamedProfile, NamedTrace, ReportError, render_traces};
use swtch_trace::Trace;
use swtch_trace::model::{Ended, Lost, Throttled, Unavailable};
use swtch_trace::tables::{CgroupRow, InterruptRow, IntervalRow, TaskRow, WakeRow};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

fn trace(name: &str) -> Trace {
    Trace::open(&fixture(&format!("traces/{name}.swtch"))).unwrap()
}

fn prices() -> NamedProfile {
    let profile = file::read(&fixture("profiles/vm.json")).unwrap();
    NamedProfile { name: "the Profile vm.json".to_owned(), document: profile }
}

fn priced(name: &str, trace: Trace) -> NamedTrace {
    NamedTrace::new(name, trace, Some(&prices()), None)
}

fn page(trace: Trace) -> String {
    render_traces(&[priced("run", trace)]).unwrap()
}

/// Nothing but a header that says little.
fn bare() -> Trace {
    let mut bare = trace("procfs");
    let fresh = bare.header.clone();
    bare.header = swtch_trace::Header::new(fresh.provenance, swtch_topology::Host::default(), fresh.scope);
    bare.tables.tasks.clear();
    bare.tables.intervals.clear();
    bare.tables.interrupts.clear();
    bare
}

/// The wide drawing of a figure.
fn wide<'a>(page: &'a str, id: &str) -> &'a str {
    let figure = &page[page.find(&format!("<figure id=\"{id}\"")).unwrap()..];
    let drawing = &figure[figure.find("class=\"chart wide\"").unwrap()..];
    &drawing[..drawing.find("</svg>").unwrap()]
}

#[test]
fn the_bill_comes_first_with_its_range_and_causes() {
    let text = visible(&page(trace("machine")));
    assert!(text.contains("Context switches took 0.07 to 0.88 % of all tasks’ CPU time: 5.26 ms"), "{text}");
    assert!(text.contains("(4.75 µs to 5.72 µs each"), "{text}");
    assert!(text.contains("as measured in the scheduler, and with the wake-up"), "{text}");
    assert!(text.contains("46 % of the switches: preemption (most: rcu_preempt preempts coordinator (433))"));
    assert!(text.contains("measured in place; caches by the Profile vm.json"));
}

#[test]
fn without_prices_the_cost_is_unknown_and_no_zero() {
    let html = render_traces(&[NamedTrace::new("run", trace("procfs"), None, None)]).unwrap();
    let text = visible(&html);
    assert!(text.contains("The cost of the context switches is not known"));
    assert!(text.contains("nothing: no Profile was at hand"));
    assert!(!text.contains("took 0"));
}

#[test]
fn every_chart_has_a_name_two_drawings_and_a_table() {
    let html = page(trace("machine"));
    let figures = html.matches("<figure ").count();
    assert_eq!(figures, 11);
    assert_eq!(html.matches("<summary>The numbers as a table</summary>").count(), figures);
    for drawing in ["class=\"chart wide\"", "class=\"chart narrow\""] {
        assert_eq!(html.matches(drawing).count(), figures);
    }
    assert_eq!(html.matches("role=\"img\" aria-label=\"").count(), 2 * figures);
    assert!(!html.contains("NaN"));
}

#[test]
fn the_slow_spans_beside_a_trace_are_explained() {
    let folder = fixture("traces/machine.swtch");
    let spans = fixture("spans/machine.jsonl");
    let options = TraceOptions { spans: Some(&spans), slowest: 0.05, ..TraceOptions::default() };
    let html = files::page(std::slice::from_ref(&folder), &options).unwrap().1;
    let text = visible(&html);
    let answer = "The slowest 5 % of unit took 10.6 ms instead of 8.00 ms: 24 % waiting for CPU 1 behind coordinator and others.";
    assert_eq!(text.matches(answer).count(), 2, "in the answer and in the section: {text}");
    assert!(text.contains("Why the slow ones were slow"));
    assert!(text.contains("Spans that never ended, which are left out: 1."), "{text}");
    // The other name has a figure too.
    for id in ["figure-spans-0-0", "figure-spans-0-1"] {
        let drawing = wide(&html, id);
        assert!(drawing.contains("run queue") && drawing.contains("lto cgu.05"), "{drawing}");
    }
    // Spans that were named must be right, those that are only there need not.
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("run.swtch");
    std::fs::create_dir(&copy).unwrap();
    for file in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    let broken = place.path().join("run.spans.jsonl");
    std::fs::write(&broken, "nonsense\n").unwrap();
    let beside = TraceOptions { spans: None, ..options };
    let html = files::page(std::slice::from_ref(&copy), &beside).unwrap().1;
    let text = visible(&html);
    assert!(text.contains("The spans beside the Trace are not shown:"), "{text}");
    assert!(text.contains("run.spans.jsonl:1: is neither a line of the workload contract nor OTLP/JSON"));
    let named = TraceOptions { spans: Some(&broken), ..options };
    let error = files::page(std::slice::from_ref(&copy), &named).unwrap_err().to_string();
    assert!(error.contains(":1: is neither") && !error.contains('\n'), "{error}");
    let two = [copy, folder];
    let error = files::page(&two, &named).unwrap_err().to_string();
    assert_eq!(error, "--spans goes with one Trace; name one");
}

#[test]
fn what_a_source_cannot_see_has_its_reason() {
    let html = page(trace("procfs"));
    for absent in
        ["figure-wait", "figure-cost", "figure-preemptions", "figure-wakes", "figure-interrupt-time"]
    {
        assert!(!html.contains(absent), "{absent}");
    }
    assert!(html.contains("figure-rates") && html.contains("id=\"figure-interrupts\""));
    let text = visible(&html);
    assert!(text.contains("This Trace (source procfs) holds no distributions. The reason given:"));
    assert!(text.contains("do not see single events; BPF does"));
    assert!(text.contains("Not recorded over time: from idle and wake-ups."), "{text}");
}

#[test]
fn a_trace_of_nothing_is_still_a_page() {
    let html = page(bare());
    assert!(!html.contains("<figure") && !html.contains("NaN"));
    let text = visible(&html);
    assert!(text.contains("holds no figures over time and gives no reason for it"));
    assert!(text.contains("holds no tasks and gives no reason for it"));
    assert!(matches!(render_traces(&[]), Err(ReportError::NoTraces)));
}

#[test]
fn what_spoils_a_recording_stands_on_top() {
    let mut spoilt = trace("machine");
    spoilt.header.provenance.ended = Ended::Recording;
    spoilt.header.lost = vec![Lost { cpu: Some(1), events: 1234, what: "switches".to_owned() }];
    spoilt.header.host.cpu_model = Some("another".to_owned());
    let html = page(spoilt);
    let top = &html[..html.find("class=\"answer\"").unwrap()];
    assert!(top.contains("This Trace did not finish"), "{top}");
    assert!(top.contains("1,234 events were lost"));
    assert!(top.contains("the Profile vm.json, which was measured on another CPU model"));
    assert!(!visible(&page(trace("machine"))).contains("did not finish"));
}

#[test]
fn tasks_beyond_the_table_are_summed() {
    let mut many = trace("machine");
    let task = |tid: u32| TaskRow {
        tid,
        pid: 1,
        comm: format!("worker{tid}"),
        in_scope: true,
        involuntary: 7,
        run_ns: 1000,
        // Above what any single switch can take, so that the dearest are those with the largest numbers.
        switch_cost_ns: Some(u64::from(tid) * 100_000),
        ..TaskRow::default()
    };
    many.tables.tasks = (1..=1000).map(task).collect();
    let html = page(many);
    let text = visible(&html);
    assert!(text.contains("Tasks: the 200 costliest of 1,000"));
    let foot = &html[html.find("<tfoot>").unwrap()..html.find("</tfoot>").unwrap()];
    assert!(foot.contains("800 more tasks") && foot.contains(">5,600<"), "{foot}");
    assert!(html.contains(">worker1000<") && !html.contains(">worker1<"));
}

#[test]
fn a_square_of_pairs_leaves_nothing_out() {
    let mut many = trace("machine");
    let wakes = (1..=40).flat_map(|waker| (1..=40).map(move |wakee| (waker, wakee)));
    many.tables.wakes = wakes
        .map(|(waker_tid, wakee_tid)| WakeRow {
            waker_tid,
            wakee_tid,
            count: u64::from(waker_tid * wakee_tid),
            same_cpu: None,
        })
        .collect();
    let html = page(many);
    let counts = wide(&html, "figure-wakes")
        .split(" times</title>")
        .filter_map(|before| before.rsplit('\n').next()?.replace(',', "").parse::<u64>().ok());
    assert_eq!(counts.sum::<u64>(), 820 * 820);
    let text = visible(&html);
    assert!(text.contains("1,400 more pairs"), "200 of 1,600 are in the table");
    assert!(text.contains("others"));
}

#[test]
fn a_long_run_is_thinned_to_what_a_chart_can_show() {
    let mut long = trace("machine");
    long.tables.intervals = (0..5000_u64)
        .map(|i| IntervalRow {
            at_ns: i * 1_000_000,
            length_ns: 1_000_000,
            voluntary: Some(3),
            ..IntervalRow::default()
        })
        .collect();
    let html = page(long);
    let moments = wide(&html, "figure-rates").matches("hit moment").count();
    assert!(moments > 200 && moments <= 400, "{moments}");
    assert!(visible(&html).contains("Neighbouring intervals are summed"));
    // Three thousand a second, before and after.
    assert!(visible(&html).contains("3,000 voluntary a second"));
}

#[test]
fn a_quota_that_stopped_tasks_is_said() {
    let mut stopped = trace("machine");
    stopped.header.totals.throttled =
        Some(Throttled { periods: 40, throttled_periods: 9, throttled_ns: 450_000_000 });
    assert!(visible(&page(stopped)).contains("A quota stopped the cgroup in 9 of 40 periods, for 450 ms"));
}

#[test]
fn control_groups_have_a_table_when_there_are_several() {
    let mut grouped = trace("machine");
    let group = |path: &str, voluntary: u64, throttled_ns| CgroupRow {
        path: path.to_owned(),
        voluntary,
        tasks: 3,
        throttled_ns,
        ..CgroupRow::default()
    };
    grouped.tables.cgroups = vec![group("/web", 70, Some(450_000_000))];
    assert!(!page(grouped.clone()).contains("id=\"cgroups\""));
    grouped.tables.cgroups.extend((0..300).map(|number| group(&format!("/job{number}"), 2, None)));
    let html = page(grouped);
    let section = &html[html.find("id=\"cgroups\"").unwrap()..];
    let section = &section[..section.find("</section>").unwrap()];
    assert!(section.contains("web<") && section.contains("101 more cgroups"), "{section}");
    // Throttled groups, and groups without a quota.
    assert!(section.contains("450") && section.contains('–'), "{section}");
}

#[test]
fn interrupts_of_single_cpus_are_not_counted_again() {
    let mut single = trace("machine");
    let before = page(single.clone());
    let of_cpus: Vec<InterruptRow> =
        single.interrupts.iter().map(|row| InterruptRow { cpu: Some(0), ..row.clone() }).collect();
    single.tables.interrupts.extend(of_cpus);
    assert_eq!(page(single), before);
}

#[test]
fn several_traces_stand_side_by_side() {
    let both = [priced("machine", trace("machine")), priced("sleepy", trace("procfs"))];
    let html = render_traces(&both).unwrap();
    let text = visible(&html);
    assert!(text.contains("What context switches cost machine and sleepy"));
    assert!(text.contains("Side by side"));
    assert!(text.contains("sleepy (source procfs) holds no distributions"));
    assert!(html.contains("<th scope=\"col\">Trace</th>"));
    assert!(html.contains("id=\"figure-wakes-0\"") && !html.contains("id=\"figure-wakes-1\""));
    assert_eq!(html, render_traces(&both).unwrap(), "the same bytes");
}

#[test]
fn texts_from_traces_cannot_become_markup() {
    let evil = "<script>alert(1)</script>\"'&";
    let mut named = trace("machine");
    for task in &mut named.tables.tasks {
        task.comm = evil.to_owned();
    }
    for row in &mut named.tables.interrupts {
        row.name = evil.to_owned();
        row.line = evil.to_owned();
    }
    let header = &mut named.header;
    header.scope = swtch_trace::model::Scope::Command { command: vec![evil.to_owned()], pid: 1 };
    header.provenance.why = evil.to_owned();
    header.provenance.recorder = evil.to_owned();
    header.host.cpu_model = Some(evil.to_owned());
    header.sources.insert(evil.to_owned(), evil.to_owned());
    header.unavailable.push(Unavailable::new(evil, evil));
    header.totals.pressure[0].resource = evil.to_owned();
    header.lost = vec![Lost { cpu: None, events: 1, what: evil.to_owned() }];
    for traces in [vec![priced(evil, named.clone())], vec![priced(evil, named), priced("b", trace("procfs"))]]
    {
        let html = render_traces(&traces).unwrap();
        assert_eq!(html.matches("<script").count(), 1, "the page's own");
        assert!(html.contains("&lt;script&gt;"));
        // Quotes must not end an attribute either.
        assert!(!html.contains("script>\"'&"));
    }
}

#[test]
fn the_page_needs_nothing_else_and_is_small() {
    let html = page(trace("machine"));
    for outside in ["http://", "https://", "<link rel=\"stylesheet\"", "@import", "src=", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
}

#[test]
fn what_stands_out_is_named_with_what_to_try() {
    let quiet = page(trace("machine"));
    assert!(!quiet.contains("id=\"advice\""));
    let mut stopped = trace("machine");
    stopped.header.totals.throttled =
        Some(Throttled { periods: 100, throttled_periods: 60, throttled_ns: 3_000_000_000 });
    let text = visible(&page(stopped));
    assert!(text.contains("What stands out") && text.contains("in 60 of 100 periods"), "{text}");
    assert!(text.contains("Try: a larger quota"));
}

#[test]
fn advice_names_the_functions_that_give_up_their_cpu() {
    let text = visible(&page(trace("stacks")));
    let functions =
        "producer gives up its CPU 405 times in queue_push; consumer gives up its CPU 387 times in queue_pop";
    assert!(text.contains("two tasks take turns on one CPU") && text.contains(functions), "{text}");
}
