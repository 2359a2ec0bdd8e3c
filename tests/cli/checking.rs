//! `swtch check` with budgets on this machine: verdicts, formats, bad input. Guests are in `tests/guests/check.rs`.

use crate::common::{home, json, names, run, stderr, stdout, swtch};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

const BUDGET: &str = "[[budget]]\nname = \"kept\"\ncommand = \"sleep 0.001\"\nwhere = \"here\"\nruns = 6\nswitches = { max = 100000 }\nelapsed = {}\n";
const BROKEN: &str = "[[budget]]\nname = \"broken\"\ncommand = \"sleep 0.001\"\nwhere = \"here\"\nruns = 6\nswitches = { max = 0 }\n";

fn check(home: &Path, budget: &str, arguments: &[&str]) -> Output {
    fs::write(home.join("swtch-budget.toml"), budget).unwrap();
    run(swtch(home).arg("check").args(arguments))
}

#[test]
fn budgets_are_new_then_kept_and_a_broken_one_says_why() {
    let home = home();
    let asked = BUDGET.replace("max = 100000", "max = 100000, change = \"+10000%\"");
    let new = check(home.path(), &asked, &[]);
    assert_eq!(new.status.code(), Some(0), "{}", stderr(&new));
    assert!(stdout(&new).starts_with("1 of 1 budget new"), "{}", stdout(&new));
    assert!(swtch_trace::Trace::open(&home.path().join("swtch-check/kept.swtch")).is_ok());
    let accepted = check(home.path(), &asked, &["--accept"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", stderr(&accepted));
    let baseline = fs::read_to_string(home.path().join("swtch-baseline.json")).unwrap();
    assert!(baseline.contains("\n        \"elapsed\": ["), "{baseline}");
    let kept = check(home.path(), &asked, &[]);
    assert_eq!((kept.status.code(), stdout(&kept).lines().next().unwrap()), (Some(0), "The budget is kept"));
    let result = json(swtch(home.path()).args(["check", "--json"]));
    let metric = result["budgets"][0]["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .find(|metric| metric["metric"] == "switches");
    assert!(metric.unwrap()["baseline"].as_f64().unwrap() >= 1.0, "{result}");

    let broken = check(home.path(), &(BUDGET.to_owned() + BROKEN), &["-o", "out", "--json"]);
    assert_eq!(broken.status.code(), Some(3), "{}", stderr(&broken));
    let result: Value = serde_json::from_str(&stdout(&broken)).unwrap();
    assert_eq!((&result["status"], &result["budgets"][0]["status"]), (&"broken".into(), &"kept".into()));
    let budget = &result["budgets"][1];
    assert!(budget["why"].as_str().unwrap().contains("context switches (limit 0)"), "{budget}");
    assert!(swtch_trace::Trace::open(&home.path().join(budget["trace"].as_str().unwrap())).is_ok());
}

/// The formats of services by their documented shapes; JUnit and CSV have readers in Python's library (`python/tests/test_check.py`).
#[test]
fn every_format_is_written_and_has_the_figures() {
    let home = home();
    let formats = "terminal,markdown,junit,bmf,github-action-benchmark,otava";
    let output = check(
        home.path(),
        &(BUDGET.to_owned() + BROKEN),
        &["--format", formats, "-o", "out", "--json=out/check.json"],
    );
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let made = names(&home.path().join("out"));
    for name in
        ["benchmark.json", "bmf.json", "check.md", "check.txt", "junit.xml", "otava.csv", "broken.swtch"]
    {
        assert!(made.iter().any(|made| made == name), "{name}: {made:?}");
    }
    let read = |name: &str| fs::read_to_string(home.path().join("out").join(name)).unwrap();
    let result: Value = serde_json::from_str(&read("check.json")).unwrap();
    let of_budget = |index: usize| result["budgets"][index]["metrics"].as_array().unwrap().clone();
    let (bmf, list): (Value, Value) = (
        serde_json::from_str(&read("bmf.json")).unwrap(),
        serde_json::from_str(&read("benchmark.json")).unwrap(),
    );
    let mut figures = 0;
    for (index, budget) in ["kept", "broken"].into_iter().enumerate() {
        for metric in of_budget(index) {
            let name = metric["metric"].as_str().unwrap();
            let measure = &bmf[budget][name];
            assert_eq!(measure["value"], metric["value"], "{bmf}");
            assert!(measure["lower_value"].as_f64() <= measure["value"].as_f64(), "{measure}");
            let entry =
                list.as_array().unwrap().iter().find(|entry| entry["name"] == format!("{budget}: {name}"));
            let entry = entry.unwrap_or_else(|| panic!("{budget}: {name}: {list}"));
            assert!(
                entry["value"] == metric["value"] && entry["unit"].is_string() && entry["range"].is_string()
            );
            figures += 1;
        }
    }
    assert_eq!(list.as_array().unwrap().len(), figures);
    assert!(read("check.md").contains("| broken | switches | ") && read("check.md").contains("**broken**"));
    // A line more with each check; other columns are not mixed in.
    let again = check(home.path(), BUDGET, &["--format", "otava", "-o", "out"]);
    assert_eq!(again.status.code(), Some(1), "{}", stdout(&again));
    assert!(
        stderr(&again).contains("cannot add to out/otava.csv: its columns are time,commit,"),
        "{}",
        stderr(&again)
    );
}

#[test]
fn bad_input_is_one_line_and_leaves_the_baseline_alone() {
    let home = home();
    let budget = |rest: &str| format!("[[budget]]\nname = \"b\"\nwhere = \"here\"\nruns = 6\n{rest}\n");
    let full = |command: &str| budget(&format!("command = \"{command}\"\nswitches = {{ change = \"+2%\" }}"));
    fs::write(home.path().join("swtch-baseline.json"), "{}").unwrap();
    for (text, arguments, status, words) in [
        (budget("switches = 3"), &[][..], 1, "swtch-budget.toml: budget 'b': it has no command"),
        (budget("command = \"true\"\nswiches = 3"), &[], 1, "'swiches' is not a figure"),
        (full("true"), &[], 1, "has the schema 'none', not 'swtch/baseline/1'"),
        (full("true"), &["--baseline", "absent"], 1, "cannot read the baseline of 'absent'"),
        (full("true"), &["--budget", "absent.toml"], 1, "cannot read absent.toml"),
        (full("false"), &["--accept"], 1, "budget 'b': 'b' ended with status 1"),
        (full("no-such-program"), &["--accept"], 1, "no-such-program"),
        (
            full("sleep 1000") + "timeout = \"0.2s\"\n",
            &["--accept"],
            1,
            "budget 'b': 'b' ran for longer than 200 ms",
        ),
        (full("true"), &["--format", "junit,bmf"], 2, "-o DIRECTORY"),
        (full("true"), &["--format", "html"], 2, "unknown format 'html'"),
        (full("true"), &["--member-runs", "1", "--", "true"], 1, "runs in a virtual machine only"),
    ] {
        let output = check(home.path(), &text, arguments);
        assert_eq!(output.status.code(), Some(status), "{text}: {}{}", stdout(&output), stderr(&output));
        assert!(stderr(&output).contains(words), "{text}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{text}: {}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(home.path().join("swtch-baseline.json")).unwrap(), "{}");
    // A baseline of another kernel, machine or version of swtch, and one that a later version wrote.
    let accepted = check(home.path(), &full("true"), &["--accept"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", stderr(&accepted));
    let path = home.path().join("swtch-baseline.json");
    let baseline = fs::read_to_string(&path).unwrap();
    let kept: Value = serde_json::from_str(&baseline).unwrap();
    for (name, words) in [
        ("kernel", "another kernel: other, not "),
        ("machine", "another machine: other, not "),
        ("cpus", "another cpus: other, not "),
        ("swtch", "another swtch: other, not "),
        ("source", "another source: other, not "),
        ("schema", "has the schema 'other', not 'swtch/baseline/1'"),
    ] {
        let mut edited = kept.clone();
        let place =
            if name == "schema" { &mut edited[name] } else { &mut edited["budgets"]["b"]["made_with"][name] };
        assert!(place.is_string(), "{name}: {kept}");
        *place = "other".into();
        fs::write(&path, edited.to_string()).unwrap();
        let output = check(home.path(), &full("true"), &[]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", stdout(&output));
        let complaint = stderr(&output);
        assert!(complaint.contains(words) && complaint.lines().count() == 1, "{name}: {complaint}");
        assert_eq!(fs::read_to_string(&path).unwrap(), edited.to_string(), "the baseline changed");
    }
}
