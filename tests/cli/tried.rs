//! `swtch try` on programs with a known remedy, `programs/remedies.c`, and on commands that cannot be tried.

use crate::advised::{Hog, compiled};
use crate::common::machine::alone;
use crate::common::{Home, home, json, last_cpu, run, skip, stderr, stdout, swtch, without_bpf};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};

/// What a test of a remedy needs; nothing where something is missing, which is reported.
fn ready(test: &str) -> Option<(Home, String)> {
    if let Some(why) = without_bpf() {
        skip(test, &why);
        return None;
    }
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        skip(test, "there is one CPU here");
        return None;
    }
    let home = home();
    let Some(program) = compiled(home.path(), "remedies") else {
        skip(test, "no C compiler here");
        return None;
    };
    Some((home, program.to_str().unwrap().to_owned()))
}

/// One of the settings whose command line has `remedy` is among those tried. Every row names what predicted it, and the kept setting is not
/// worse.
fn finds(test: &str, found: &Value, remedy: &str) {
    let candidates = found["candidates"].as_array().unwrap();
    let is_remedy = |one: &&Value| one["command"].as_str().unwrap().contains(remedy);
    assert!(candidates.iter().any(|one| is_remedy(&one)), "'{remedy}' was not tried: {found:#}");
    for one in candidates {
        let (ratio, by) = (&one["predicted_ratio"], one["predicted_by"].as_str().unwrap());
        assert_eq!(ratio.is_null(), by.starts_with("cannot predict: "), "{one}");
        let of = |name: &str| one[name].as_f64().unwrap();
        assert!(of("ci_low") <= of("measured_ratio") && of("measured_ratio") <= of("ci_high"), "{one}");
        eprintln!("{test}: {}: predicted {ratio}, measured {} ({by})", one["what"], one["measured_ratio"]);
    }
    let kept = candidates.iter().find(|one| one["command"] == found["keep"]);
    match kept {
        Some(kept) => {
            assert_eq!(kept["verdict"], "better", "{kept}");
            assert!(kept["measured_ratio"].as_f64() < Some(1.0), "{kept}");
        }
        None => assert_eq!(found["keep"], found["command"], "{found:#}"),
    }
    eprintln!("{test}: keep {}", found["keep"]);
}

/// What a machine that does something else all the time makes of four runs is `unclear`, so no test asks for a verdict.
fn tried(home: &Home, more: &[&str]) -> Value {
    json(
        swtch(home.path())
            .args(["try", "--json", "--runs", "4", "--warmup", "0", "--timeout", "20s"])
            .args(more),
    )
}

#[test]
fn fewer_threads_are_tried_where_many_spin() {
    let test = "fewer_threads_are_tried_where_many_spin";
    let _machine = alone();
    let Some((home, program)) = ready(test) else { return };
    let line = format!("{program} spin ${{OMP_NUM_THREADS:-8}} 10 40000");
    finds(test, &tried(&home, &[&line]), "OMP_NUM_THREADS=");
}

#[test]
fn one_cpu_is_tried_for_two_tasks_that_wake_each_other_across_cpus() {
    let test = "one_cpu_is_tried_for_two_tasks_that_wake_each_other_across_cpus";
    let _machine = alone();
    let Some((home, program)) = ready(test) else { return };
    finds(test, &tried(&home, &["--", &program, "pair", "4000", "1", "100", "0"]), "taskset -c ");
}

#[test]
fn one_cpu_is_tried_for_a_lock_that_is_handed_round() {
    let test = "one_cpu_is_tried_for_a_lock_that_is_handed_round";
    let _machine = alone();
    let Some((home, program)) = ready(test) else { return };
    let found = tried(&home, &["--goal", "switches", "--", &program, "convoy", "8", "4000", "2000"]);
    finds(test, &found, "taskset -c ");
}

#[test]
fn another_cpu_is_tried_where_a_timer_has_this_one() {
    let test = "another_cpu_is_tried_where_a_timer_has_this_one";
    let _machine = alone();
    let Some((home, program)) = ready(test) else { return };
    let cpu = last_cpu();
    let mut neighbour = Command::new("taskset");
    neighbour.args(["-c", &cpu, &program, "timer", "100000"]).stdin(Stdio::null()).stdout(Stdio::null());
    let neighbour = Hog(neighbour.spawn().unwrap());
    let mut command = Command::new("taskset");
    let words = swtch(home.path());
    command.args(["-c", &cpu]).arg(words.get_program()).current_dir(home.path());
    command.envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .args(["try", "--json", "--runs", "4", "--warmup", "0", "--", &program, "threads", "1", "40000000"]);
    let found = json(&mut command);
    drop(neighbour);
    finds(test, &found, "taskset -c ");
    let elsewhere = found["candidates"].as_array().unwrap().iter().find(|one| {
        let command = one["command"].as_str().unwrap();
        command.starts_with("taskset -c ") && !command.starts_with(&format!("taskset -c {cpu} "))
    });
    assert!(elsewhere.is_some(), "{found:#}");
}

#[test]
fn what_was_tried_is_a_page_too() {
    let home = home();
    let page = home.path().join("tried.html");
    let mut command = swtch(home.path());
    command.args(["try", "--runs", "3", "--warmup", "0", "--most", "1", "-o"]).arg(&page);
    let output = run(command.args(["--", "sleep", "0.01"]));
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("cannot predict: "), "{}", stdout(&output));
    let page = fs::read_to_string(page).unwrap();
    for text in ["Predicted and measured", "cannot predict: ", "Not tried", "sleep 0.01"] {
        assert!(page.contains(text), "no '{text}' on the page");
    }
}

#[test]
fn a_command_that_cannot_be_tried_is_refused_with_its_reason() {
    let home = home();
    let refused = |words: &[&str], status: i32, reason: &str| {
        let output = run(swtch(home.path()).args(["try", "--runs", "2"]).args(words));
        let text = stderr(&output).split_whitespace().collect::<Vec<&str>>().join(" ");
        assert_eq!(output.status.code(), Some(status), "{words:?}: {text}");
        assert!(text.contains(reason) && stdout(&output).is_empty(), "{words:?}: {text}");
    };
    refused(&["--", "false"], 1, "ended with status 1");
    refused(&["--timeout", "300ms", "--", "sleep", "1000"], 1, "ran for longer than 300 ms");
    refused(
        &["--time-limit", "300ms", "--", "sleep", "1000"],
        1,
        "it was stopped before every setting had run once",
    );
    refused(&["--prepare", "exit 4", "--", "true"], 1, "ended with status 4");
    refused(&["--schedulers", "no_such", "--vm", "--", "true"], 1, "no scheduler scx_no_such");
    refused(&["--cpus", "2", "--", "true"], 2, "--vm");
    refused(&["--", "/no/such/program"], 1, "/no/such/program");
    refused(&["--most", "0", "--", "true"], 2, "0 settings leave nothing to try");
    refused(&["true", "false"], 2, "unexpected argument 'false'");
    refused(&[], 2, "no command given");
    refused(&["-o", "/no/directory/tried.html", "--", "true"], 1, "/no/directory");
}
