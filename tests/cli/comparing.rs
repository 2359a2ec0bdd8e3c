//! `swtch compare` and `swtch try`: commands by repeated runs.

use crate::common::{home, json, run, stderr, stdout, swtch, without_bpf};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// A shell that sleeps again and again: two switches at least each time.
fn sleeps(times: u32) -> String {
    format!("i=0; while [ $i -lt {times} ]; do sleep 0.001; i=$((i + 1)); done")
}

fn change<'a>(run: &'a Value, metric: &str) -> &'a Value {
    run["changes"].as_array().unwrap().iter().find(|change| change["metric"] == metric).unwrap()
}

#[test]
fn a_known_difference_of_switches_is_found() {
    let home = home();
    let (few, many) = (sleeps(5), sleeps(15));
    let out = home.path().join("compared.html");
    let mut command = swtch(home.path());
    command.args(["compare", "--json", "--runs", "6", "-o"]).arg(&out);
    let found = json(command.args([&few, &many, &few]));
    assert_eq!((&found["schema"], &found["verdict"]), (&"swtch/compare/1".into(), &"worse".into()));
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    for run in runs {
        for figure in ["seconds", "cpu_seconds", "context_switches"] {
            let of = |name: &str| run[figure][name].as_f64().unwrap();
            assert!(of("ci_low") <= of("median") && of("median") <= of("ci_high"), "{figure} of {run}");
        }
    }
    let switches = change(&runs[1], "switches");
    assert_eq!((&switches["verdict"], &runs[1]["verdict"]), (&"worse".into(), &"worse".into()), "{switches}");
    // The shell's own switches are in both. Other programs preempt either as often as they like, so the size is that of the voluntary ones.
    let voluntary = change(&runs[1], "voluntary");
    let (low, high) = (voluntary["ci_low"].as_f64().unwrap(), voluntary["ci_high"].as_f64().unwrap());
    assert!(1.8 < low && high < 4.0, "{voluntary}");
    // The same command in the first and the last place: the order favours neither.
    let again = change(&runs[2], "voluntary");
    assert!(again["verdict"] == "same" || again["verdict"] == "unclear", "{again}");
    if without_bpf().is_none() {
        assert_eq!(found["source"], "bpf-counts");
        assert!(runs[0]["wait_seconds"]["median"].is_number(), "{found}");
    }
    let page = fs::read_to_string(&out).unwrap();
    assert!(page.contains("context switches") && page.contains("worse"), "{page}");
}

#[test]
fn parameters_make_commands_and_something_precedes_each_run() {
    let home = home();
    let mut command = swtch(home.path());
    command.current_dir(home.path()).args(["compare", "--runs", "2", "--json", "--parameter", "n=1,2"]);
    command.args(["--prepare", "echo {n} >> ran", "--", "test", "-s", "ran", "--", "sleep", "0.00{n}"]);
    let found = json(&mut command);
    let named: Vec<&str> =
        found["runs"].as_array().unwrap().iter().map(|run| run["command"].as_str().unwrap()).collect();
    assert_eq!(named, ["test -s ran", "sleep 0.001", "sleep 0.002"]);
    assert_eq!(found["runs"][2]["parameters"]["n"], "2");
    assert_eq!(fs::read_to_string(home.path().join("ran")).unwrap().lines().count(), 9);
}

#[test]
fn a_command_that_fails_is_an_error_with_its_last_lines() {
    let home = home();
    let failing = |options: &[&str]| {
        run(swtch(home.path())
            .args(["compare", "--runs", "2"])
            .args(options)
            .args(["true", "echo no table >&2; exit 3"]))
    };
    let output = failing(&[]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = stderr(&output);
    assert!(complaint.contains("ended with status 3 (no table); --ignore-failure"), "{complaint}");
    let output = failing(&["--ignore-failure"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("ended with status 3."), "{}", stdout(&output));
    for (line, expected) in [
        (&["--", "/no/such/program"][..], "cannot start '/no/such/program'"),
        (&["--timeout", "50ms", "--", "sleep", "1000"], "ran for longer than 50.0 ms"),
        (&["--prepare", "exit 5", "--", "true"], "'exit 5', which --prepare runs"),
        (&["--time-limit", "0", "--", "true"], "the time limit came before every command had run once"),
        (
            &["--time-limit", "500ms", "--", "sleep", "1000", "--", "true"],
            "the time limit came before every command had run once",
        ),
    ] {
        let output = run(swtch(home.path()).arg("compare").args(line));
        let complaint = stderr(&output);
        assert!(output.status.code() == Some(1) && complaint.contains(expected), "{line:?}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
    }
}

#[test]
fn an_interrupt_ends_the_command_and_shows_what_is_complete() {
    let home = home();
    let line = "echo x >> ran; [ $(wc -l < ran) -le 3 ] || { echo $$ > pid; sleep 1000; true; }";
    let mut command = swtch(home.path());
    command.current_dir(home.path()).args(["compare", "--runs", "9", "--warmup", "0", line]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = home.path().join("pid");
    while fs::read_to_string(&pid).map_or(true, |text| !text.ends_with('\n')) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
    assert!(text.contains("Interrupted before all runs were done"), "{text}");
    let shell: u32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    let running = fs::read_to_string(format!("/proc/{shell}/stat")).unwrap_or_default();
    assert!(running.is_empty() || running.contains(") Z "), "{running}");
}

/// One CPU is allowed; the command reports where it runs and under which policy.
#[test]
fn a_setting_is_tried_predicted_and_kept_and_none_is_left_behind() {
    let home = home();
    let policy = || {
        let status = fs::read_to_string("/proc/self/stat").unwrap();
        status.rsplit(')').next().unwrap().split_whitespace().nth(38).map(str::to_owned)
    };
    let before = policy();
    let mut command = swtch(home.path());
    command.args(["try", "--json", "--runs", "4", "--parameter", "time=0.2,0.01", "--", "sleep", "{time}"]);
    let found = json(&mut command);
    assert_eq!((&found["schema"], &found["keep"]), (&"swtch/try/1".into(), &"sleep 0.01".into()));
    let candidates = found["candidates"].as_array().unwrap();
    assert_eq!(candidates[0]["command"], "sleep 0.01");
    let of = |name: &str| candidates[0][name].as_f64().unwrap();
    assert!(of("ci_low") <= of("measured_ratio") && of("measured_ratio") <= of("ci_high"), "{found}");
    assert!(of("measured_ratio") < 0.6, "{found}");
    let commands: Vec<&str> = candidates.iter().map(|one| one["command"].as_str().unwrap()).collect();
    assert!(commands.contains(&"chrt -b 0 sleep 0.2"), "{commands:?}");
    for one in &candidates[1..] {
        assert!(one["predicted_ratio"].is_number() || one["predicted_by"].is_string(), "{one}");
        // One family of verdicts in twenty is wrong, by the noise; by how much shows that it is noise.
        let is_shorter = one["verdict"] == "better" && one["ci_high"].as_f64().unwrap() < 0.9;
        assert!(!is_shorter, "a sleep is as long under any setting: {one}");
    }
    assert_eq!(policy(), before);
    let text =
        stdout(&run(swtch(home.path()).args(["try", "--runs", "3", "--most", "1", "--", "sleep", "0.01"])));
    assert!(text.contains("Not tried:") && text.contains("the real-time class"), "{text}");
}
