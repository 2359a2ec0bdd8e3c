//! The flight recorder of `swtch serve --keep`: what it keeps, when it writes it, and what limits it.

use crate::common::group::{Group, spin};
use crate::common::{home, json, run, skip, stderr, stdout, swtch, without_bpf};
use crate::scraping::Serving;
use crate::serve::ping_pong;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use swtch_trace::Trace;
use swtch_trace::tables::SwitchRow;

/// Longer than tasks wait here, and shorter than the quota stops one.
const LONG_NS: u64 = 500_000_000;

/// A wait of a task that is in a Trace: whose, and the switch that ended it.
fn long_wait(trace: &Trace, group: &Group) -> Option<SwitchRow> {
    let ours: Vec<u32> = trace
        .tasks
        .iter()
        .filter(|task| task.cgroup.as_deref() == Some(&group.path))
        .map(|task| task.tid)
        .collect();
    trace
        .switches()
        .map(Result::unwrap)
        .find(|row| ours.contains(&row.next_tid) && row.waited_ns >= Some(LONG_NS))
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
    let when = ["--keep", "5s", "--when", "wait.longest > 500ms", "--at-most", "100/h"];
    let mut serving = Serving::start(home.path(), &when);
    // On a busy machine another task may wait for as long, and its Trace may have been written before ours.
    let (trace, waited) = (0..20)
        .find_map(|_| {
            let load = spin(&[&group]);
            std::thread::sleep(Duration::from_millis(2_500));
            drop(load);
            let said = serving.next();
            assert!(said["why"].as_str().unwrap().starts_with("wait.longest was "), "{said}");
            let trace = Trace::open(Path::new(said["trace"].as_str().unwrap())).unwrap();
            let provenance = &trace.header.provenance;
            assert!(provenance.recorder == "bpf-events" && provenance.why.contains("(wait.longest > 500ms)"));
            let found = long_wait(&trace, &group);
            // It must be false again before the next.
            std::thread::sleep(Duration::from_millis(1_500));
            found.map(|found| (trace, found))
        })
        .unwrap();
    let counted = &trace.header.reconciliation[0];
    assert!((counted.counted as f64 / counted.kernel as f64 - 1.0).abs() < 0.1, "{counted:?}");
    let throttled = trace.cgroups.iter().find(|row| row.path == group.path).unwrap().throttled_ns;
    assert!(throttled >= Some(LONG_NS), "{throttled:?}");
    readable(home.path(), &trace, &waited);
    for (signal, cause) in [("USR1", "a signal asked for it"), ("", "'swtch dump' asked for it")] {
        let asked = if signal.is_empty() {
            let asked = run(swtch(home.path()).arg("dump"));
            assert!(asked.status.success(), "{}", stderr(&asked));
            stdout(&asked).trim().to_owned()
        } else {
            serving.signal(signal);
            String::new()
        };
        let said = serving.next();
        assert_eq!(said["why"], cause);
        assert!(asked.is_empty() || said["trace"] == asked.as_str(), "{asked}: {said}");
        let trace = Trace::open(Path::new(said["trace"].as_str().unwrap())).unwrap();
        // What is kept is never much longer than what was asked for: a chunk, and what a busy machine adds.
        assert!(
            (1.0..60.0).contains(&(trace.header.duration_ns as f64 / 1e9)),
            "{}",
            trace.header.duration_ns
        );
    }
    std::thread::sleep(Duration::from_millis(1_100));
    let metrics = serving.metrics();
    for cause in ["condition", "signal", "request"] {
        assert!(metrics[&format!("swtch_dumps_total{{cause=\"{cause}\"}}")] >= 1.0, "{metrics:?}");
    }
    assert!(metrics["swtch_kept_seconds"] >= 5.0 && metrics["swtch_kept_memory_bytes"] > 0.0, "{metrics:?}");
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
    for words in [
        &["report", folder, "-o", "kept.html"][..],
        &["export", folder, "--to", "perfetto", "-o", "kept.pftrace"],
    ] {
        let output = run(swtch(home).args(words));
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    }
}

/// A condition that always holds writes one Trace and says so; memory stays within its bound, and so does the directory.
#[test]
fn what_is_kept_and_written_is_bounded() {
    const TEST: &str = "what_is_kept_and_written_is_bounded";
    const KEPT: f64 = (16 << 20) as f64;
    if let Some(why) = without_bpf() {
        return skip(TEST, &why);
    }
    let home = home();
    let limits = ["--keep", "60s", "--keep-bytes", "16M", "--dumps", "traces", "--dumps-bytes", "7M"];
    let mut serving = Serving::start(home.path(), &[&limits[..], &["--when", "switches.rate > 0"]].concat());
    assert!(serving.next()["why"].as_str().unwrap().starts_with("switches.rate was "));
    // The same directory is no other's.
    let second = run(swtch(home.path()).args(["serve", "--listen", "127.0.0.1:0"]).args(limits));
    assert_eq!((second.status.code(), stderr(&second).lines().count()), (Some(1), 1));
    assert!(stderr(&second).contains("another 'swtch serve --keep'"), "{}", stderr(&second));
    let traces = || -> Vec<PathBuf> {
        let entries = fs::read_dir(home.path().join("traces")).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "swtch")).collect()
    };
    let mut metrics = serving.metrics();
    for _ in 0..200 {
        if metrics["swtch_kept_events_dropped_total"] > 0.0 {
            break;
        }
        ping_pong(50_000);
        metrics = serving.metrics();
        // A part is read from the rings before older events go.
        assert!(metrics["swtch_kept_memory_bytes"] <= 1.5 * KEPT, "{metrics:?}");
    }
    assert!(metrics["swtch_kept_events_dropped_total"] > 0.0, "{metrics:?}");
    assert!(metrics["swtch_kept_memory_bytes"] > 0.5 * KEPT, "{metrics:?}");
    // Each takes room, until there may be too little for one more.
    let refused = (0..50)
        .find_map(|_| {
            ping_pong(10_000);
            let asked = run(swtch(home.path()).args(["dump", "--dumps", "traces"]));
            (!asked.status.success()).then(|| stderr(&asked))
        })
        .unwrap();
    assert!(refused.lines().count() == 1 && refused.contains("--dumps-bytes"), "{refused}");
    let bytes = |path: &PathBuf| -> u64 {
        fs::read_dir(path).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    assert!(traces().iter().map(bytes).sum::<u64>() <= 7 << 20);
    // A scrape may get a snapshot that is a second old.
    std::thread::sleep(Duration::from_millis(1_100));
    let metrics = serving.metrics();
    assert_eq!(metrics["swtch_dumps_total{cause=\"condition\"}"], 1.0, "{metrics:?}");
    assert!(metrics["swtch_dumps_suppressed_total{reason=\"bytes\"}"] >= 1.0, "{metrics:?}");
    serving.end("TERM");
    let said = serving.complaints();
    for words in [
        "'switches.rate > 0' still holds after 5.00 s",
        "are kept instead of 60.0 s",
        "no Trace is written: ",
    ] {
        assert_eq!(said.matches(words).count(), 1, "{words}: {said}");
    }
}
