//! Recordings next to what others count of the same commands.

use crate::common::machine::alone;
use crate::common::{home, run, skip, stderr, swtch};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why this cannot be tested here, if it cannot: it takes BPF and perf.
fn missing() -> Option<String> {
    let bpf = swtch_record::plan::Facts::read().bpf.err();
    let perf = || {
        let status = Command::new("perf").arg("--version").stdout(Stdio::null()).status();
        (!status.is_ok_and(|status| status.success())).then(|| "perf is not installed".to_owned())
    };
    bpf.or_else(perf)
}

/// Records a command and returns its summary; what the command printed before is passed over.
fn recorded(home: &Path, mode: &str, command: &[&str]) -> (Value, String) {
    let mut recorder = swtch(home);
    recorder
        .args(["record", mode, "--no-profile", crate::common::SUMMARY, "--force", "-o", "one.swtch", "--"])
        .args(command);
    let output = run(&mut recorder);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = crate::common::with_summary(home, &output);
    let json = text.find("\n{").map_or(0, |end| end + 1);
    (serde_json::from_str(&text[json..]).unwrap_or_else(|error| panic!("{error}: {text}")), stderr(&output))
}

/// Voluntary and involuntary switches of the tasks with this name.
fn switches(summary: &Value, comm: &str) -> (u64, usize) {
    let tasks = summary["tasks"].as_array().unwrap();
    let named: Vec<&Value> = tasks.iter().filter(|task| task["comm"] == comm).collect();
    let of = |task: &Value| task["voluntary"].as_u64().unwrap() + task["involuntary"].as_u64().unwrap();
    (named.iter().map(|task| of(task)).sum(), named.len())
}

/// perf counts from exec to exit. The Trace also has what a task switched before exec, and its last switch, which ends it.
#[test]
fn counts_are_those_of_perf_stat() {
    const TEST: &str = "counts_are_those_of_perf_stat";
    if let Some(why) = missing() {
        return skip(TEST, &why);
    }
    for mode in ["--events", "--counts"] {
        let _machine = alone();
        let home = home();
        // A name of its own: perf itself is recorded too.
        let pings = home.path().join("pings");
        std::os::unix::fs::symlink("/bin/sh", &pings).unwrap();
        let script =
            "i=0; while [ $i -lt 200 ]; do read -r x < /proc/self/stat; sleep 0.0005; i=$((i+1)); done";
        let path = pings.to_str().unwrap();
        let command = ["perf", "stat", "-x,", "-e", "context-switches", "--no-inherit", path, "-c", script];
        let (summary, complaint) = recorded(home.path(), mode, &command);
        let line = complaint
            .lines()
            .find(|line| line.contains("context-switches"))
            .unwrap_or_else(|| panic!("{complaint}"));
        let perf: u64 = line.split(',').next().unwrap().parse().unwrap_or_else(|_| panic!("{line}"));
        let tasks = summary["tasks"].as_array().unwrap();
        // Those that the shell made and that did not get as far as exec have its name too. So the shell is the one that did
        // most.
        let of = |task: &Value| task["voluntary"].as_u64().unwrap() + task["involuntary"].as_u64().unwrap();
        let own = tasks.iter().filter(|task| task["comm"] == "pings").max_by_key(|task| of(task)).unwrap();
        // Before exec, a busy machine may preempt it any number of times.
        let most = perf + 6 + own["involuntary"].as_u64().unwrap();
        assert!(perf >= 200, "{perf}");
        assert!((perf..=most).contains(&of(own)), "{mode}: {own} for perf's {perf}");
        assert_eq!(summary["lost"], 0);
    }
}

/// At the rate of messages between many tasks, default buffers lose nothing.
#[test]
fn nothing_is_lost_at_the_rate_of_hackbench() {
    const TEST: &str = "nothing_is_lost_at_the_rate_of_hackbench";
    if let Some(why) = missing() {
        return skip(TEST, &why);
    }
    for mode in ["--events", "--counts"] {
        let _machine = alone();
        let home = home();
        let command = ["perf", "bench", "sched", "messaging", "-g", "6", "-l", "300"];
        let (summary, _) = recorded(home.path(), mode, &command);
        // In a window the kernel may refuse storage for a task that was just made. Then one wait of one window is not seen, and is
        // counted.
        let losses = summary["losses"].as_array().unwrap();
        let of_windows =
            |row: &&Value| row["what"].as_str().unwrap().starts_with("arrivals of tasks in windows");
        let (in_windows, others): (Vec<&Value>, Vec<&Value>) = losses.iter().partition(of_windows);
        assert!(others.is_empty(), "{mode}: {others:?}");
        assert!(in_windows.iter().all(|row| row["events"].as_u64() < Some(10)), "{mode}: {in_windows:?}");
        let (counted, tasks) = switches(&summary, "sched-messaging");
        // 6 groups of 20 senders and 20 receivers, and the one that made them.
        assert_eq!(tasks, 241, "{mode}");
        assert!(counted > 10_000, "{mode}: {counted} switches");
        assert_eq!(summary["processes"]["forked"], 241, "{mode}: with the command itself");
    }
}
