//! Widths and warnings, on the profiles under `fixtures/`.

use super::*;
use std::path::Path;
use swtch_decide::diff_profiles;
use swtch_profile::vocabulary::{Flag, Method, Tasks};
use swtch_topology::host::{CoreKind, Cpu};

fn fixture(name: &str) -> Profile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles");
    swtch_profile::file::read(&folder.join(name)).unwrap()
}

/// The longest words that a row can have, and the flags that can meet on a figure.
fn widest() -> Profile {
    let mut profile = fixture("vm.json");
    let all = Flag::ALL;
    for row in &mut profile.direct {
        row.method = Method::PidSumRing;
        row.tasks = Tasks::Process;
        row.placement = Placement::OtherCoreKind;
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

/// Measured in a guest whose instructions QEMU executes.
fn emulated() -> Profile {
    let mut profile = fixture("vm.json");
    profile.host.cpu_model = Some("QEMU TCG CPU version 2.5+".to_owned());
    profile
}

fn compared(old: &Profile, new: &Profile) -> String {
    diff(&compare(old, new))
}

fn compare(old: &Profile, new: &Profile) -> swtch_decide::Diff {
    diff_profiles(std::slice::from_ref(old), std::slice::from_ref(new))
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
        compared(&vm, &vm),
        compared(&hybrid, &hybrid),
        compared(&widest, &emulated()),
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
fn times_of_an_emulated_machine_have_their_warning_before_any_table() {
    let first = |text: &str| text.split("\n\n").next().unwrap().replace("\n  ", " ");
    let (vm, emulated) = (fixture("vm.json"), emulated());
    let was = "was measured on an emulated machine, so its times are not those of hardware.";
    let text = super::profile(&emulated);
    assert!(first(&text).contains(&format!("Note: the Profile {was}")), "{text}");
    assert!(!super::profile(&vm).contains(was));
    for (old, new, whose) in [
        (&vm, &vm, &[][..]),
        (&emulated, &vm, &["old"]),
        (&vm, &emulated, &["new"]),
        (&emulated, &emulated, &["old", "new"]),
    ] {
        let text = compared(old, new);
        for one in ["old", "new"] {
            let said = first(&text).contains(&format!("Note: the {one} Profile {was}"));
            assert_eq!(said, whose.contains(&one), "{one} of {whose:?}: {text}");
        }
        let document = compare(old, new);
        for (one, side) in [("old", &document.old), ("new", &document.new)] {
            let is_emulated = side.caveats.contains(&swtch_cost::Caveat::EmulatedProfile);
            assert_eq!(is_emulated, whose.contains(&one), "{document:?}");
        }
    }
}

/// A comparison of figures that were disturbed says whose were.
#[test]
fn a_disturbed_profile_is_named_in_a_comparison() {
    let (mut quiet, mut disturbed) = (fixture("vm.json"), fixture("vm.json"));
    (quiet.noise.foreign_share, quiet.noise.steal_share) = (Some(0.01), Some(0.0));
    (disturbed.noise.foreign_share, disturbed.noise.steal_share) = (Some(0.4), Some(0.0));
    let text = compared(&quiet, &disturbed);
    let note = "Note: other programs or the hypervisor took 40 % of the CPUs' time while the new Profile was measured";
    assert!(text.replace("\n  ", " ").contains(note), "{text}");
    assert!(!text.contains("the old Profile"), "{text}");
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
