//! `swtch measure` from end to end: files, JSON, comparison, Ctrl-C.

use crate::common::{home, json, names, run, stderr, stdout, swtch};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SMALL: [&str; 9] =
    ["measure", "--quick", "--method", "pipe", "--placement", "same-cpu", "--sizes", "4K", "--time-limit=2s"];

#[test]
fn a_profile_its_samples_and_a_page_come_out() {
    let home = home();
    let output = run(swtch(home.path()).args(SMALL).args(["--out", "here.json"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("A switch between two threads on one CPU costs"), "{first}");
    assert!(text.contains("Profile: here.json"), "{text}");
    assert_eq!(names(home.path()), ["here.json", "here.samples.parquet"]);
    let output = run(swtch(home.path()).args(["report", "here.json", "-o", "page.html"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.starts_with("<!") && page.trim_end().ends_with("</html>"));
}

/// The names that other programs rely on.
#[test]
fn the_json_has_the_names_it_promises() {
    let home = home();
    let profile = json(swtch(home.path()).args(SMALL).arg("--json"));
    assert_eq!(profile["schema"], "swtch/profile/2");
    for name in ["host", "clock", "direct", "total", "ring", "regions", "references", "unavailable"] {
        assert!(!profile[name].is_null(), "{name}");
    }
    let direct = &profile["direct"][0];
    for name in
        ["method", "tasks", "placement", "class", "switch_cost_ns", "switches_per_round_trip", "baseline_ns"]
    {
        assert!(direct.get(name).is_some(), "direct[].{name}");
    }
    for name in ["median", "ci_low", "ci_high", "mean", "min", "cov", "batches", "undisturbed"] {
        assert!(direct["switch_cost_ns"][name].is_number(), "switch_cost_ns.{name}");
    }
    let total = &profile["total"][0];
    for name in ["array_bytes", "stride_bytes", "access", "total_cost_ns", "indirect_cost_ns"] {
        assert!(total.get(name).is_some(), "total[].{name}");
    }
    // A part of a Profile does not become this machine's Profile.
    assert!(names(home.path()).is_empty());
}

#[test]
fn the_published_schemas_are_those_the_types_give() {
    let home = home();
    let published = [
        ("profile", 2),
        ("trace", 3),
        ("diff", 1),
        ("compare", 1),
        ("check", 1),
        ("probe", 1),
        ("try", 1),
        ("accuracy", 1),
    ];
    for (name, version) in published {
        let printed = json(swtch(home.path()).args(["schema", name]));
        let file = format!("docs/schemas/{name}-{version}.json");
        let published = fixture_json(&format!("../{file}"));
        assert_eq!(printed, published, "update it: swtch schema {name} > {file}");
    }
}

fn fixture_json(name: &str) -> Value {
    serde_json::from_slice(&fs::read(crate::common::fixture(name)).unwrap()).unwrap()
}

#[test]
fn two_profiles_are_compared() {
    let home = home();
    let (vm, server) =
        (crate::common::fixture("profiles/vm.json"), crate::common::fixture("profiles/server.json"));
    let found =
        json(swtch(home.path()).args(["measure", "--json", "--compare"]).arg(&vm).arg("--with").arg(&server));
    let changes = found["changes"].as_array().unwrap();
    assert!(changes.iter().any(|change| change["ratio"].is_number()));
    assert!(!found["circumstances"].as_array().unwrap().is_empty());
    let same =
        json(swtch(home.path()).args(["measure", "--json", "--compare"]).arg(&vm).arg("--with").arg(&vm));
    let differs = |change: &Value| change["verdict"] == "worse" || change["verdict"] == "better";
    assert!(!same["changes"].as_array().unwrap().iter().any(differs));
    assert!(changes.iter().any(differs), "{found}");
    let by_diff = json(swtch(home.path()).args(["diff", "--json"]).arg(&vm).arg(&server));
    assert_eq!(found, by_diff, "one code, one answer");
    for change in changes {
        let number = |name: &str| change[name].as_f64();
        let Some(ratio) = number("ratio") else {
            assert!(change["verdict"] == "unclear" && change["reason"].is_string(), "{change}");
            continue;
        };
        assert_eq!(ratio, number("new").unwrap() / number("old").unwrap(), "{change}");
        let (low, high) = (number("ci_low").unwrap(), number("ci_high").unwrap());
        assert!(0.0 < low && low <= ratio && ratio <= high, "{change}");
    }
}

/// A Profile of the fixture in which one figure has this median and these launches.
fn with_launches(place: &Path, name: &str, figures: &[(f64, Vec<f64>)]) -> PathBuf {
    let mut profile = fixture_json("profiles/server.json");
    for (row, (median, launches)) in figures.iter().enumerate() {
        let estimate = &mut profile["direct"][row]["switch_cost_ns"];
        let least = launches.iter().copied().fold(0.9 * median, f64::min);
        for (name, value) in [("median", *median), ("ci_low", 0.99 * median), ("ci_high", 1.01 * median)] {
            estimate[name] = value.into();
        }
        (estimate["min"], estimate["undisturbed"]) = (least.into(), (0.9 * median).into());
        (estimate["launches"], estimate["launch_medians"]) = (launches.len().into(), launches.clone().into());
    }
    let file = place.join(name);
    fs::write(&file, profile.to_string()).unwrap();
    file
}

/// The output for two kernels had an interval of 1.61 to 1.66 and "only noise". It had a ratio of 1.33 of the medians 6.58 and 6.19, and an
/// interval from -22.14 to 2.95.
#[test]
fn a_ratio_is_that_of_its_medians_and_its_verdict_that_of_its_interval() {
    let home = home();
    let around =
        |ns: f64| -> Vec<f64> { (0..11).map(|step| ns * (0.99 + 0.002 * f64::from(step))).collect() };
    let with = |ns: f64, outlier: f64| [around(ns), vec![outlier]].concat();
    let negative = vec![1_000.0, 950.0, 1_050.0, -50.0, 1_020.0];
    let old = [(3_540.0, with(3_540.0, 9_000.0)), (6_580.0, around(5_000.0)), (1_000.0, negative)];
    let new = [(5_700.0, with(5_700.0, 20_000.0)), (6_190.0, around(6_650.0)), (2_000.0, around(2_000.0))];
    let old = with_launches(home.path(), "old.json", &old);
    let new = with_launches(home.path(), "new.json", &new);
    let compared = |format: &[&str]| {
        let mut command = swtch(home.path());
        command.arg("measure").args(format).arg("--compare").arg(&old).arg("--with").arg(&new);
        command
    };
    let found = json(&mut compared(&["--json"]));
    let row = |index: usize| &found["changes"][index];
    let number = |index: usize, name: &str| row(index)[name].as_f64();
    for index in 0..3 {
        let ratio = number(index, "new").unwrap() / number(index, "old").unwrap();
        let Some(low) = number(index, "ci_low") else { continue };
        assert!(0.0 < low && low <= ratio && ratio <= number(index, "ci_high").unwrap(), "{}", row(index));
        assert_eq!(number(index, "ratio"), Some(ratio), "{}", row(index));
    }
    assert!(number(0, "ci_low").unwrap() > 1.5 && number(0, "ci_high").unwrap() < 1.7, "{}", row(0));
    assert_eq!((number(2, "ratio"), number(2, "ci_low")), (None, None), "{}", row(2));
    let text = stdout(&run(&mut compared(&[])));
    assert!(!text.contains("only noise"), "{text}");
    let line = text.lines().find(|line| line.contains("5.70")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.trim_end().ends_with(" worse"), "{line}");
}

/// One method at one placement: no array was asked for, so no refill is measured or printed.
#[test]
fn refills_that_were_not_asked_for_are_not_measured() {
    let home = home();
    let only =
        ["measure", "--quick", "--method", "pipe", "--placement", "same-cpu", "--time-limit=3s", "--json"];
    let profile = json(swtch(home.path()).args(only));
    assert!(profile["direct"].as_array().is_some_and(|rows| !rows.is_empty()), "{profile}");
    assert_eq!(profile["total"], Value::Array(Vec::new()));
    let unavailable = profile["unavailable"].as_array().unwrap();
    let total = unavailable
        .iter()
        .find(|row| row["what"] == "total cost")
        .unwrap_or_else(|| panic!("{unavailable:?}"));
    assert!(total["why"].as_str().unwrap().contains("--sizes"), "{total}");
}

#[test]
fn ctrl_c_keeps_and_reports_what_is_complete() {
    let home = home();
    // Beside other tests the first figure takes a while, and no number of seconds is always enough.
    let mut cut = [6, 12, 24, 48].into_iter().map(|after_s| {
        let child = swtch(home.path())
            .args(["measure", "--full", "--out", "cut.json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(after_s));
        let began = Instant::now();
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert!(began.elapsed() < Duration::from_secs(20), "it should end at once");
        output
    });
    let output = cut.find(|output| !output.stdout.is_empty()).expect("no figure in 48 s");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("Interrupted: what is shown was complete."), "{}", stdout(&output));
    let profile: Value = serde_json::from_slice(&fs::read(home.path().join("cut.json")).unwrap()).unwrap();
    assert_eq!(profile["provenance"]["ended"], "interrupted");
}

#[test]
fn a_program_on_path_is_a_command() {
    use std::os::unix::fs::PermissionsExt;
    let home = home();
    let program = home.path().join("swtch-hello");
    fs::write(&program, "#!/bin/sh\necho hello \"$@\"\nexit 3\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", home.path().display(), std::env::var("PATH").unwrap());
    let output = run(swtch(home.path()).env("PATH", path).args(["hello", "world", "--flag"]));
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("hello world --flag\n", Some(3)));

    // Next to swtch it needs no PATH.
    let beside = home.path().join("swtch-beside");
    std::os::unix::fs::symlink("/bin/true", &beside).unwrap();
    let own = home.path().join("own");
    fs::copy(env!("CARGO_BIN_EXE_swtch"), &own).unwrap();
    for (name, status) in [("beside", 0), ("elsewhere", 2)] {
        let output = run(Command::new(&own).env("HOME", home.path()).env("PATH", "/nowhere").arg(name));
        assert_eq!(output.status.code(), Some(status), "{name}: {}", stderr(&output));
    }
}

#[test]
fn the_doctor_judges_in_words_and_in_json() {
    let home = home();
    let text = stdout(&run(swtch(home.path()).arg("doctor")));
    assert!(text.lines().next().unwrap().contains("capabilities:"), "{text}");
    let document = json(swtch(home.path()).args(["doctor", "--json"]));
    assert_eq!(document["schema"], "swtch/doctor/1");
    for row in document["capabilities"].as_array().unwrap() {
        assert!(["ok", "limited", "missing"].contains(&row["state"].as_str().unwrap()), "{row}");
        assert_eq!(row["state"] == "ok", row["costs"].is_null(), "what is not ok costs something: {row}");
    }
}
