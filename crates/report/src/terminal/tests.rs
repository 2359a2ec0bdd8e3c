//! Widths and warnings, on the profiles under `fixtures/`.

use super::*;
use std::path::Path;
use swtch_profile::compare::compare;
use swtch_topology::host::{CoreKind, Cpu};

fn fixture(name: &str) -> Profile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles");
    swtch_profile::file::read(&folder.join(name)).unwrap()
}

/// The longest words that a row can have, and the flags that can meet on a figure.
fn widest() -> Profile {
    let mut profile = fixture("vm.json");
    let all = ["negative", "noisy-host", "unexpected-switch-count", "few-batches"].map(str::to_owned);
    for row in &mut profile.direct {
        "pid-sum-ring".clone_into(&mut row.method);
        "process".clone_into(&mut row.tasks);
        "other-core-kind".clone_into(&mut row.placement);
        row.cpus = vec![1000, 2000];
        row.switch_cost_ns.ci_low = -998.0;
        row.switch_cost_ns.flags = all[1..].to_vec();
    }
    for row in &mut profile.total {
        row.total_cost_ns.flags = all[1..].to_vec();
    }
    for row in &mut profile.ring {
        row.switch_cost_ns.flags = all.to_vec();
    }
    profile
}

#[test]
fn no_line_is_wider_than_a_terminal() {
    let (vm, server, widest) = (fixture("vm.json"), fixture("server.json"), widest());
    let mut hybrid = vm.clone();
    hybrid.host.cpus[1].kind = CoreKind::Performance;
    let texts = [
        super::profile(&vm),
        super::profile(&server),
        super::profile(&widest),
        super::profile(&hybrid),
        comparison(&compare(&vm, &vm)),
        comparison(&compare(&hybrid, &hybrid)),
        comparison(&compare(&widest, &widest)),
    ];
    for line in texts.iter().flat_map(|text| text.lines()) {
        assert!(line.chars().count() <= WIDTH, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn the_answer_is_the_first_paragraph_in_plain_spaces() {
    let text = super::profile(&fixture("vm.json"));
    let (answer, rest) = text.split_once("\n\n").unwrap();
    assert!(answer.starts_with("A switch between two threads on one CPU costs"), "{answer}");
    assert!(rest.starts_with("Direct cost of a switch (c1)"), "{rest}");
    assert!(!text.contains('\u{a0}'));
}

#[test]
fn every_flag_is_explained_beneath_its_table() {
    let text = super::profile(&widest());
    for line in
        ["  a: noisy-host, ", "  b: unexpected-switch-count, ", "  c: few-batches, ", "  *: few-batches or"]
    {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn an_invented_profile_is_not_taken_for_a_measurement() {
    assert!(super::profile(&fixture("server.json")).contains("These figures are invented, not measured."));
    assert!(!super::profile(&fixture("vm.json")).contains("not measured."));
}

/// The README's sample is what the program prints for the profile that it names.
#[test]
fn the_readme_shows_what_is_printed() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let (_, sample) = readme.split_once("$ swtch measure\n").unwrap();
    let (sample, _) = sample.split_once("```").unwrap();
    let text = super::profile(&fixture("vm.json"));
    assert!(sample.lines().count() > 8);
    for line in sample.lines().filter(|line| line.trim() != "...") {
        assert!(text.lines().any(|printed| printed == line), "not printed: {line}");
    }
}

#[test]
fn kinds_of_core_stand_apart() {
    let mut profile = fixture("vm.json");
    let mut slow = profile.direct[0].clone();
    slow.cpus = vec![7];
    profile.direct.push(slow);
    profile.host.cpus = vec![Cpu { id: 7, kind: CoreKind::Efficiency, ..Cpu::default() }];
    let text = super::profile(&profile);
    assert!(
        text.contains("\n  same-cpu, CPU 1\n") && text.contains("\n  same-cpu, CPU 7, efficiency core\n"),
        "{text}"
    );
}
