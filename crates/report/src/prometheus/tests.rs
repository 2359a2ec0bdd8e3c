//! Sums, bounds and text, on tables that are made up.

use super::*;
use std::collections::BTreeMap;
use swtch_topology::Host;
use swtch_trace::Tables;
use swtch_trace::model::{Header, Lost, Provenance, Scope, SwitchTotals};
use swtch_trace::tables::{CgroupRow, HistogramRow, InterruptKind, InterruptRow, TaskRow};

fn header() -> Header {
    Header::new(Provenance::default(), Host::default(), Scope::Machine)
}

fn delta<'a>(header: &'a Header, tables: &'a Tables) -> Delta<'a> {
    Delta { trace: tables.view(header), cost_ns_by_kind: None, quota_ns: None, group_waits: None }
}

fn task(cgroup: &str, voluntary: u64, run_ns: u64) -> TaskRow {
    TaskRow {
        in_scope: true,
        cgroup: Some(cgroup.to_owned()),
        voluntary,
        run_ns,
        wait_ns: 7_000,
        ..TaskRow::default()
    }
}

/// Samples by name and labels as they are written.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

fn of(samples: &BTreeMap<String, f64>, name: &str) -> f64 {
    *samples.get(name).unwrap_or_else(|| panic!("no {name} in {:#?}", samples.keys()))
}

#[test]
fn every_metric_is_in_the_document_and_nothing_else() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let document = std::fs::read_to_string(path).unwrap();
    let wanted = reference();
    for line in wanted.lines() {
        assert!(
            document.contains(line),
            "docs/metrics.md lacks this line:\n{line}\nThe whole table:\n{wanted}"
        );
    }
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("| `swtch_")).count();
    assert_eq!(rows(&document), rows(&wanted), "docs/metrics.md names a metric that does not exist");
}

#[test]
fn the_text_is_what_the_format_asks_for() {
    let mut header = header();
    header.totals.context_switches = SwitchTotals { voluntary: Some(3), involuntary: None, idle: Some(0) };
    header.duration_ns = 1_500_000_000;
    let mut counters = Counters::new(Limits::default());
    counters.add(&delta(&header, &Tables::default()), None, 0);
    let text = counters.text(&Gauges { threads: Some(4), ..Gauges::default() });
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    for line in [
        "# TYPE swtch_context_switches counter",
        "swtch_context_switches_total{kind=\"voluntary\"} 3",
        "swtch_context_switches_total{kind=\"from_idle\"} 0",
        "# UNIT swtch_observed_seconds seconds",
        "swtch_observed_seconds_total 1.5",
        "swtch_threads 4.0",
    ] {
        assert!(text.contains(&format!("{line}\n")), "no '{line}' in:\n{text}");
    }
    // A figure that was not counted is absent instead of zero.
    assert!(!text.contains("\"involuntary\"") && !text.contains("swtch_migrations"), "{text}");
    assert!(
        text.contains("swtch_unavailable_info{what=\"swtch_switch_cost_estimate_seconds_total\""),
        "{text}"
    );
}

#[test]
fn labels_are_escaped_bounded_and_stay_apart() {
    let header = header();
    let hostile = "/a\"b\\c\nd\u{7}\u{85}";
    let long = |end: char| format!("/{}{end}", "é".repeat(3000));
    let tasks =
        vec![task(hostile, 1, 1), task(&long('x'), 2, 1), task(&long('y'), 3, 1), task("other", 4, 1)];
    let mut counters = Counters::new(Limits::default());
    let tables = Tables { tasks, ..Tables::default() };
    counters.add(&delta(&header, &tables), None, 0);
    let text = counters.text(&Gauges::default());
    let switches = |group: &str| {
        format!("swtch_cgroup_context_switches_total{{cgroup=\"{group}\",kind=\"voluntary\"}} ")
    };
    assert!(text.contains(&(switches("/a\\\"b\\\\c\u{fffd}d\u{fffd}\u{fffd}") + "1\n")), "{text}");
    // A name that is not a path counts under `other`.
    assert!(text.contains(&(switches("other") + "4\n")), "{text}");
    for line in text.lines() {
        assert!(line.len() < 500, "{} bytes: {line}", line.len());
    }
    // In four series of counters, and twice in the one that names the group.
    assert_eq!(
        text.matches("é…é").count()
            / text.matches("swtch_cgroup_run_seconds_total{cgroup=\"/é").count().max(1),
        6
    );
    let unique: std::collections::BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect();
    assert_eq!(unique.len(), text.lines().filter(|line| !line.starts_with('#')).count(), "no series twice");
}

/// Cgroups come and go over many hours, with more of them than may be shown. Whatever happens, no series falls, and what all series gain
/// in a step is what happened in it.
#[test]
fn no_sum_goes_back_and_nothing_is_counted_twice_while_groups_come_and_go() {
    let header = header();
    let mut counters = Counters::new(Limits { cgroups: 5, irqs: 5, ..Limits::DEFAULT });
    let mut before: BTreeMap<String, f64> = BTreeMap::new();
    let mut state = 12_345_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut gave_way = 0;
    for minute in 0..600_u64 {
        // Other groups every hour, and some that are always there.
        let names: Vec<String> = (0..12)
            .map(|n| if n < 3 { format!("/stays{n}") } else { format!("/hour{}n{n}", minute / 60) })
            .collect();
        let mut tasks = Vec::new();
        for name in &names {
            if random(4) > 0 {
                tasks.push(TaskRow { run_ns: random(1_000_000), ..task(name, 1 + random(1000), 1) });
            }
        }
        let interrupts: Vec<InterruptRow> = names
            .iter()
            .map(|name| InterruptRow {
                kind: InterruptKind::Hard,
                line: name.clone(),
                count: random(50),
                ..InterruptRow::default()
            })
            .collect();
        let tables = Tables { tasks, interrupts, ..Tables::default() };
        counters.add(&delta(&header, &tables), None, minute * 60_000_000_000);
        let now = samples(&counters.text(&Gauges::default()));
        let gained = |family: &str| -> f64 {
            let gain = |(name, value): (&String, &f64)| {
                let earlier = before.get(name).copied().unwrap_or(0.0);
                assert!(*value >= earlier, "{name} fell from {earlier} to {value} in minute {minute}");
                value - earlier
            };
            now.iter().filter(|(name, _)| name.starts_with(family)).map(gain).sum()
        };
        let wanted: u64 = tables.tasks.iter().map(|task| task.voluntary).sum();
        assert_eq!(gained("swtch_cgroup_context_switches_total"), wanted as f64, "minute {minute}");
        let wanted: u64 = tables.interrupts.iter().map(|row| row.count).sum();
        assert_eq!(gained("swtch_interrupts_total"), wanted as f64, "minute {minute}");
        for family in ["swtch_cgroup_run_seconds_total", "swtch_interrupts_total"] {
            let series = now.keys().filter(|name| name.starts_with(family)).count();
            // Five, those that stand still, and the others.
            assert!(series <= 9, "{series} series of {family} in minute {minute}");
        }
        gave_way += before.keys().filter(|name| !now.contains_key(*name)).count();
        before = now;
    }
    assert!(gave_way > 20, "the test must see series that end: {gave_way}");
}

#[test]
fn distributions_are_coarser_and_lose_nothing() {
    let header = header();
    let row = |metric: &str, of: &str, from_ns: u64, to_ns: u64, count: u64| HistogramRow {
        metric: metric.to_owned(),
        of: of.to_owned(),
        from_ns,
        to_ns,
        count,
    };
    let histograms = vec![
        row("cost", "kind thread", 0, 1, 1),
        row("cost", "kind thread", 96, 128, 2),
        row("cost", "kind thread", 128, 192, 4),
        row("cost", "kind thread", 3 << 30, 1 << 32, 8),
        row("wait", "all", 3 << 30, 1 << 32, 5),
        row("wait", "task 7", 0, 1, 99),
    ];
    let tables = Tables { histograms, ..Tables::default() };
    let mut counters = Counters::new(Limits::default());
    for _ in 0..2 {
        let delta = Delta { cost_ns_by_kind: Some([500, 0, 0]), ..delta(&header, &tables) };
        counters.add(&delta, None, 0);
    }
    let found = samples(&counters.text(&Gauges::default()));
    let bucket =
        |le: &str| of(&found, &format!("swtch_switch_cost_seconds_bucket{{le=\"{le}\",kind=\"thread\"}}"));
    assert_eq!((bucket("1.28e-7"), bucket("2.56e-7"), bucket("+Inf")), (6.0, 14.0, 30.0));
    assert_eq!(of(&found, "swtch_switch_cost_seconds_count{kind=\"thread\"}"), 30.0);
    assert_eq!(of(&found, "swtch_switch_cost_seconds_sum{kind=\"thread\"}"), 1e-6);
    assert_eq!(of(&found, "swtch_run_queue_wait_seconds_count"), 10.0);
    assert_eq!(of(&found, "swtch_run_queue_wait_seconds_bucket{le=\"1.073741824\"}"), 0.0);
}

#[test]
fn losses_and_groups_of_a_table_are_summed() {
    let mut header = header();
    header.lost = vec![
        Lost { cpu: Some(1), events: 2, what: "switches".into() },
        Lost { cpu: Some(2), events: 3, what: "switches".into() },
    ];
    let cgroups = vec![CgroupRow {
        path: "/web".into(),
        voluntary: 9,
        throttled_periods: Some(4),
        ..CgroupRow::default()
    }];
    let mut counters = Counters::new(Limits { cgroups: 0, irqs: 0, ..Limits::DEFAULT });
    let tables = Tables { cgroups, tasks: vec![task("/web", 9, 1)], ..Tables::default() };
    counters.add(&delta(&header, &tables), None, 0);
    let found = samples(
        &counters.text(&Gauges { group_threads: [("/web".to_owned(), 3)].into(), ..Gauges::default() }),
    );
    assert_eq!(of(&found, "swtch_lost_events_total{what=\"switches\"}"), 5.0);
    assert_eq!(of(&found, "swtch_cgroup_context_switches_total{cgroup=\"other\",kind=\"voluntary\"}"), 9.0);
    assert_eq!(of(&found, "swtch_cgroup_throttled_periods_total{cgroup=\"other\"}"), 4.0);
    assert_eq!(of(&found, "swtch_cgroup_threads{cgroup=\"other\"}"), 3.0);
}

#[test]
fn waits_for_a_cpu_and_for_a_quota_are_two_figures() {
    let header = header();
    let tasks = vec![task("/throttled", 1, 1), task("/waits", 1, 1), task("/throttled", 2, 1)];
    let tables = Tables { tasks, ..Tables::default() };
    let quota_ns = [(Some("/throttled".to_owned()), 13_000), (None, 500)].into();
    let mut counters = Counters::new(Limits::default());
    counters.add(&Delta { quota_ns: Some(&quota_ns), ..delta(&header, &tables) }, None, 0);
    let text = counters.text(&Gauges::default());
    let found = samples(&text);
    let wait = |labels: &str| of(&found, &format!("swtch_cgroup_wait_seconds_total{{{labels}}}"));
    assert_eq!(wait("cgroup=\"/throttled\",cause=\"quota\""), 13e-6);
    assert_eq!(wait("cgroup=\"/throttled\",cause=\"cpu\""), 1e-6);
    assert_eq!(wait("cgroup=\"/waits\",cause=\"cpu\""), 7e-6);
    assert_eq!(wait("cgroup=\"/waits\",cause=\"quota\""), 0.0);
    assert_eq!(of(&found, "swtch_wait_seconds_total{cause=\"quota\"}"), 13.5e-6);
    assert_eq!(of(&found, "swtch_wait_seconds_total{cause=\"cpu\"}"), 7.5e-6);
    assert!(!text.contains("cause=\"unknown\"") && !text.contains("what=\"tasks.quota_ns\""), "{text}");
    // Where nothing tells the two apart, the figure is neither of them.
    let mut counters = Counters::new(Limits::default());
    counters.add(&delta(&header, &tables), None, 0);
    let text = counters.text(&Gauges::default());
    assert_eq!(
        of(&samples(&text), "swtch_cgroup_wait_seconds_total{cgroup=\"/throttled\",cause=\"unknown\"}"),
        14e-6
    );
    assert!(!text.contains("cause=\"cpu\"") && !text.contains("cause=\"quota\""), "{text}");
    assert!(text.contains("swtch_unavailable_info{what=\"tasks.quota_ns\",why=\""), "{text}");
}

#[test]
fn waits_and_costs_of_a_cgroup_are_its_own() {
    let header = header();
    let cost = |cgroup: &str, ns: Option<u64>| TaskRow { switch_cost_ns: ns, ..task(cgroup, 1, 1) };
    let tasks = vec![cost("/web", Some(300)), cost("/web", Some(200)), cost("/batch", None)];
    let tables = Tables { tasks, ..Tables::default() };
    let row = |from_ns, to_ns, count| HistogramRow { from_ns, to_ns, count, ..HistogramRow::default() };
    let seen = [(Some("/web".to_owned()), vec![row(1 << 15, 1 << 16, 3), row(1 << 20, 3 << 19, 2)])].into();
    let mut counters = Counters::new(Limits::default());
    counters.add(&Delta { group_waits: Some(&seen), ..delta(&header, &tables) }, None, 0);
    // Nothing was seen of it in this time.
    counters.add(&Delta { group_waits: Some(&BTreeMap::new()), ..delta(&header, &tables) }, None, 0);
    let text = counters.text(&Gauges::default());
    let found = samples(&text);
    let bucket = |le: &str| {
        of(&found, &format!("swtch_cgroup_run_queue_wait_seconds_bucket{{le=\"{le}\",cgroup=\"/web\"}}"))
    };
    assert_eq!((bucket("0.000065536"), bucket("0.001048576"), bucket("+Inf")), (3.0, 3.0, 5.0));
    assert_eq!(of(&found, "swtch_cgroup_run_queue_wait_seconds_sum{cgroup=\"/web\"}"), 28e-6);
    assert_eq!(of(&found, "swtch_cgroup_switch_cost_seconds_total{cgroup=\"/web\"}"), 1e-6);
    assert!(!text.contains("cgroup_switch_cost_seconds_total{cgroup=\"/batch\"}"), "not known: {text}");
    assert!(!text.contains("cgroup_run_queue_wait_seconds_sum{cgroup=\"/batch\"}"), "none seen: {text}");
}

/// A pod is named when the kubelet names it, and keeps its name when the kubelet has removed its directory.
#[test]
fn a_cgroup_says_what_it_holds() {
    const UID: &str = "3f1c9a52-7b1e-4c8e-9d55-0a4b8f6f2c11";
    let path = format!("/kubepods/pod{UID}");
    let header = header();
    let tasks = vec![task(&path, 1, 1), task("/odd", 1, 1), task("/system.slice/nginx.service", 1, 1)];
    let tables = Tables { tasks, ..Tables::default() };
    let mut counters = Counters::new(Limits { cgroups: 3, irqs: 0, ..Limits::DEFAULT });
    let info = |cgroup: &str, kind: &str, name: &str, pod: [&str; 2]| {
        let [namespace, pod] = pod;
        format!(
            "swtch_cgroup_info{{cgroup=\"{cgroup}\",kind=\"{kind}\",name=\"{name}\",namespace=\"{namespace}\",pod=\"{pod}\",container=\"\"}} 1.0\n"
        )
    };
    let root = tempfile::tempdir().unwrap();
    let logs = root.path().join(format!("var/log/pods/shop_web_{UID}"));
    let (uid, named) = (format!("pod {UID}"), ["shop", "web"]);
    for (kubelet, name, pod) in
        [(false, uid.as_str(), ["", ""]), (true, "pod shop/web", named), (false, "pod shop/web", named)]
    {
        if kubelet {
            std::fs::create_dir_all(&logs).unwrap();
        } else {
            let _ = std::fs::remove_dir_all(&logs);
        }
        counters.note_pods(swtch_trace::PodNames::read(root.path()));
        counters.add(&delta(&header, &tables), None, 0);
        let text = counters.text(&Gauges::default());
        assert!(text.contains(&info(&path, "pod", name, pod)), "{text}");
        assert!(text.contains(&info("/odd", "unknown", "/odd", ["", ""])), "{text}");
        let service = info("/system.slice/nginx.service", "service", "nginx.service", ["", ""]);
        assert!(text.contains(&service) && !text.contains("cgroup=\"other\""), "{text}");
    }
    let more = Tables { tasks: vec![task("/fourth", 1, 1)], ..Tables::default() };
    counters.add(&delta(&header, &more), None, 0);
    let text = counters.text(&Gauges::default());
    assert!(text.contains(&info("other", "unknown", "other", ["", ""])), "{text}");
    // The three are gone: the series of two stand still, and there are the others.
    assert_eq!(text.matches("swtch_cgroup_info{").count(), 3, "{text}");
}

/// A cgroup that cpuacct does not account has no time, even if it had some before. It can be chosen by its switches all the same.
#[test]
fn a_group_without_an_account_has_switches_and_no_time() {
    let header = header();
    let mut counters = Counters::new(Limits::default());
    let used = |cpu_ns: Option<u64>| {
        ["/known", "/unknown"].map(|path| GroupUse {
            path: path.to_owned(),
            cpu_ns: if path == "/known" { Some(5) } else { cpu_ns },
            ..GroupUse::default()
        })
    };
    let time = |text: &str| text.matches("swtch_cgroup_cpu_seconds_total{").count();
    for (cpu_ns, series) in [(Some(9), 2), (None, 1), (Some(4), 2)] {
        counters.add_group_use(&used(cpu_ns));
        let tables = Tables { tasks: vec![task("/busy", 1, 1)], ..Tables::default() };
        counters.add(&delta(&header, &tables), None, 0);
        let text = counters.text(&Gauges::default());
        assert_eq!(time(&text), series, "{text}");
        for group in ["/known", "/unknown", "/busy"] {
            let switches =
                format!("swtch_cgroup_context_switches_total{{cgroup=\"{group}\",kind=\"voluntary\"}}");
            assert!(text.contains(&switches), "{group} cannot be chosen: {text}");
        }
    }
    // Without counted tasks a zero would be made up.
    let mut counters = Counters::new(Limits::default());
    counters.add_group_use(&used(Some(9)));
    counters.add(&delta(&header, &Tables::default()), None, 0);
    assert!(!counters.text(&Gauges::default()).contains("swtch_cgroup_context_switches"));
}

#[test]
fn reasons_keep_their_remedies_whole() {
    let mut header = header();
    let remedy = "allow it: setcap cap_bpf,cap_perfmon+ep \"$(command -v swtch)\"";
    let long = format!("{}; {remedy}", "x".repeat(700));
    let endless = format!("it failed; {remedy}; {}; sysctl kernel.perf_event_paranoid=0", "y".repeat(2000));
    header.unavailable = [("long", &long), ("endless", &endless)]
        .map(|(field, reason)| swtch_trace::model::Unavailable::new(field, reason.clone()))
        .into();
    header.provenance.why = long.clone();
    let mut counters = Counters::new(Limits::default());
    counters.add(&delta(&header, &Tables::default()), None, 0);
    let text = counters.text(&Gauges::default()).replace("\\\"", "\"");
    assert!(text.contains(&format!("what=\"long\",why=\"{long}\"}}")), "{text}");
    assert!(text.contains(&format!("recorder=\"\",why=\"{long}\"}}")), "{text}");
    assert!(text.contains(&format!("why=\"it failed; {remedy}; more: swtch doctor\"}}")), "{text}");
}

#[test]
fn what_was_found_wrong_is_counted_and_says_why() {
    let mut counters = Counters::new(Limits::default());
    let count = |counters: &Counters, name: &str| of(&samples(&counters.text(&Gauges::default())), name);
    let rejected = "swtch_rejected_windows_total{figure=\"run_seconds\"}";
    counters.add_checks(&["run_seconds", "wait_seconds"], &[], None, &[("tasks", 0)].into());
    assert_eq!(count(&counters, rejected), 0.0);
    counters.add_checks(
        &["run_seconds", "wait_seconds"],
        &["run_seconds", "run_seconds"],
        Some("run_seconds: 3 is more than the time of all CPUs in ns, 2"),
        &[("tasks", 2)].into(),
    );
    assert_eq!(count(&counters, rejected), 1.0);
    assert_eq!(count(&counters, "swtch_rejected_windows_total{figure=\"wait_seconds\"}"), 0.0);
    assert_eq!(count(&counters, "swtch_backward_counters_total{of=\"tasks\"}"), 2.0);
    let text = counters.text(&Gauges::default());
    assert!(text.contains("swtch_unavailable_info{what=\"window\",why=\"run_seconds: 3 is more"), "{text}");
}
