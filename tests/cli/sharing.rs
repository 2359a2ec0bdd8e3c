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

#[test]
fn weights_nice_values_and_threads_are_what_each_is_entitled_to_by() {
    let machine = ["--fast", "2", "--slow", "4", "--speedups", "3,2,1.5", "--policy", "max-fair"];
    let with = |more: &[&'static str]| found(&[&machine[..], more].concat());
    let plain = with(&[]);
    assert!(plain["cpus"].is_null() && plain["weights"].is_null() && plain["equal_shares"].is_null());
    let weighted = with(&["--weights", "2,1,1", "--threads", "1,3,4"]);
    let near = |found: &Value, name: &str, expected: [f64; 3]| {
        let found = numbers(found, name);
        assert!(
            found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9),
            "{name}: {found:?}"
        );
    };
    // The heavy one's thread uses a core at most, and has all the fast time that it can use; the others have half of the rest.
    near(&weighted, "cpus", [1.0, 2.5, 2.5]);
    near(&weighted, "equal_shares", [1.0, 0.2, 0.2]);
    near(&weighted, "shares", [1.0, 0.2, 0.2]);
    near(&weighted, "performance", [1.0, 1.0, 1.0]);
    // Nice 5 weighs 335 where nice 0 weighs 1024; an application weighs what its threads weigh.
    let nice = with(&["--nice", "0,5,-5", "--threads", "1,2,1"]);
    near(&nice, "weights", [1.0, 2.0 * 335.0 / 1024.0, 3121.0 / 1024.0]);
    let typed = r#"{"types": [{"name": "big", "cores": 2}, {"name": "small", "cores": 4}], "speeds": [[3, 1], [2, 1], [1.5, 1]]}"#;
    let home = home();
    std::fs::write(home.path().join("kinds.json"), typed).unwrap();
    for policy in ["max-fair", "max-perf", "min-fair", "uni-fair", "r-fair", "guaranteed", "scaled-load"] {
        let of = |arguments: &[&str]| {
            let more = ["--weights", "2,1,1", "--threads", "1,3,4", "--policy", policy, "--json"];
            json(swtch(home.path()).arg("shares").args(arguments).args(more))["throughput"].as_f64().unwrap()
        };
        let (by_file, by_options) = (of(&["--types", "kinds.json"]), of(&machine[..6]));
        assert!((by_file - by_options).abs() < 1e-6, "{policy}: {by_file} {by_options}");
    }
}
