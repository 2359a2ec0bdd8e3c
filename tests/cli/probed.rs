//! `swtch probe`: what an interruption costs a program, what `record` makes of it, and what is refused.

use crate::common::machine::alone;
use crate::common::{SUMMARY, home, is_root, json, run, skip, stderr, swtch};
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// Goes on for ever, with a system call for each piece of its work.
const COPYING: [&str; 4] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"];

fn figure(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// What runs with this word among its arguments.
fn running(word: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let of = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let has = |pid: &u32| of(*pid).split(|byte| *byte == 0).any(|part| part == word.as_bytes());
    pids.filter(has).collect()
}

fn ends(word: &str) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        if running(word).is_empty() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// A probe has its figures in order, leaves nothing behind, and bounds the bill of the same command and of no other.
#[test]
fn a_probe_narrows_the_bill_of_its_command() {
    const TEST: &str = "a_probe_narrows_the_bill_of_its_command";
    if !is_root() {
        return skip(TEST, "only root has the real-time class for certain");
    }
    let _machine = alone();
    let home = home();
    // A number of its own, by which it is found among the processes; `record` waits for its end.
    let own = format!("count={}", 400_000 + u64::from(std::process::id()) % 1000);
    let command = [COPYING.as_slice(), &[own.as_str()]].concat();
    let mut probing = swtch(home.path());
    probing
        .args([
            "probe",
            "--time-limit",
            "8s",
            "--sizes",
            "48K,256K",
            "--progress",
            "system-calls",
            "--json",
            "--",
        ])
        .args(&command);
    let probe = json(&mut probing);
    assert!(running(&own).is_empty(), "the command still runs");
    assert_eq!((&probe["schema"], &probe["progress"]), (&"swtch/probe/1".into(), &"system-calls".into()));
    let costs = |name: &str| probe[name].as_array().unwrap().clone();
    let sizes = |name: &str| -> Vec<u64> {
        costs(name).iter().map(|cost| cost["displaced_bytes"].as_u64().unwrap()).collect()
    };
    assert!(sizes("interruption_ns").contains(&0), "{probe}");
    assert_eq!(sizes("refill_ns"), [48 << 10, 256 << 10]);
    for cost in costs("interruption_ns").iter().chain(&costs("refill_ns")) {
        let [low, median, high] = ["ci_low", "median", "ci_high"].map(|name| figure(&cost[name]));
        assert!(low <= median && median <= high, "{cost}");
    }
    let share = &probe["bill_share"];
    let (low, high) = (figure(&share["low"]), figure(&share["high"]));
    assert!((0.0..=high).contains(&low) && high <= 1.0, "{share}");
    let kept: Vec<_> = fs::read_dir(home.path().join("swtch/probes")).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(kept[0].path()).unwrap()).unwrap(), probe);

    // `record` finds it by the whole command.
    let header = |command: &[&str], out: &str| -> Value {
        let mut recording = swtch(home.path());
        recording.args(["record", "--no-profile", "-o", out, SUMMARY, "--"]);
        let output = run(recording.args(command));
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice(&fs::read(home.path().join(out).join("header.json")).unwrap()).unwrap()
    };
    let with = header(&command, "with.swtch");
    assert_eq!(with["probed"]["program"], "dd");
    let highest = costs("refill_ns").iter().map(|cost| figure(&cost["ci_high"])).fold(0.0, f64::max);
    assert!((figure(&with["probed"]["refill_high_ns"]) - highest).abs() < 1e-6, "{with}");
    let other = [COPYING.as_slice(), &["count=1"]].concat();
    assert_eq!(header(&other, "without.swtch")["probed"], Value::Null);
}

/// Its end, of whatever kind, is the command's.
#[test]
fn a_killed_probe_leaves_no_command_behind() {
    const TEST: &str = "a_killed_probe_leaves_no_command_behind";
    if !is_root() {
        return skip(TEST, "only root has the real-time class for certain");
    }
    let _machine = alone();
    let home = home();
    let own = format!("ibs={}", 131_072 + u64::from(std::process::id()));
    let mut probing = swtch(home.path());
    let mut probing = probing.args(["probe", "--"]).args(COPYING).arg(&own).spawn().unwrap();
    let began = Instant::now();
    // Its own command line has the word too.
    while running(&own).len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(20), "the command did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    probing.kill().unwrap();
    probing.wait().unwrap();
    assert!(ends(&own), "still there: {:?}", running(&own));
}

#[test]
fn what_cannot_be_probed_is_one_line() {
    const TEST: &str = "what_cannot_be_probed_is_one_line";
    if !is_root() {
        return skip(TEST, "only root has the real-time class for certain");
    }
    let _machine = alone();
    let home = home();
    let without_rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    let cases: [(&[&str], &[&str], &str, i32); 6] = [
        (&[], &["true"], "swtch: 'true' ends after", 1),
        (&[], &["false"], "swtch: 'false' ended with status 1", 1),
        (&[], &["sh", "-c", "echo no room >&2; exit 3"], "ended with status 3 (no room)", 1),
        (&[], &["no-such-program"], "swtch: cannot start 'no-such-program'", 1),
        (&[], &["sh", "-c", "while :; do :; done"], "swtch: nothing tells how far 'sh' comes", 1),
        (&without_rights, &["true"], "swtch: cannot interrupt the command from the real-time class", 1),
    ];
    for (rights, command, words, status) in cases {
        let program = env!("CARGO_BIN_EXE_swtch");
        let words_of_it = [rights, &[program, "probe", "--time-limit", "8s", "--"], command].concat();
        let mut probing = Command::new(words_of_it[0]);
        let output = run(probing.args(&words_of_it[1..]).env("XDG_STATE_HOME", home.path()));
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{command:?}: {complaint}");
        assert!(complaint.contains(words) && complaint.trim_end().lines().count() == 1, "{complaint}");
        assert!(output.stdout.is_empty());
    }
}
