//! `swtch diff`: verdicts, causes, limits and pages.

use crate::common::{fixture, home, names, run, skip, stderr, stdout, swtch};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn diff(home: &Path, arguments: &[&str]) -> Output {
    run(swtch(home).arg("diff").args(arguments))
}

fn document(home: &Path, arguments: &[&str]) -> Value {
    let output = diff(home, &[&["--json"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn path(name: &str) -> String {
    fixture(name).to_str().unwrap().to_owned()
}

fn change<'a>(document: &'a Value, metric: &str) -> &'a Value {
    let changes = document["changes"].as_array().unwrap();
    changes.iter().find(|change| change["metric"] == metric).unwrap_or_else(|| panic!("{document}"))
}

#[test]
fn one_recording_of_a_side_has_differences_and_no_verdict() {
    let home = home();
    let (old, new) = (path("traces/machine.swtch"), path("traces/waits.swtch"));
    let found = document(home.path(), &[&old, &new]);
    assert_eq!((&found["schema"], &found["verdict"]), (&"swtch/diff/1".into(), &"unclear".into()));
    let switches = change(&found, "switches.rate");
    assert!(switches["ratio"].as_f64().unwrap() > 1.0 && switches["ci_low"].is_null(), "{switches}");
    assert!(switches["reason"].as_str().unwrap().starts_with("1 run of a side"), "{switches}");
    let pair = |row: &&Value| row["task"] == "service" && row["peer"] == "rtloop";
    assert!(found["who"].as_array().unwrap().iter().any(|row| pair(&row)), "{}", found["who"]);
    assert!(found["circumstances"][0].as_str().unwrap().contains("the machine -> ./server"));
    // The same Traces as repeats of both sides differ in nothing.
    let same = document(home.path(), &[&old, &old, &old, "--", &old, &old, &old]);
    assert_eq!((&same["verdict"], &same["who"]), (&"same".into(), &Value::Array(vec![])));
}

#[test]
fn a_limit_that_holds_is_status_3() {
    let home = home();
    let (old, new) = (path("traces/machine.swtch"), path("traces/waits.swtch"));
    let status = |limits: &[&str]| {
        let options: Vec<&str> = limits.iter().flat_map(|limit| ["--fail-if", limit]).collect();
        let output = diff(home.path(), &[&[old.as_str(), new.as_str()], &options[..]].concat());
        (output.status.code().unwrap(), stdout(&output) + &stderr(&output))
    };
    let (code, text) = status(&["switches > +20%"]);
    assert!(code == 3 && text.contains("--fail-if 'switches > +20%' holds"), "{text}");
    let (code, text) = status(&["switches > +90%", "wait.p99 > 1s"]);
    assert!(code == 0 && text.contains("does not hold"), "{text}");
    assert_eq!(status(&["switches > +90%", "wait.p99 > 1ms"]).0, 3);
    // A figure that a side lacks must not pass in silence.
    let (code, text) = status(&["cache_misses > +5%"]);
    assert!(code == 1 && text.contains("the old side has no cache_misses"), "{text}");
}

#[test]
fn a_verdict_is_a_limit_too_of_files_of_any_kind() {
    let home = home();
    let (older, newer) = (path("profiles/vm.json"), path("profiles/server.json"));
    let status = |verdict: &str| {
        let output = diff(home.path(), &[&older, &newer, "--fail-if", verdict]);
        (output.status.code().unwrap(), stdout(&output) + &stderr(&output))
    };
    let found = document(home.path(), &[&older, &newer]);
    let verdict = found["verdict"].as_str().unwrap();
    let (code, text) = status(verdict);
    assert!(code == 3 && text.contains(&format!("--fail-if {verdict} holds")), "{text}");
    let (code, text) = status("same");
    assert!(verdict != "same" && code == 0 && text.contains("--fail-if same does not hold"), "{text}");
    let compare = ["measure", "--compare", &older, "--with", &newer, "--fail-if", verdict];
    let compared = run(swtch(home.path()).args(compare));
    assert_eq!(compared.status.code(), Some(3), "{}", stderr(&compared));
}

#[test]
fn files_of_different_kinds_are_wrong_usage() {
    let home = home();
    let (trace, profile, study) =
        (path("traces/machine.swtch"), path("profiles/vm.json"), path("studies/cloud"));
    for (arguments, status, words) in [
        (vec![trace.as_str(), &profile], 2, "Traces and Profiles cannot be compared"),
        (vec![&profile, &study], 2, "Profiles and studies cannot be compared"),
        (
            vec![&profile, &profile, "--fail-if", "switches > +5%"],
            2,
            "--fail-if with a figure is about Traces",
        ),
        (vec![&profile, "/etc/hostname"], 1, "is not a Profile"),
        (vec![&trace, "/etc"], 1, "has none of swtch's documents"),
        (vec![&trace, "/nowhere.swtch"], 1, "/nowhere.swtch"),
    ] {
        let output = diff(home.path(), &arguments);
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {complaint}");
        assert!(complaint.contains(words) && complaint.trim_end().lines().count() == 1, "{complaint}");
        assert!(output.stdout.is_empty() && names(home.path()).is_empty());
    }
    // Another version of a Trace is named as such.
    let newer = home.path().join("newer.swtch");
    assert!(Command::new("cp").args(["-r", &trace]).arg(&newer).status().unwrap().success());
    let header = std::fs::read_to_string(newer.join("header.json")).unwrap();
    std::fs::write(newer.join("header.json"), header.replace("\"swtch/trace/", "\"swtch/trace/9")).unwrap();
    let output = diff(home.path(), &[&trace, newer.to_str().unwrap()]);
    assert!(
        output.status.code() == Some(1) && stderr(&output).contains("swtch/trace/9"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_page_has_the_answer_the_figures_and_the_pairs() {
    let home = home();
    let output =
        diff(home.path(), &[&path("traces/machine.swtch"), &path("traces/waits.swtch"), "-o", "diff.html"]);
    assert!(output.status.success() && stdout(&output).ends_with("Page: diff.html\n"), "{}", stderr(&output));
    let page = std::fs::read_to_string(home.path().join("diff.html")).unwrap();
    for words in
        ["Unclear from 1 recording of a side", "switches.rate", "rtloop", "what was recorded: the machine →"]
    {
        assert!(page.contains(words), "no '{words}' on the page");
    }
}

#[test]
fn profiles_studies_and_functions_are_compared() {
    let home = home();
    let of = |old: &str, new: &str| document(home.path(), &[&path(old), &path(new)]);
    let slower = of("profiles/server.json", "profiles/vm.json");
    let answer = slower["answer"].as_str().unwrap();
    assert!(answer.contains("figures are worse") && answer.contains(". Most: "), "{answer}");
    let switch = change(&slower, "switch, pipe, thread, same-cpu, normal");
    assert!(switch["ci_low"].as_f64().unwrap() > 2.0, "{switch}");
    for study in ["studies/cloud", "faas/gcf"] {
        let same = of(study, study);
        assert!(
            same["changes"].as_array().unwrap().iter().all(|change| change["old"] == change["new"]),
            "{same}"
        );
        assert!(["same", "unclear"].contains(&same["verdict"].as_str().unwrap()), "{same}");
    }
    let languages = of("faas/python.json", "faas/go.json");
    assert!(!languages["changes"].as_array().unwrap().is_empty(), "{languages}");
}

/// A program that makes half as many switches again, three recordings of each side in turns: found, with the pair that makes them.
#[test]
fn an_injected_change_is_found_with_its_pair() {
    const TEST: &str = "an_injected_change_is_found_with_its_pair";
    if let Err(why) = swtch_record::plan::Facts::read().bpf {
        return skip(TEST, &why);
    }
    let home = home();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/programs/injected.c");
    let compiled = Command::new("cc")
        .args(["-O1", "-pthread", "-o"])
        .arg(home.path().join("injected"))
        .arg(source)
        .status();
    assert!(compiled.unwrap().success());
    let mut files: Vec<String> = Vec::new();
    for run_of in 0..6 {
        let percent = if run_of % 2 == 0 { "0" } else { "50" };
        let name = format!("{percent}-{run_of}.swtch");
        let mut recorder = swtch(home.path());
        recorder.args(["record", "--events", "--no-profile", "--json=/dev/null", "-o", &name, "--"]);
        let output = run(recorder.args(["./injected", "pipe", "400", "1000", percent]));
        assert!(output.status.success(), "{}", stderr(&output));
        files.push(name);
    }
    files.sort();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let found = document(home.path(), &[&files[..3], &["--"], &files[3..]].concat());
    let switches = change(&found, "switches");
    assert_eq!((&switches["verdict"], &found["amounts_per"]), (&"worse".into(), &"run".into()), "{found}");
    let ratio = switches["ratio"].as_f64().unwrap();
    assert!((1.3..1.7).contains(&ratio), "{switches}");
    // How often each wakes or preempts the other varies with the machine's other work; that both switch as much more often does not.
    for task in ["asks", "answers"] {
        let is_task =
            |row: &&Value| row["task"] == task && row["metric"] == "switches" && row["peer"].is_null();
        let row = found["who"].as_array().unwrap().iter().find(is_task);
        let difference = row.unwrap_or_else(|| panic!("{}", found["who"]))["difference"].as_f64().unwrap();
        assert!((100.0..400.0).contains(&difference), "{row:?}");
    }
}
