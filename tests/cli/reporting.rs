//! `swtch report` from files: which are Profiles and which are Traces. `golden/broken.md` has what it refuses.

use crate::common::{fixture, home, run, stderr, stdout, swtch};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Runs `swtch report` in `home` and expects its exit status.
fn report(home: &Path, arguments: &[&str], status: i32) -> (String, String) {
    let output = run(swtch(home).current_dir(home).arg("report").args(arguments));
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    (stdout(&output), stderr(&output))
}

fn machine() -> String {
    fixture("traces/machine.swtch").display().to_string()
}

fn profile() -> String {
    fixture("profiles/vm.json").display().to_string()
}

#[test]
fn a_trace_is_known_by_its_folder() {
    let home = home();
    let folder = home.path().join("renamed");
    fs::create_dir(&folder).unwrap();
    for file in fs::read_dir(fixture("traces/procfs.swtch")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let (out, _) = report(home.path(), &[&machine(), "renamed", "-o", "page.html", "--json"], 0);
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["page"], "page.html");
    assert_eq!(summary["traces"].as_array().unwrap().len(), 2);
    let page = fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.contains("What context switches cost machine and renamed"));
}

#[test]
fn prices_are_those_at_hand_and_nothing_is_measured() {
    let home = home();
    report(home.path(), &[&machine(), "-o", "none.html"], 0);
    let page = |name: &str| fs::read_to_string(home.path().join(name)).unwrap();
    assert!(page("none.html").contains("measured in place; no Profile for the caches"));
    assert!(!home.path().join("swtch/profile.json").exists());

    report(home.path(), &[&machine(), "--profile", &profile(), "-o", "given.html"], 0);
    assert!(page("given.html").contains("measured in place; caches by the Profile"));

    fs::create_dir_all(home.path().join("swtch")).unwrap();
    fs::copy(profile(), home.path().join("swtch/profile.json")).unwrap();
    report(home.path(), &[&machine(), "-o", "own.html"], 0);
    assert!(page("own.html").contains("measured in place; caches by this machine’s Profile"));
}

#[test]
fn a_page_without_a_name_replaces_none() {
    let home = home();
    let (out, complaint) = report(home.path(), &[&profile()], 0);
    assert_eq!((out.as_str(), complaint.as_str()), ("Page: report.html\n", ""));
    let first = fs::read(home.path().join("report.html")).unwrap();
    let (out, complaint) = report(home.path(), &[&machine()], 0);
    assert_eq!(out, "Page: report-2.html\n");
    assert_eq!(complaint, "swtch: report.html exists and is kept; this page is report-2.html\n");
    assert_eq!(fs::read(home.path().join("report.html")).unwrap(), first);
    report(home.path(), &[&machine(), "-o", "report.html"], 0);
    assert_ne!(fs::read(home.path().join("report.html")).unwrap(), first, "a name that is given is meant");
}

#[test]
fn studies_of_machines_are_one_page() {
    let home = home();
    let folder = |name: &str| fixture(&format!("studies/{name}")).display().to_string();
    let file = fixture("studies/edge/study.json").display().to_string();
    let (out, _) = report(home.path(), &[&folder("cloud"), &file, "-o", "page.html", "--json"], 0);
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["studies"].as_array().unwrap().len(), 2);
    let page = fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.contains("AI workloads on cloud and edge"));
}

/// It said "At its fastest, MobileNet v2 makes ..., more than the other models here" of a study of one model whose runs were all disturbed.
#[test]
fn one_disturbed_model_is_not_the_most_of_several_and_not_at_its_fastest() {
    let home = home();
    let file = fixture("studies/cloud/study.json");
    let mut study: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    study["advice"] = Value::Array(Vec::new());
    for rows in ["runs", "summaries"] {
        let rows = study[rows].as_array_mut().unwrap();
        rows.retain(|row| row["workload"]["slug"] == "mobilenet-v2");
        // The settings that ran first are the slowest.
        rows.reverse();
    }
    let runs = study["runs"].as_array().unwrap().len();
    let disturbed =
        study["runs"].as_array().unwrap().iter().filter(|run| run["disturbed"].is_string()).count();
    assert!(disturbed > 0);
    fs::write(home.path().join("study.json"), study.to_string()).unwrap();
    report(home.path(), &["study.json", "-o", "page.html"], 0);
    let page =
        fs::read_to_string(home.path().join("page.html")).unwrap().replace(['\u{a0}', '\u{202f}'], " ");
    assert!(!page.contains("more than the other models") && !page.contains("At its fastest"));
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("no '{words}' on the page"));
    let first = place(&format!("{disturbed} of {runs} runs were disturbed"));
    assert!(first < place("context switches for each inference with"));
}

#[test]
fn functions_are_one_page() {
    let home = home();
    let file = |name: &str| fixture(&format!("faas/{name}")).display().to_string();
    let (out, _) = report(home.path(), &[&file("gcf"), &file("go.json"), "-o", "page.html", "--json"], 0);
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["functions"].as_array().unwrap().len(), 2);
    let page = fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.contains("What switches and throttling cost functions: gcf and go"));

    // One directory for each language, as a study of several is written.
    fs::create_dir_all(home.path().join("several/python")).unwrap();
    fs::write(home.path().join("several/journal.jsonl"), "").unwrap();
    fs::copy(file("gcf/tiers.json"), home.path().join("several/python/tiers.json")).unwrap();
    report(home.path(), &["several", "-o", "several.html"], 0);
}

#[test]
fn a_page_says_it_in_money_when_asked() {
    let home = home();
    report(
        home.path(),
        &[&machine(), "--profile", &profile(), "--price", "0.05/vcpu-hour", "-o", "priced.html"],
        0,
    );
    let page = fs::read_to_string(home.path().join("priced.html")).unwrap();
    assert!(page.contains("At 0.05 a vCPU-hour this run"), "no money on the page");
    report(home.path(), &[&machine(), "--profile", &profile()], 0);
    let page = fs::read_to_string(home.path().join("report.html")).unwrap();
    assert!(!page.contains("vCPU-hour"));
}
