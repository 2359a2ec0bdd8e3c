//! The schedulers on a real kernel, in a virtual machine: how they end, what they do to a workload, and what upsets them.

use crate::guest::{Guest, beginning_with, cannot, machine};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

pub const SCHEDULERS: [&str; 3] = ["scx_flsched", "scx_global_fifo", "scx_fair"];
/// More instructions or states than kept, by this factor, are a regression; kernels differ by less.
const MORE_WORK: f64 = 1.25;
/// And this many more do not count, where there are few.
const FEW: f64 = 5.0;

/// Where instructions are counted a guest's CPUs take turns on one of this machine's; the other is left to the tests beside.
const GUEST: Guest<'static> =
    Guest { cpus: 2, deterministic: true, append: "", settings: &[], programs: &SCHEDULERS };

#[test]
fn a_user_can_rely_on_the_end() {
    if cannot("a_user_can_rely_on_the_end") {
        return;
    }
    let _machine = machine();
    let programs = [&SCHEDULERS[..], &["scx_panics"]].concat();
    let said = Guest { programs: &programs, ..GUEST }.prints("ends.sh");
    let failed: Vec<&str> = beginning_with(&said, "FAIL ").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(beginning_with(&said, "PASS ").any(|line| line == "script complete"), "{said}");
}

/// Instructions and states by program, from JSON lines.
fn verified(text: &str) -> BTreeMap<String, [f64; 2]> {
    let figures = |line: Value| {
        let of = |key: &str| line[key].as_f64();
        Some((line["program"].as_str()?.to_owned(), [of("instructions")?, of("states")?]))
    };
    text.lines().filter_map(|line| figures(serde_json::from_str(line.trim()).ok()?)).collect()
}

#[test]
fn the_verifier_has_no_more_to_do_than_before() {
    if cannot("the_verifier_has_no_more_to_do_than_before") {
        return;
    }
    let _machine = machine();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schedulers/verified.jsonl");
    let kept = verified(&std::fs::read_to_string(kept).unwrap());
    let now = verified(&GUEST.prints("verified.sh"));
    let names = |of: &BTreeMap<String, [f64; 2]>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&kept), names(&now), "programs that are kept, and that are there");
    for (program, now) in now {
        for (what, now, kept) in
            [("instructions", now[0], kept[&program][0]), ("states", now[1], kept[&program][1])]
        {
            assert!(now <= (kept * MORE_WORK).max(kept + FEW), "{program}: {now} {what}, {kept} were kept");
        }
    }
}

#[test]
fn flsched_switches_at_most_a_third_as_often_as_the_stock_class_with_pipes() {
    if cannot("flsched_switches_at_most_a_third_as_often_as_the_stock_class_with_pipes") {
        return;
    }
    let _machine = machine();
    let programs = [&SCHEDULERS[..], &["hackbench"]].concat();
    let said = Guest { cpus: 4, programs: &programs, ..GUEST }.prints("switches.sh");
    // By what hackbench does and under what: switches and seconds.
    let mut results: BTreeMap<(&str, &str), [f64; 2]> = BTreeMap::new();
    for line in beginning_with(&said, "RESULT ") {
        let fields: Vec<&str> = line.split('|').collect();
        results.insert((fields[1], fields[0]), [2, 3].map(|index: usize| fields[index].parse().unwrap()));
    }
    for arguments in ["-p -g 4 -l 20", "-p -T -g 4 -l 20"] {
        let of = |policy| results[&(arguments, policy)];
        let ([flsched, flsched_s], [stock, stock_s]) = (of("flsched"), of("stock"));
        assert!(flsched * 3.0 <= stock && flsched_s <= stock_s, "{arguments}: {results:?}");
    }
}

#[test]
fn applications_may_be_cgroups_and_processes_count_by_weight_and_come_and_go() {
    if cannot("applications_may_be_cgroups_and_processes_count_by_weight_and_come_and_go") {
        return;
    }
    let _machine = machine();
    let programs = [&SCHEDULERS[..], &["worker", "nice"]].concat();
    let settings = [("SECONDS_EACH", "7")];
    let guest = Guest { cpus: 4, settings: &settings, programs: &programs, ..GUEST };
    let said = guest.prints("groups.sh");
    let (groups, weights) = said.split_once("WEIGHTS\n").unwrap_or_else(|| panic!("{said}"));
    groups_share_alike(groups);
    weights_count(weights);
}

/// Two cgroups under max-perf.
fn groups_share_alike(said: &str) {
    assert!(said.contains("status 0"), "{said}");
    let intervals: Vec<Value> =
        said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect();
    // In the first they began, and shares were not yet known. In each of the others, which task has a fast CPU for how long depends on chance.
    let [_, intervals @ ..] = &intervals[..] else { panic!("no interval in which all were busy: {said}") };
    assert!(intervals.len() >= 3, "{said}");
    let of = |name: &str| {
        let in_each: Vec<&Value> = intervals
            .iter()
            .flat_map(|interval| interval["applications"].as_array().unwrap())
            .filter(|app| app["name"] == name)
            .collect();
        let [.., last] = &in_each[..] else { panic!("no {name}: {said}") };
        let ran_ns =
            |kind: usize| in_each.iter().map(|app| app["ran_ns"][kind].as_f64().unwrap()).sum::<f64>();
        let fast = ran_ns(0) / (ran_ns(0) + ran_ns(1));
        (last["tasks"].as_f64().unwrap(), last["shares"][0].as_f64().unwrap(), fast)
    };
    // Both fast CPUs go to the three tasks that gain more.
    let ((small_tasks, small, small_fast), (big_tasks, big, big_fast)) = (of("small"), of("big"));
    assert_eq!((small_tasks, big_tasks), (1.0, 3.0), "{said}");
    assert!(small < 0.01 && (big - 2.0 / 3.0).abs() < 0.01, "{said}");
    // Alike would be a half each; a fast CPU that has nothing to do takes what there is.
    assert!(small_fast < 0.4 && big_fast > 0.55, "{said}");
    let big: Vec<f64> = beginning_with(said, "big")
        .map(|line| line.split_whitespace().last().unwrap().parse().unwrap())
        .collect();
    assert_eq!(big.len(), 3, "{said}");
    // Emulated CPUs differ in speed by a fifth.
    let most = big.iter().copied().fold(0.0, f64::max);
    assert!(big.iter().all(|done| most < done * 1.5), "{big:?}");
}

/// Processes under max-fair on two fast and two slow CPUs: one of nice -5, five of nice 0, and a sixth that comes after 2.5 s and stays for 1.8.
fn weights_count(said: &str) {
    let notes: Vec<Value> =
        said.lines().filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok()).collect();
    let of = |note: &Value, name: &str| -> Option<Value> {
        note["applications"].as_array()?.iter().find(|app| app["name"] == name).cloned()
    };
    let others = ["one", "two", "three", "four", "five"];
    let is_whole = |note: &&Value| note["within_interval"].is_null();
    let ran = |app: &Value| app["ran_ns"].as_array().unwrap().iter().filter_map(Value::as_f64).sum::<f64>();
    // An interval in which all were there, without the late one and without others that are busy for a moment.
    let mut quiet = notes.iter().filter(is_whole).filter(|note| {
        let apps = note["applications"].as_array().unwrap();
        apps.len() == 6 && of(note, "heavy").is_some() && others.iter().all(|name| of(note, name).is_some())
    });
    let quiet = quiet.next_back().unwrap_or_else(|| panic!("no interval with these six alone: {said}"));
    let heavy = of(quiet, "heavy").unwrap();
    // sched_prio_to_weight: 3121 to 1024. Its thread uses one CPU; of the fast ones it has 3.05 / 8.05.
    assert!((heavy["weight"].as_f64().unwrap() - 3.05).abs() < 0.02, "{heavy}");
    assert!((heavy["shares"][0].as_f64().unwrap() - 0.758).abs() < 0.01, "{heavy}");
    for name in others {
        let other = of(quiet, name).unwrap();
        assert!((other["shares"][0].as_f64().unwrap() - 0.414).abs() < 0.01, "{other}");
        // In a second one of the five may have had less than the others.
        assert!((1.2..2.5).contains(&(ran(&heavy) / ran(&other))), "{heavy} {other}");
    }
    // A CPU for the one, three for the five: 1.67 as much. It is more while slow CPUs are idle between a task that leaves and the next.
    let mean = others.iter().map(|name| ran(&of(quiet, name).unwrap())).sum::<f64>() / others.len() as f64;
    assert!((1.5..2.1).contains(&(ran(&heavy) / mean)), "{heavy}: {mean}");
    // The late one has its shares at once, or with the interval that ends just then. Those who stay have theirs at once when it has gone.
    let came = notes.iter().position(|note| of(note, "late").is_some());
    let has_gone = |note: &Value| note["within_interval"] == true && of(note, "late").is_none();
    assert!(came.is_some_and(|came| notes[came..].iter().any(has_gone)), "{said}");
}

/// Runs the loads of `stress.sh`, each for this many seconds with a crowd of this many tasks. The guest's time is that of its instructions.
/// Where it is this machine's, other programs here make turns longer. The kernel's watchdogs then end a task that would have been in time.
fn survives(scheduler: &str, seconds: &str, crowd: &str) {
    let _machine = machine();
    let programs =
        [&SCHEDULERS[..], &["worker", "shaker", "hackbench", "stress-ng", "chrt", "taskset"]].concat();
    let settings = [("SCHEDULER", scheduler), ("SECONDS_EACH", seconds), ("CROWD", crowd)];
    let guest = Guest { cpus: 4, settings: &settings, programs: &programs, ..GUEST };
    let said = guest.prints("stress.sh");
    let checks: Vec<&str> = beginning_with(&said, "CHECK ").collect();
    let loads =
        ["load", "hotplug", "talkers", "spinners", "affinity", "hog"].map(|load| format!("{load} enabled"));
    let expected: Vec<&str> = loads.iter().map(String::as_str).chain(["end disabled"]).collect();
    assert_eq!(checks, expected, "{said}");
    assert!(!said.contains("FAIL "), "{said}");
    let counts: BTreeMap<&str, u64> = beginning_with(&said, "COUNT ")
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, count)| (name, count.parse().unwrap()))
        .collect();
    assert_eq!(
        (counts["status"], counts["spinners"]),
        (0, crowd.parse().unwrap()),
        "every one has run: {said}"
    );
    for load in ["hotplug", "talkers", "affinity"].into_iter().chain(counts.keys().copied()) {
        assert!(load == "status" || counts[load] > 0, "{load}: {said}");
    }
    assert_eq!(counts.keys().filter(|name| name.starts_with("worker")).count(), 6, "{said}");
}

#[test]
fn flsched_survives_some_seconds_of_what_upsets_schedulers() {
    if !cannot("flsched_survives_some_seconds_of_what_upsets_schedulers") {
        survives("scx_flsched", "1", "60");
    }
}

#[test]
fn fair_survives_some_seconds_of_what_upsets_schedulers() {
    if !cannot("fair_survives_some_seconds_of_what_upsets_schedulers") {
        survives("scx_fair --fast 0-1 --policy max-fair", "1", "60");
    }
}

#[test]
#[ignore = "takes half an hour"]
fn flsched_survives_a_minute_each_of_what_upsets_schedulers() {
    if !cannot("flsched_survives_a_minute_each_of_what_upsets_schedulers") {
        survives("scx_flsched", "60", "2000");
    }
}

#[test]
#[ignore = "takes half an hour"]
fn fair_survives_a_minute_each_of_what_upsets_schedulers() {
    if !cannot("fair_survives_a_minute_each_of_what_upsets_schedulers") {
        survives("scx_fair --fast 0-1 --policy max-fair", "60", "2000");
    }
}
