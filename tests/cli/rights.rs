//! Capabilities: which two suffice, and what becomes of them.

use crate::common::{
    Home, SUMMARY, home, is_root, run, skip, stderr, stdout, swtch, with_summary, without_bpf,
};
use crate::scraping::Serving;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use swtch_trace::Trace;

/// CAP_BPF and CAP_PERFMON (include/uapi/linux/capability.h).
const OBSERVING: u64 = 1 << 39 | 1 << 38;
/// CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: files of others.
const FILES: u64 = 1 << 1 | 1 << 2;

/// A user who has exactly the two capabilities.
fn as_observer(home: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all,+bpf,+perfmon"])
        .args(["--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon"])
        .arg(env!("CARGO_BIN_EXE_swtch"))
        .env("XDG_STATE_HOME", home)
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

fn writable_home() -> Home {
    let home = home();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    home
}

fn impossible() -> Option<String> {
    if is_root() { without_bpf() } else { Some("only root can give a user two capabilities".to_owned()) }
}

fn set(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
}

/// Waits until every thread of a process has these capabilities, and none to pass on.
fn await_capabilities(pid: u32, expected: u64) {
    let statuses = || -> Vec<String> {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok()).collect()
    };
    let sets = |status: &String| ["CapPrm", "CapEff", "CapInh", "CapAmb"].map(|name| set(status, name));
    for _ in 0..3000 {
        let found = statuses();
        if !found.is_empty() && found.iter().all(|status| sets(status) == [expected, expected, 0, 0]) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not {expected:x}: {:?}", statuses());
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

/// A recording without capabilities sees what begins later.
#[test]
fn a_recorder_gives_up_the_capabilities_that_it_needs_no_more() {
    const TEST: &str = "a_recorder_gives_up_the_capabilities_that_it_needs_no_more";
    if let Some(why) = impossible() {
        return skip(TEST, &why);
    }
    let home = writable_home();
    // Counting programs are loaded after a minute of events, unless one of the two is asked for.
    let modes = [
        ("--events", false, 0),
        ("--counts", false, 0),
        ("--cost=profile", false, OBSERVING),
        ("--events", true, FILES),
    ];
    for (mode, as_root, kept) in modes {
        let mut recorder = if as_root { swtch(home.path()) } else { as_observer(home.path()) };
        let recorder = recorder
            .args(["record", "-a", "--no-profile", "--force", "-o", "all.swtch", SUMMARY, mode])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        await_capabilities(recorder.id(), kept);
        // A task that is there only now is seen, named and counted.
        let sleeps = "i=0; while [ $i -lt 20 ]; do sleep 0.01; i=$((i+1)); done";
        assert!(Command::new("bash").args(["-c", sleeps]).arg("late").status().unwrap().success());
        interrupt(&recorder);
        let output = recorder.wait_with_output().unwrap();
        assert!(output.status.success(), "{mode}: {}", stderr(&output));
        let trace = Trace::open(&home.path().join("all.swtch")).unwrap();
        let source = &trace.header.provenance.recorder;
        assert!(source.starts_with("bpf"), "{mode}: {source}: {}", trace.header.provenance.why);
        assert!(!trace.header.unavailable.iter().any(|row| row.field.as_str() == "dropped capabilities"));
        let late = trace.tasks.iter().filter(|task| task.comm == "bash").map(|task| task.voluntary).max();
        assert!(late >= Some(20), "{mode}: {late:?}");
        fs::remove_dir_all(home.path().join("all.swtch")).unwrap();
    }
}

#[test]
fn the_recorded_command_has_the_callers_capabilities() {
    const TEST: &str = "the_recorded_command_has_the_callers_capabilities";
    if let Some(why) = impossible() {
        return skip(TEST, &why);
    }
    let home = writable_home();
    let own = set(&fs::read_to_string("/proc/self/status").unwrap(), "CapEff");
    for (mut recorder, expected) in [(as_observer(home.path()), OBSERVING), (swtch(home.path()), own)] {
        let options = [
            "record",
            "--no-profile",
            "--force",
            "-o",
            "one.swtch",
            SUMMARY,
            "--",
            "cat",
            "/proc/self/status",
        ];
        let output = run(recorder.args(options));
        assert!(output.status.success(), "{}", stderr(&output));
        let status = stdout(&output);
        assert_eq!((set(&status, "CapPrm"), set(&status, "CapEff")), (expected, expected), "{status}");
        let found: Value = serde_json::from_str(&with_summary(home.path(), &output)).unwrap_or_default();
        assert!(found["tasks"].as_array().is_none_or(|tasks| !tasks.is_empty()), "{found}");
        fs::remove_dir_all(home.path().join("one.swtch")).unwrap();
        let _ = fs::remove_file(home.path().join("summary.json"));
    }
}

#[test]
fn top_and_serve_have_no_capability_while_they_watch() {
    const TEST: &str = "top_and_serve_have_no_capability_while_they_watch";
    if let Some(why) = impossible() {
        return skip(TEST, &why);
    }
    let home = writable_home();
    let top = as_observer(home.path())
        .args(["top", "--json", "--interval", "500ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The flight recorder has threads of its own, and writes its Trace without any capability.
    let serving = Serving::start_by(as_observer(home.path()), "127.0.0.1:0", &["--keep", "5s"]);
    await_capabilities(serving.pid(), 0);
    let before = serving.metrics();
    await_capabilities(top.id(), 0);
    std::thread::sleep(Duration::from_millis(1_200));
    let after = serving.metrics();
    let gained = |name: &str| after[name] - before[name];
    assert!(gained("swtch_context_switches_total{kind=\"voluntary\"}") > 0.0, "{after:?}");
    assert!(
        after.keys().any(|name| name.starts_with("swtch_recorder_info") && name.contains("bpf-counts")),
        "{after:?}"
    );
    assert!(!after.keys().any(|name| name.contains("dropped capabilities")), "{after:?}");
    let asked = run(as_observer(home.path()).arg("dump"));
    assert!(asked.status.success(), "{}", stderr(&asked));
    let kept = Trace::open(Path::new(stdout(&asked).trim())).unwrap();
    assert!(
        kept.tasks.iter().any(|task| task.pid == serving.pid() && task.comm == "swtch-flight"),
        "{:?}",
        kept.tasks
    );
    interrupt(&top);
    let output = top.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let windows: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = windows.last().unwrap_or_else(|| panic!("{}", stderr(&output)));
    assert!(last["source"].as_str().unwrap().starts_with("bpf"), "{}", last["why"]);
    assert!(last["totals"]["voluntary_per_s"].as_f64() > Some(0.0), "{}", last["totals"]);
}
