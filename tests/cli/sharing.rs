//! `swtch shares` from end to end.

use crate::common::{home, json, run, stderr, stdout, swtch};
use serde_json::Value;
use std::process::Output;

fn shares(arguments: &[&str]) -> Output {
    run(swtch(home().path()).arg("shares").args(arguments))
}

fn found(arguments: &[&str]) -> Value {
    json(swtch(home().path()).arg("shares").args(arguments).arg("--json"))
}

fn numbers(found: &Value, name: &str) -> Vec<f64> {
    found[name].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect()
}

const THREE: [&str; 6] = ["--fast", "1", "--slow", "2", "--speedups", "3,2.9,1.5"];

fn of_three(more: &[&str]) -> Vec<&'static str> {
    let more: Vec<&'static str> = more.iter().map(|word| &*String::from(*word).leak()).collect();
    THREE.into_iter().chain(more).collect()
}

#[test]
fn every_policy_answers_with_the_same_names() {
    for policy in swtch_fairness::POLICIES.map(|row| row.name) {
        let found = found(&of_three(&["--policy", policy]));
        assert_eq!(found["policy"], policy);
        let shares = numbers(&found, "shares");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{policy}: {shares:?}");
        assert_eq!(numbers(&found, "performance").len(), 3);
        assert_eq!(numbers(&found, "required").len(), 3);
        for name in ["throughput", "min_fairness", "uniformity"] {
            assert!(found[name].is_number(), "{policy}: {name}");
        }
        assert_eq!(found["sequence"].is_string(), policy == "guaranteed");
        assert_eq!(found["mix"].is_number(), ["guaranteed", "uni-fair"].contains(&policy));
        let output = shares_text(policy);
        assert!(output.starts_with("Throughput "), "{output}");
        assert!(output.contains(&format!("{policy} on 1 fast and 2 slow cores")), "{output}");
    }
}

fn shares_text(policy: &str) -> String {
    let output = shares(&of_three(&["--policy", policy]));
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn options_reach_their_policy() {
    let loose = found(&of_three(&["--min-fairness", "0.5"]));
    let strict = found(&of_three(&["--min-fairness", "0.95"]));
    assert!(loose["throughput"].as_f64() > strict["throughput"].as_f64());
    assert!((strict["min_fairness"].as_f64().unwrap() - 0.95).abs() < 1e-9);
    let sequence = found(&of_three(&["--policy", "guaranteed", "--threshold", "0.9", "--intervals", "7"]));
    let letters = sequence["sequence"].as_str().unwrap();
    assert!(letters.len() == 7 && letters.chars().all(|letter| "Pf".contains(letter)), "{letters}");
    let greedy = found(&of_three(&["--policy", "r-fair", "--r", "0.5"]));
    assert!((greedy["throughput"].as_f64().unwrap() - 1.044_898).abs() < 1e-6);
    let population = found(&of_three(&["--policy", "max-perf", "--ddof", "0"]));
    assert!((population["uniformity"].as_f64().unwrap() - 0.530_145).abs() < 1e-6);
    let published =
        ["--fast", "2", "--slow", "2", "--speedups", "2.73,1.6,1.19,1.15", "--policy", "similar-min-fair"];
    let options = ["--min-fairness", "0.95", "--similarity", "0.5"];
    let safe: Vec<&str> = published.into_iter().chain(options).collect();
    assert!((found(&safe)["min_fairness"].as_f64().unwrap() - 0.95).abs() < 1e-9);
    let broken: Vec<&str> = safe.iter().copied().chain(["--published"]).collect();
    assert!((found(&broken)["min_fairness"].as_f64().unwrap() - 0.923_077).abs() < 1e-6);
}

#[test]
fn several_kinds_of_cores_come_from_a_file() {
    let home = home();
    let text = r#"{"types": [{"name": "big", "cores": 1}, {"name": "mid", "cores": 1}, {"name": "small", "cores": 2}],
        "speeds": [[3, 2, 1], [2.8, 2.2, 1], [2.4, 1.8, 1], [1.6, 1.4, 1]]}"#;
    std::fs::write(home.path().join("kinds.json"), text).unwrap();
    let arguments = ["shares", "--types", "kinds.json", "--min-fairness", "0.85"];
    let found = json(swtch(home.path()).args(arguments).arg("--json"));
    assert!((found["throughput"].as_f64().unwrap() - 1.076_276).abs() < 1e-6);
    assert_eq!(found["shares"][0].as_array().unwrap().len(), 3);
    let output = run(swtch(home.path()).args(arguments));
    assert!(
        stdout(&output).contains("application  ") && stdout(&output).contains("mid"),
        "{}",
        stdout(&output)
    );
    for (text, words) in [
        ("{", "kinds.json is not a machine"),
        (
            r#"{"types": [{"name": "a", "cores": 1}], "speeds": [[1, 2]]}"#,
            "speeds of an application: 2 where 1",
        ),
        (r#"{"types": [{"name": "a", "cores": 0}], "speeds": [[1]]}"#, "a machine needs a core"),
        (r#"{"types": [], "speeds": [], "more": 1}"#, "unknown field"),
    ] {
        std::fs::write(home.path().join("kinds.json"), text).unwrap();
        let output = run(swtch(home.path()).args(arguments));
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            stderr(&output).contains(words) && stderr(&output).trim_end().lines().count() == 1,
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn wrong_wishes_are_one_line() {
    let cases: [(&[&str], &str); 9] = [
        (&["--fast", "0", "--slow", "0", "--speedups", "2"], "a machine needs a core"),
        (&["--fast", "1", "--slow", "1", "--speedups", "2,-1"], "the speedup of application 1 is -1"),
        (&["--fast", "1", "--slow", "1", "--speedups", "2,NaN"], "the speedup of application 1 is NaN"),
        (&["--fast", "1", "--slow", "1", "--speedups", "2", "--min-fairness", "1.5"], "must be from 0 to 1"),
        (&["--fast", "1", "--slow", "1", "--speedups", "2", "--policy", "fair"], "the policies are max-fair"),
        (
            &["--fast", "1", "--slow", "1", "--speedups", "2", "--policy", "max-fair", "--r", "0.5"],
            "r is not a parameter of max-fair; it has none",
        ),
        (
            &["--fast", "1", "--slow", "1", "--speedups", "2", "--similarity", "0.5"],
            "similarity is not a parameter of min-fair; it has min-fairness",
        ),
        (&["--fast", "1", "--slow", "1"], "--speedups"),
        (&["--types", "x.json", "--policy", "max-perf"], "by min-fair only"),
    ];
    for (arguments, words) in cases {
        let output = shares(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).trim_end().lines().count(), 1, "{}", stderr(&output));
    }
}
