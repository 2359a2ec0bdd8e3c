//! Profiles against Profiles.

use super::*;
use crate::Verdict;
use std::path::Path;
use swtch_profile::model::Ring;
use swtch_profile::vocabulary::Class;
use swtch_topology::Placement;
use swtch_topology::host::{CoreKind, Cpu};

/// An estimate around `median` whose ten processes differ by one per cent.
fn estimate(median: f64) -> Estimate {
    let mut estimate = fixture().direct.remove(0).switch_cost_ns;
    (estimate.median, estimate.ci_low, estimate.ci_high) = (median, 0.99 * median, 1.01 * median);
    estimate.launch_medians = (0..10).map(|launch| median * (0.995 + 0.001 * f64::from(launch))).collect();
    estimate
}

fn fixture() -> Profile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles/vm.json");
    swtch_profile::file::read(&path).unwrap()
}

/// A Profile with one figure, the direct cost of a switch.
fn profile_with(median: f64) -> Profile {
    let mut profile = fixture();
    profile.direct.retain(|row| row.placement == Placement::SameCpu && row.class == Class::Normal);
    profile.direct.truncate(1);
    profile.direct[0].switch_cost_ns = estimate(median);
    (profile.total, profile.ring, profile.messages) = (Vec::new(), Vec::new(), Vec::new());
    profile.references = swtch_profile::model::References::default();
    profile
}

fn compare(old: &Profile, new: &Profile) -> Diff {
    let found = diff_profiles(std::slice::from_ref(old), std::slice::from_ref(new));
    found.check().unwrap();
    found
}

#[test]
fn a_change_larger_than_the_noise_is_told_from_one_within_it() {
    let change = |new: f64| compare(&profile_with(1000.0), &profile_with(new)).changes.remove(0);
    let slower = change(1100.0);
    assert_eq!(slower.verdict, Verdict::Worse);
    assert!((slower.ratio.unwrap() - 1.1).abs() < 1e-9);
    assert!(slower.ci_low.unwrap() > 1.05 && slower.ci_high.unwrap() < 1.15);
    assert_eq!(change(1001.0).verdict, Verdict::Same);
    assert_eq!(change(900.0).verdict, Verdict::Better);
    assert_eq!(change(1100.0), slower, "the same files always give the same intervals");
}

#[test]
fn too_few_processes_cannot_be_judged() {
    let mut old = profile_with(1000.0);
    old.direct[0].switch_cost_ns.launch_medians.truncate(2);
    let change = &compare(&old, &profile_with(1100.0)).changes[0];
    assert_eq!((change.ci_low, change.verdict), (None, Verdict::Unclear));
    assert!(change.reason.as_ref().unwrap().starts_with("2 runs of a side"), "{change:?}");
}

#[test]
fn figures_of_one_side_and_circumstances_are_named() {
    let old = profile_with(1000.0);
    let mut new = profile_with(1000.0);
    new.direct[0].class = Class::Fifo;
    new.host.kernel.release = "6.18".to_owned();
    new.clock.source = "clock_gettime".to_owned();
    let found = compare(&old, &new);
    assert!(found.changes.is_empty());
    let name = figures(&old).remove(0).0;
    let fifo = name.replace("normal", "fifo");
    let notes = [format!("Only in the old Profile: {name}."), format!("Only in the new Profile: {fifo}.")];
    assert_eq!(found.notes, notes);
    let release = &old.host.kernel.release;
    assert_eq!(found.circumstances[0], format!("kernel: {release} -> 6.18"));
    assert!(found.circumstances.last().unwrap().ends_with(" -> clock_gettime"), "{found:?}");
}

#[test]
fn each_kind_of_core_is_compared_with_its_own() {
    let hybrid = |fast_ns: f64, slow_ns: f64| {
        let mut profile = profile_with(fast_ns);
        let mut slow = profile_with(slow_ns).direct.remove(0);
        (profile.direct[0].cpus, slow.cpus) = (vec![1], vec![2]);
        profile.direct.push(slow);
        let core = |id, kind| Cpu { id, kind, ..Cpu::default() };
        profile.host.cpus = vec![core(1, CoreKind::Performance), core(2, CoreKind::Efficiency)];
        profile
    };
    let changes = compare(&hybrid(1000.0, 2000.0), &hybrid(1000.0, 3000.0)).changes;
    assert_eq!(changes[0].verdict, Verdict::Same);
    assert!(changes[1].metric.contains("(efficiency core)"), "{}", changes[1].metric);
    assert_eq!(changes[1].verdict, Verdict::Worse);
}

/// A cost without its baseline whose interval reaches 0 has no ratio: -22 to 3 is none.
#[test]
fn a_figure_that_may_be_zero_is_not_divided_by() {
    let mut near_zero = profile_with(1000.0);
    near_zero.direct[0].switch_cost_ns.ci_low = -3.0;
    for (old, new, reason) in [
        (&near_zero, &profile_with(1000.0), "the old figure may be 0"),
        (&profile_with(1000.0), &near_zero, "the new figure may be 0"),
    ] {
        let change = &compare(old, new).changes[0];
        assert_eq!((change.verdict, change.reason.as_deref()), (Verdict::Unclear, Some(reason)));
        assert_eq!((change.ratio, change.ci_low, change.ci_high), (None, None, None));
    }
}

/// With a hundred figures that are the same, the one that differs by a little is one of those that differ by chance.
#[test]
fn what_is_claimed_of_many_figures_is_corrected_for_their_number() {
    let many = |changed_ns: f64| {
        let mut profile = profile_with(1000.0);
        let row = |processes| Ring {
            processes,
            array_bytes: 0,
            switch_cost_ns: estimate(1000.0),
            baseline_ns: 100.0,
            switches_per_hop: None,
        };
        profile.direct.clear();
        profile.ring = (2..102).map(row).collect();
        profile.ring[7].switch_cost_ns = estimate(changed_ns);
        profile
    };
    let found = compare(&many(1000.0), &many(1014.0));
    assert!(found.changes[7].ci_low.unwrap() > 1.0 && found.changes[7].verdict == Verdict::Same, "{found:?}");
    assert_eq!((found.changes[0].verdict, found.verdict), (Verdict::Same, Verdict::Same));
    let found = compare(&many(1000.0), &many(1200.0));
    assert_eq!((found.changes[7].verdict, found.verdict), (Verdict::Worse, Verdict::Worse));
    assert!(
        found.answer.starts_with("Worse: 1 of 100 figures are worse, 0 better, 99 the same"),
        "{found:?}"
    );
}

#[test]
fn a_change_of_a_few_instructions_is_printed_with_the_digits_that_show_it() {
    let counted = |ns: f64| {
        let mut profile = profile_with(ns);
        profile.direct[0].switch_cost_ns.launch_medians = vec![ns; 5];
        profile
    };
    let change = compare(&counted(5700.0), &counted(5701.0)).changes.remove(0);
    assert_eq!((change.verdict, change.ratio_decimals()), (Verdict::Worse, 4));
    let same = compare(&counted(5700.0), &counted(5700.0)).changes.remove(0);
    assert_eq!((same.verdict, same.ratio_decimals()), (Verdict::Same, 3));
}

#[test]
fn a_verdict_that_contradicts_its_figures_is_refused() {
    let good = compare(&profile_with(1000.0), &profile_with(1600.0));
    assert_eq!(good.changes[0].verdict, Verdict::Worse);
    let refused = |change: fn(&mut Change)| {
        let mut bad = good.clone();
        change(&mut bad.changes[0]);
        bad.check().unwrap_err().to_string()
    };
    assert!(refused(|change| change.verdict = Verdict::Same).contains("same, where its figures say worse"));
    assert!(refused(|change| change.old = 6.58).contains("ratio: 1.6 is not 1600 / 6.58"));
    assert!(refused(|change| change.ci_low = Some(22.14)).contains("is not within 22.14"));
    assert!(refused(|change| change.ci_high = None).contains("only a part"));
}
