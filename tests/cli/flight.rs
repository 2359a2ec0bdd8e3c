//! The flight recorder of `swtch serve --keep`: what it keeps, when it writes it, and what limits it.

use crate::common::examples::docs;
use crate::common::group::{Group, Running};
use crate::common::{home, json, run, skip, stderr, stdout, swtch, without_bpf};
use crate::scraping::Serving;
use crate::serve::ping_pong;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use swtch_record::flight::FIELDS;
use swtch_trace::Trace;
use swtch_trace::tables::SwitchRow;

/// A program of a name that no other has, which computes in a cgroup.
const STOPPED: &str = "swtch-stopped";
/// Shorter than its quota stops it.
const LONG_NS: u64 = 500_000_000;

/// The switch that ended its first long wait.
fn long_wait(trace: &Trace) -> SwitchRow {
    let ours: Vec<u32> =
        trace.tasks.iter().filter(|task| task.comm == STOPPED).map(|task| task.tid).collect();
    let is_ours = |row: &SwitchRow| ours.contains(&row.next_tid) && row.waited_ns >= Some(LONG_NS);
    trace.switches().map(Result::unwrap).find(is_ours).unwrap()
}

/// A quota of 10 ms in a second stops a task that computes: a wait that is known, and that disturbs no other test.
#[test]
fn a_wait_is_in_the_trace_that_it_triggers() {
    const TEST: &str = "a_wait_is_in_the_trace_that_it_triggers";
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let Some(group) = Group::new("kept").filter(|group| group.quota_us(10_000, 1_000_000)) else {
        return skip(TEST, "no cgroup with a quota can be made here");
    };
    let home = home();
    let condition = format!("wait.longest > 500ms for task {STOPPED}");
    let mut serving = Serving::start(home.path(), &["--keep", "5s", "--when", &condition]);
    let program = home.path().join(STOPPED);
    fs::copy("/bin/sh", &program).unwrap();
    let order = group.script("while :; do :; done");
    let load = Running(Command::new(program).args(&order[1..]).stdin(Stdio::null()).spawn().unwrap());
    let said = serving.next();
    drop(load);
    assert!(said["why"].as_str().unwrap().starts_with("wait.longest was "), "{said}");
    let trace = Trace::open(Path::new(said["trace"].as_str().unwrap())).unwrap();
    let provenance = &trace.header.provenance;
    assert!(provenance.recorder == "bpf-events" && provenance.why.contains(&condition), "{}", provenance.why);
    let counted = &trace.header.reconciliation[0];
    let known = counted.counted + trace.header.lost.iter().map(|lost| lost.events).sum::<u64>();
    assert!((known as f64 / counted.kernel as f64 - 1.0).abs() < 0.1, "{counted:?}");
    let throttled = trace.cgroups.iter().find(|row| row.path == group.path).unwrap().throttled_ns;
    assert!(throttled >= Some(LONG_NS), "{throttled:?}");
    readable(home.path(), &trace, &long_wait(&trace));
    serving.signal("USR1");
    assert_eq!(serving.next()["why"], "a signal asked for it");
    let asked = run(swtch(home.path()).arg("dump"));
    assert!(asked.status.success(), "{}", stderr(&asked));
    let said = serving.next();
    assert_eq!(
        (&said["why"], &said["trace"]),
        (&"'swtch dump' asked for it".into(), &stdout(&asked).trim().into())
    );
    Trace::open(Path::new(stdout(&asked).trim())).unwrap();
    // A scrape may get a snapshot that is a second old.
    std::thread::sleep(Duration::from_millis(1_100));
    let metrics = serving.metrics();
    for cause in ["condition", "signal", "request"] {
        assert_eq!(metrics[&format!("swtch_dumps_total{{cause=\"{cause}\"}}")], 1.0, "{metrics:?}");
    }
    assert!(metrics["swtch_kept_seconds"] > 0.0 && metrics["swtch_kept_memory_bytes"] > 0.0, "{metrics:?}");
    assert_eq!(serving.end("TERM"), Some(0));
    // Its socket is gone with it.
    let asked = run(swtch(home.path()).arg("dump"));
    assert_eq!((asked.status.code(), stderr(&asked).lines().count()), (Some(1), 1), "{}", stderr(&asked));
    assert!(stderr(&asked).contains("no 'swtch serve --keep' writes to "), "{}", stderr(&asked));
}

/// Other commands read it as any Trace; `why` finds the wait in a span around it.
fn readable(home: &Path, trace: &Trace, waited: &SwitchRow) {
    let task = trace.tasks.iter().find(|task| task.tid == waited.next_tid).unwrap();
    let folder = trace.folder().to_str().unwrap();
    let end_ns = trace.header.provenance.started_monotonic_ns + waited.at_ns;
    let begin_ns = end_ns - waited.waited_ns.unwrap();
    let event = serde_json::json!({
        "event": "spans", "name": "stopped", "pid": task.pid, "tid": task.tid,
        "begin_ns": [begin_ns - 2000, begin_ns], "end_ns": [begin_ns - 1000, end_ns], "id": ["1", "2"],
    });
    fs::write(home.join("spans.jsonl"), format!("{event}\n")).unwrap();
    let why = json(swtch(home).args(["why", folder, "--spans", "spans.jsonl", "--slowest", "50%", "--json"]));
    let causes = why["slow"]["causes"].as_array().unwrap();
    let waits = causes.iter().filter(|part| part["cause"] == "run_queue" || part["cause"] == "throttled");
    assert!(waits.map(|part| part["share"].as_f64().unwrap()).sum::<f64>() > 0.9, "{why:#}");
    let page = ["report", folder, "-o", "kept.html"];
    for words in [&page[..], &["export", folder, "--to", "perfetto", "-o", "kept.pftrace"]] {
        let output = run(swtch(home).args(words));
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    }
}

/// A condition that always holds writes one Trace and says so; memory stays within its bound.
#[test]
fn what_is_kept_and_written_is_bounded() {
    const TEST: &str = "what_is_kept_and_written_is_bounded";
    const KEPT: f64 = (16 << 20) as f64;
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = home();
    let limits = ["--keep", "60s", "--keep-bytes", "16M", "--dumps", "traces"];
    let mut serving = Serving::start(home.path(), &[&limits[..], &["--when", "switches.rate > 0"]].concat());
    assert!(serving.next()["why"].as_str().unwrap().starts_with("switches.rate was "));
    let written = Instant::now();
    // Another server cannot have the same directory.
    let second = run(swtch(home.path()).args(["serve", "--listen", "127.0.0.1:0"]).args(limits));
    assert_eq!((second.status.code(), stderr(&second).lines().count()), (Some(1), 1));
    assert!(stderr(&second).contains("another 'swtch serve --keep'"), "{}", stderr(&second));
    let mut metrics = serving.metrics();
    for _ in 0..200 {
        if metrics["swtch_kept_events_dropped_total"] > 0.0 && written.elapsed() > Duration::from_secs(8) {
            break;
        }
        ping_pong(20_000);
        metrics = serving.metrics();
        // A part is read from the rings before older events go.
        assert!(metrics["swtch_kept_memory_bytes"] <= 1.5 * KEPT, "{metrics:?}");
    }
    assert!(metrics["swtch_kept_events_dropped_total"] > 0.0, "{metrics:?}");
    assert_eq!(metrics["swtch_dumps_total{cause=\"condition\"}"], 1.0, "{metrics:?}");
    serving.end("TERM");
    let said = serving.complaints();
    for words in ["'switches.rate > 0' still holds after 5.00 s", "are kept instead of 60.0 s"] {
        assert_eq!(said.matches(words).count(), 1, "{words}: {said}");
    }
    // No Trace is written that could take more than is left.
    let mut full = Serving::start(home.path(), &["--keep", "1s", "--dumps", "traces", "--dumps-bytes", "1M"]);
    for _ in 0..2 {
        let asked = run(swtch(home.path()).args(["dump", "--dumps", "traces"]));
        assert_eq!((asked.status.code(), stderr(&asked).lines().count()), (Some(1), 1), "{}", stderr(&asked));
        assert!(stderr(&asked).contains("--dumps-bytes 1048576"), "{}", stderr(&asked));
    }
    full.end("TERM");
    assert_eq!(full.complaints().matches("no Trace is written: ").count(), 1);
    assert_eq!(fs::read_dir(home.path().join("traces")).unwrap().count(), 1);
}

/// `SWTCH_WRITE_PAGES=1` writes the table.
#[test]
fn the_page_has_every_field_of_a_condition() {
    let rows: Vec<String> =
        FIELDS.iter().map(|field| format!("| `{}` | {} |\n", field.name, field.meaning)).collect();
    let table = format!("| field | meaning |\n| --- | --- |\n{}", rows.concat());
    let path = docs().join("howto/slow-at-night.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- begin fields -->\n").unwrap();
    let (found, after) = rest.split_once("<!-- end fields -->").unwrap();
    if std::env::var_os("SWTCH_WRITE_PAGES").is_some() {
        fs::write(&path, format!("{before}<!-- begin fields -->\n{table}<!-- end fields -->{after}"))
            .unwrap();
    }
    assert_eq!(found, table, "docs/howto/slow-at-night.md is old; SWTCH_WRITE_PAGES=1 writes it");
}
