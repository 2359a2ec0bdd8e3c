//! The figures of `swtch shares`. `golden/shares.md` has what it prints.

use crate::common::{home, json, swtch};
use serde_json::Value;

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
    }
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
}
