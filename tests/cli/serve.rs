//! `swtch serve` and `swtch export --to prometheus`: what a Prometheus gets, and what others can do to it.

use crate::common::group::{Group, spin};
use crate::common::{fixture, home, run, skip, stderr, stdout, swtch, without_bpf};
use crate::scraping::{Serving, priced, request};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};
use swtch_report::prometheus::{FamilyKind, families};
use swtch_trace::Trace;

/// Voluntary switches of two threads that hand a byte to each other.
pub fn ping_pong(rounds: u32) -> u64 {
    let own = || -> u64 {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        line.trim().parse().unwrap()
    };
    let (there, to_there) = std::io::pipe().unwrap();
    let (here, to_here) = std::io::pipe().unwrap();
    let turn = move |mut from: std::io::PipeReader, mut to: std::io::PipeWriter, first: bool| {
        let before = own();
        let mut byte = [0];
        for _ in 0..rounds {
            if first {
                to.write_all(&byte).unwrap();
                from.read_exact(&mut byte).unwrap();
            } else {
                from.read_exact(&mut byte).unwrap();
                to.write_all(&byte).unwrap();
            }
        }
        own() - before
    };
    let other = std::thread::spawn(move || turn(there, to_here, false));
    turn(here, to_there, true) + other.join().unwrap()
}

#[test]
fn what_is_done_between_two_scrapes_is_in_the_difference() {
    let home = priced();
    // Else a window may see none of these switches.
    let serving = Serving::start(home.path(), &["--sample", "100%"]);
    let before = serving.metrics();
    let done = ping_pong(5_000) as f64;
    std::thread::sleep(Duration::from_millis(1_100));
    let after = serving.metrics();
    let gained = |name: &str| after.get(name).unwrap_or(&0.0) - before.get(name).unwrap_or(&0.0);
    assert!(done > 1_000.0, "{done}");
    assert!(gained("swtch_kernel_context_switches_total") >= done, "{done}");
    if let Some(why) = without_bpf() {
        return skip("what_is_done_between_two_scrapes_is_in_the_difference (bpf)", &why);
    }
    let of = |kind: &str| gained(&format!("swtch_context_switches_total{{kind=\"{kind}\"}}"));
    assert!(of("voluntary") >= done, "{} of {done}", of("voluntary"));
    let all = of("voluntary") + of("involuntary") + of("from_idle");
    let kernel = gained("swtch_kernel_context_switches_total");
    assert!((all / kernel - 1.0).abs() < 0.1, "{all} counted, {kernel} by the kernel");
    assert!(gained("swtch_run_queue_wait_seconds_count") >= done);
    assert!(gained("swtch_run_seconds_total") > 0.0);
    let measured = gained("swtch_switch_cost_seconds_sum{kind=\"thread\"}");
    if after.contains_key("swtch_switch_cost_seconds_sum{kind=\"thread\"}") {
        assert!(measured > 0.0);
        let estimate =
            |bound: &str| gained(&format!("swtch_switch_cost_estimate_seconds_total{{bound=\"{bound}\"}}"));
        assert!(estimate("low") >= measured && estimate("high") > estimate("low"));
    }
}

/// What the counters of a serving swtch gained between two scrapes.
struct Gained {
    before: BTreeMap<String, f64>,
    after: BTreeMap<String, f64>,
}

impl Gained {
    fn over(serving: &Serving, time: Duration) -> Self {
        let before = serving.metrics();
        std::thread::sleep(time);
        Self { before, after: serving.metrics() }
    }

    /// Nothing where the series is absent.
    fn of(&self, series: &str) -> Option<f64> {
        Some(self.after.get(series)? - self.before.get(series).unwrap_or(&0.0))
    }

    fn of_group(&self, metric: &str, group: &Group, labels: &str) -> Option<f64> {
        self.of(&format!("swtch_cgroup_{metric}_total{{cgroup=\"{}\"{labels}}}", group.path))
    }
}

/// One group is stopped by its quota and has no rival in it, in the other two tasks contend for one CPU.
#[test]
fn a_wait_for_a_quota_and_a_wait_for_a_cpu_are_two_figures() {
    const TEST: &str = "a_wait_for_a_quota_and_a_wait_for_a_cpu_are_two_figures";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let (Some(limited), Some(rivals)) = (Group::new("limited.slice"), Group::new("rivals")) else {
        return skip(TEST, "no cgroup can be made here");
    };
    if !limited.limit() {
        return skip(TEST, "the cpu controller is not there for new cgroups");
    }
    let home = priced();
    let _loads = [spin(&[&limited]), spin(&[&rivals]), spin(&[&rivals]), spin(&[&rivals])];
    let serving = Serving::start(home.path(), &[]);
    std::thread::sleep(Duration::from_millis(1_100));
    let gained = Gained::over(&serving, Duration::from_secs(3));
    let text = format!("{:?}", gained.after);
    let wait =
        |group: &Group, cause: &str| gained.of_group("wait_seconds", group, &format!(",cause=\"{cause}\""));
    let Some(quota) = wait(&limited, "quota") else {
        assert!(text.contains("what=\\\"tasks.quota_ns\\\""), "{text}");
        assert!(wait(&limited, "unknown").is_some(), "{text}");
        return skip(TEST, "this kernel does not tell how long a quota stopped a task");
    };
    // The kernel's own count, by CPU: of one task the two are the same, but for the period that is underway at either scrape.
    let throttled = gained.of_group("throttled_seconds", &limited, "").unwrap();
    assert!(throttled > 0.5 && (quota / throttled - 1.0).abs() < 0.2, "{quota} of {throttled}");
    let (run, cpu) = (gained.of_group("run_seconds", &limited, "").unwrap(), wait(&limited, "cpu").unwrap());
    assert!(
        run + cpu + quota < 1.2 * gained.of("swtch_observed_seconds_total").unwrap(),
        "one task: {run} {cpu} {quota}"
    );
    let name = &limited.path[1..];
    let info = format!("swtch_cgroup_info{{cgroup=\"{}\",kind=\"slice\",name=\"{name}\",", limited.path);
    assert!(gained.after.iter().any(|(series, value)| series.starts_with(&info) && *value == 1.0), "{text}");
    // The others wait for each other: three tasks, and as many CPUs as there are.
    assert_eq!(wait(&rivals, "quota"), Some(0.0), "{text}");
    if std::thread::available_parallelism().unwrap().get() < 3 {
        assert!(wait(&rivals, "cpu").unwrap() > 0.1, "{text}");
    }
    let sum = |name: &str, label: &str| gained.of(&format!("swtch_{name}_total{{{label}}}")).unwrap();
    assert!(sum("wait_seconds", "cause=\"quota\"") >= quota - 1e-6, "{text}");
    assert!(sum("rejected_windows", "figure=\"run_seconds\"") == 0.0, "{text}");
}

/// cpu and cpuacct are two trees here. A group of the one has the path of a group of the other in which other tasks are.
#[test]
fn a_groups_time_is_that_of_its_own_tasks_whatever_the_other_tree_calls_them() {
    const TEST: &str = "a_groups_time_is_that_of_its_own_tasks_whatever_the_other_tree_calls_them";
    const OTHER_TREE: &str = "/sys/fs/cgroup/cpuacct";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let own = mounts.lines().any(|line| line.contains(OTHER_TREE) && line.ends_with("rw,cpuacct"));
    if !own || !mounts.lines().any(|line| line.ends_with("rw,cpu")) {
        return skip(TEST, "cpu and cpuacct are not two hierarchies here");
    }
    let parent = Group::new("jobs").unwrap();
    let (one, other) = (parent.below("one").unwrap(), parent.below("other").unwrap());
    let account = parent.elsewhere(OTHER_TREE).unwrap();
    let home = priced();
    let _loads = [spin(&[&one, &account]), spin(&[&other]), spin(&[&other])];
    let serving = Serving::start(home.path(), &[]);
    std::thread::sleep(Duration::from_millis(1_100));
    let usage = || -> f64 {
        fs::read_to_string(account.folder.join("cpuacct.usage")).unwrap().trim().parse::<f64>().unwrap() / 1e9
    };
    let before = usage();
    let gained = Gained::over(&serving, Duration::from_secs(3));
    let counted = usage() - before;
    let cpu = |group: &Group| gained.of_group("cpu_seconds", group, "");
    let run = |group: &Group| gained.of_group("run_seconds", group, "").unwrap();
    // The parent has the path of what counts one of its children.
    assert_eq!((cpu(&parent), cpu(&other)), (None, None), "{:?}", gained.after);
    let of_one = cpu(&one).unwrap();
    assert!((of_one / counted - 1.0).abs() < 0.15, "{of_one} of {counted}");
    assert!((run(&one) / of_one - 1.0).abs() < 0.15, "{} of {of_one}", run(&one));
    assert!(run(&other) > 0.3 * run(&one), "{:?}", gained.after);
    assert!(
        gained.after.keys().any(|name| name.contains("what=\"swtch_cgroup_cpu_seconds_total\"")),
        "{:?}",
        gained.after
    );
    // Whatever is shown can be chosen in the dashboard, which goes by switches.
    let groups = |metric: &str| -> BTreeSet<String> {
        let label = |name: &String| {
            let labels = name.strip_prefix(metric)?;
            // A distribution's own label comes first.
            Some(
                labels
                    .rsplit_once("cgroup=\"")
                    .map_or(labels, |(_, rest)| rest)
                    .split('"')
                    .next()?
                    .to_owned(),
            )
        };
        gained.after.keys().filter_map(label).filter(|group| group != "other").collect()
    };
    let (shown, chosen) = (groups("swtch_cgroup_"), groups("swtch_cgroup_context_switches_total"));
    assert!(shown.contains(&parent.path) && shown.contains(&other.path), "{shown:?}");
    assert_eq!(shown, chosen);
}

/// Short processes come and go, which is when sums of tasks could go back.
#[test]
fn no_counter_falls_while_processes_come_and_go() {
    let home = priced();
    let serving = Serving::start(home.path(), &["--interval", "1s"]);
    let mut load = Command::new("sh").args(["-c", "while :; do /bin/true; done"]).spawn().unwrap();
    let mut before: BTreeMap<String, f64> = BTreeMap::new();
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(1_050));
        let now = serving.metrics();
        let counts = |name: &&String| {
            ["_total", "_bucket", "_count", "_sum"]
                .iter()
                .any(|end| name.split('{').next().unwrap().ends_with(end))
        };
        for (name, earlier) in before.iter().filter(|(name, _)| counts(name)) {
            // A group of cpu that no group of cpuacct matches any more has no time of its own.
            if name.starts_with("swtch_cgroup_cpu_seconds_total{") && !now.contains_key(name) {
                continue;
            }
            let value = now.get(name).unwrap_or_else(|| panic!("{name} is gone"));
            assert!(value >= earlier, "{name} fell from {earlier} to {value}");
        }
        before = now;
    }
    load.kill().unwrap();
    load.wait().unwrap();
    if let Some(why) = without_bpf() {
        return skip("no_counter_falls_while_processes_come_and_go (bpf)", &why);
    }
    assert!(before["swtch_exits_total"] > 20.0 && before["swtch_execs_total"] > 20.0);
    let kinds = ["voluntary", "involuntary", "from_idle"];
    let all: f64 =
        kinds.iter().map(|kind| before[&format!("swtch_context_switches_total{{kind=\"{kind}\"}}")]).sum();
    let kernel = before["swtch_kernel_context_switches_total"];
    assert!((all / kernel - 1.0).abs() < 0.1, "{all} counted, {kernel} by the kernel");
    let refused = before
        .iter()
        .filter(|(name, value)| name.starts_with("swtch_rejected_windows_total") && **value > 0.0);
    assert_eq!(refused.collect::<Vec<_>>(), [], "a window was left out");
}

#[test]
fn pages_and_methods() {
    let home = home();
    let serving = Serving::start(home.path(), &["--source", "procfs"]);
    for (asked, status, words) in [
        ("GET /metrics HTTP/1.1", "200 OK", "# EOF\n"),
        ("GET /metrics?x=1 HTTP/1.0", "200 OK", "# EOF\n"),
        ("GET / HTTP/1.1", "200 OK", "href=\"/metrics\""),
        ("GET /healthz HTTP/1.1", "200 OK", "ok\n"),
        ("GET /metrics/ HTTP/1.1", "404 Not Found", "404"),
        ("GET /../etc/passwd HTTP/1.1", "404 Not Found", "404"),
        ("POST /metrics HTTP/1.1", "405 Method Not Allowed", "Allow: GET, HEAD"),
        ("DELETE / HTTP/1.1", "405 Method Not Allowed", "405"),
    ] {
        let answer = request(serving.address, &format!("{asked}\r\nHost: x\r\n\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{asked}: {answer}");
        assert!(answer.contains(words), "{asked}: {answer}");
    }
    let whole = request(serving.address, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(
        whole.contains("\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n")
    );
    let head = request(serving.address, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn nobody_can_stall_it() {
    let home = home();
    let serving = Serving::start(home.path(), &["--source", "procfs"]);
    let open = || TcpStream::connect(serving.address).unwrap();
    // More than there are places: those that were first give way.
    let mut idle: Vec<TcpStream> = (0..300).map(|_| open()).collect();
    for (number, stream) in idle.iter_mut().enumerate().skip(200) {
        let _ = stream.write_all(&b"GET /metrics HTTP/1.1\r\nX: "[..5 + number % 20]);
    }
    let mut garbage = open();
    garbage.write_all(&[0x16, 0x03, 0x01, 0x00, 0xff, b'\r', b'\n', b'\r', b'\n', 0, 0xff]).unwrap();
    let mut answer = String::new();
    garbage.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let mut giant = open();
    let _ = giant.write_all(b"GET /metrics HTTP/1.1\r\nX: ");
    let block = [b'x'; 1 << 12];
    // It is thrown away, until the server has enough of it.
    for _ in 0..1024 {
        if giant.write_all(&block).is_err() {
            break;
        }
    }
    let mut greedy = open();
    greedy.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    for _ in 0..3 {
        let begun = Instant::now();
        let metrics = serving.metrics();
        assert!(metrics.contains_key("swtch_kernel_context_switches_total"));
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        // Memory does not grow with what was sent.
        assert!(metrics["swtch_recorder_memory_bytes"] < 60e6, "{}", metrics["swtch_recorder_memory_bytes"]);
    }
    // A header that is a little too long gets that answer.
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9000));
    assert!(request(serving.address, &long).starts_with("HTTP/1.1 431 "));
}

#[test]
fn it_ends_cleanly_and_says_what_hinders_it() {
    let home = home();
    for signal in ["TERM", "INT"] {
        let mut serving = Serving::start(home.path(), &[]);
        let taken = run(swtch(home.path()).args(["serve", "--listen", &serving.address.to_string()]));
        let said = stderr(&taken);
        assert_eq!(taken.status.code(), Some(1), "{said}");
        assert!(said.lines().count() == 1 && said.contains("in use") && said.contains("--listen"), "{said}");
        assert_eq!(serving.end(signal), Some(0));
        assert!(TcpStream::connect(serving.address).is_err());
    }
    for arguments in [
        &["--listen", "nowhere"][..],
        &["--interval", "0s"],
        &["--interval", "1h"],
        &["--source", "magic"],
        &["--once", "--listen", "127.0.0.1:0"],
        &["--max-cgroups", "-1"],
    ] {
        let output = run(swtch(home.path()).arg("serve").args(arguments));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{arguments:?}: {}", stderr(&output));
    }
    let output = run(swtch(home.path()).args(["serve", "--once", "--profile", "no.json"]));
    assert!(output.status.code() == Some(1) && stderr(&output).contains("no.json"), "{}", stderr(&output));
}

#[test]
fn others_on_the_network_are_warned_of() {
    let home = home();
    let mut serving = Serving::start_at(home.path(), "0.0.0.0:0", &["--source", "procfs"]);
    serving.end("TERM");
    let said = serving.complaints();
    assert!(said.lines().count() == 1 && said.contains("can read the names"), "{said}");
    let mut serving = Serving::start(home.path(), &["--source", "procfs"]);
    serving.end("TERM");
    assert_eq!(serving.complaints(), "");
}

/// A missing figure is absent and has a reason.
#[test]
fn without_privilege_the_kernels_own_counters_are_there() {
    let home = home();
    let text = stdout(&run(swtch(home.path()).args(["serve", "--once", "--source", "procfs"])));
    let found = crate::scraping::samples(&text);
    assert!(found["swtch_kernel_context_switches_total"] > 0.0);
    assert!(found.keys().any(|name| name.starts_with("swtch_cpu_seconds_total{")), "{text}");
    for name in [
        "swtch_context_switches_total",
        "swtch_run_seconds_total",
        "swtch_threads",
        "swtch_lost_events_total",
    ] {
        assert!(!found.keys().any(|key| key.split('{').next() == Some(name)), "{name} is there: {text}");
    }
    for what in ["tasks", "totals.context_switches", "swtch_switch_cost_estimate_seconds_total"] {
        assert!(text.contains(&format!("swtch_unavailable_info{{what=\"{what}\",why=\"")), "{what}: {text}");
    }
}

#[test]
fn a_client_gets_the_format_that_it_reads() {
    let home = home();
    let serving = Serving::start(home.path(), &["--source", "procfs"]);
    let asked = |accept: &str| {
        request(serving.address, &format!("GET /metrics HTTP/1.1\r\nAccept: {accept}\r\n\r\n"))
    };
    let open =
        asked("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1");
    assert!(
        open.contains("Content-Type: application/openmetrics-text") && open.ends_with("# EOF\n"),
        "{open}"
    );
    let older = asked("text/plain;version=0.0.4");
    assert!(older.contains("Content-Type: text/plain; version=0.0.4"), "{older}");
    assert!(
        older.contains("\n# TYPE swtch_observed_seconds_total counter\nswtch_observed_seconds_total "),
        "{older}"
    );
    assert!(!older.contains("# EOF") && !older.contains("# UNIT"), "{older}");
    // In the same second both are of one look.
    let names = |answer: &str| -> BTreeSet<String> {
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        body.lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.rsplit_once(' ').unwrap().0.to_owned())
            .collect()
    };
    assert_eq!(names(&open), names(&older));
}

#[test]
fn there_are_no_more_series_than_asked_for() {
    let home = home();
    let arguments = ["serve", "--once", "--source", "procfs", "--max-irqs", "1", "--max-cgroups", "0"];
    let text = stdout(&run(swtch(home.path()).args(arguments)));
    let found = crate::scraping::samples(&text);
    let of = |family: &str| found.keys().filter(|name| name.starts_with(&format!("{family}{{"))).count();
    assert!(of("swtch_interrupts_total") <= 2, "{text}");
    assert!(
        found.keys().filter(|name| name.contains("cgroup=")).all(|name| name.contains("cgroup=\"other\"")),
        "{text}"
    );
}

#[test]
fn a_traces_totals_come_out_again() {
    let home = priced();
    for name in ["machine", "procfs"] {
        let folder = fixture(&format!("traces/{name}.swtch"));
        let trace = Trace::open(&folder).unwrap();
        let out = home.path().join("out.prom");
        let arguments = ["export", folder.to_str().unwrap(), "--to", "prometheus"];
        let printed = run(swtch(home.path()).args(arguments));
        assert!(printed.status.success(), "{}", stderr(&printed));
        let text = stdout(&printed);
        let summary =
            crate::common::json(swtch(home.path()).args(arguments).args(["--json", "-o", "out.prom"]));
        assert_eq!(fs::read_to_string(&out).unwrap(), text);
        let found = crate::scraping::samples(&text);
        assert_eq!(summary["samples"], found.len());
        let totals = &trace.header.totals;
        let switches = &totals.context_switches;
        for (kind, count) in [
            ("voluntary", switches.voluntary),
            ("involuntary", switches.involuntary),
            ("from_idle", switches.idle),
        ] {
            let sample = found.get(&format!("swtch_context_switches_total{{kind=\"{kind}\"}}"));
            assert_eq!(sample.copied(), count.map(|count| count as f64), "{name} {kind}");
        }
        let run_ns: u64 = trace.tasks.iter().filter(|task| task.in_scope).map(|task| task.run_ns).sum();
        assert!((found["swtch_run_seconds_total"] - run_ns as f64 / 1e9).abs() < 1e-6);
        if let Some(ns) = totals.switch_cost_ns {
            let kinds = ["thread", "process", "from_or_to_idle"];
            let sums = kinds.map(|kind| found[&format!("swtch_switch_cost_seconds_sum{{kind=\"{kind}\"}}")]);
            assert!((sums.iter().sum::<f64>() - ns as f64 / 1e9).abs() < 1e-6);
        }
        assert!(found["swtch_switch_cost_estimate_seconds_total{bound=\"high\"}"] > 0.0);
    }
    let folder = fixture("traces/machine.swtch");
    let wrong = ["export", folder.to_str().unwrap(), "--to", "prometheus", "--table", "tasks"];
    assert_eq!(run(swtch(home.path()).args(wrong)).status.code(), Some(2));
}

/// Whether what a query makes by joining the names of cgroups has such a label from either side.
fn is_joined(query: &str, label: &str) -> bool {
    query.contains("on (instance, cgroup) group_left (name) swtch_cgroup_info")
        && crate::scraping::selectors(query).iter().any(|(name, _)| {
            families().iter().any(|family| family.name() == *name && family.labels.contains(&label))
        })
}

/// Metrics that this machine may not give, and what `swtch_unavailable_info` says then.
const EXCUSES: [(&str, &str); 5] = [
    ("swtch_switch_cost", "swtch_switch_cost_seconds"),
    ("swtch_cgroup_", "cgroups"),
    ("swtch_cgroup_", "swtch_cgroup_"),
    ("swtch_pressure", "pressure"),
    ("swtch_pressure", "swtch_pressure"),
];

/// Every query of the dashboard asks for what there is.
#[test]
fn the_dashboard_asks_for_metrics_that_exist() {
    let home = priced();
    let text = stdout(&run(swtch(home.path()).args(["serve", "--dashboard"])));
    let board: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(
        board["schemaVersion"].as_u64() >= Some(39)
            && board["uid"].as_str().is_some_and(|uid| !uid.is_empty())
    );
    let variables: Vec<&str> = board["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    assert_eq!(variables, ["datasource", "instance", "cgroup"]);
    // Every group that is shown has switches, and hardly any has all of the other figures.
    let by = board["templating"]["list"][2]["definition"].as_str().unwrap();
    assert!(by.starts_with("label_values(swtch_cgroup_context_switches_total{"), "{by}");
    assert_eq!(board["templating"]["list"][2]["query"]["query"], by);
    for place in crate::scraping::values(&board, "datasource") {
        assert_eq!(place["uid"], "${datasource}", "another data source: {place}");
    }
    let ids: Vec<u64> =
        board["panels"].as_array().unwrap().iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    let mut queries: Vec<String> = crate::scraping::values(&board, "expr")
        .iter()
        .map(|expr| expr.as_str().unwrap().to_owned())
        .collect();
    queries.extend(
        crate::scraping::values(&board, "definition").iter().map(|expr| expr.as_str().unwrap().to_owned()),
    );
    assert!(queries.len() > 30, "{}", queries.len());
    let scrape = stdout(&run(swtch(home.path()).args(["serve", "--once"])));
    let mut asked = Vec::new();
    for query in &queries {
        for (name, labels) in crate::scraping::selectors(query) {
            let known = |ending: &str| {
                families().iter().find(|family| family.name() == name.strip_suffix(ending).unwrap_or(&name))
            };
            let family = ["_bucket", "_sum", "_count", ""].iter().find_map(|ending| {
                known(ending).filter(|family| ending.is_empty() || family.kind == FamilyKind::Histogram)
            });
            let family = family.unwrap_or_else(|| panic!("there is no {name}, which '{query}' asks for"));
            for label in labels {
                let own = family.labels.contains(&label.as_str())
                    || label == "instance"
                    || is_joined(query, &label);
                assert!(
                    own || label == "le" && query.contains("_bucket{"),
                    "{name} has no label {label}: '{query}'"
                );
            }
            asked.push((family.name(), query));
        }
    }
    if let Some(why) = without_bpf() {
        return skip("the_dashboard_asks_for_metrics_that_exist (bpf)", &why);
    }
    for (name, query) in asked {
        let there = scrape.lines().any(|line| line.starts_with(&name));
        let excused = EXCUSES.iter().any(|(start, what)| {
            name.starts_with(start) && scrape.contains(&format!("swtch_unavailable_info{{what=\"{what}"))
        });
        assert!(there || excused, "{name} is not in a scrape, but '{query}' asks for it:\n{scrape}");
    }
}
