use super::*;
use crate::model::Ring;
use crate::tests::profile_with;
use swtch_topology::host::{CoreKind, Cpu};

#[test]
fn a_change_larger_than_the_noise_is_told_from_one_within_it() {
    let verdict = |new: f64| compare(&profile_with(1000.0), &profile_with(new)).changes[0].clone();
    let slower = verdict(1100.0);
    assert_eq!(slower.verdict, Verdict::Slower);
    assert!((slower.ratio.unwrap() - 1.1).abs() < 1e-9);
    assert!(slower.ratio_low.unwrap() > 1.05 && slower.ratio_high.unwrap() < 1.15);
    assert_eq!(verdict(1001.0).verdict, Verdict::NoDifference);
    assert_eq!(verdict(900.0).verdict, Verdict::Faster);
}

#[test]
fn too_few_processes_cannot_be_judged() {
    let mut old = profile_with(1000.0);
    old.direct[0].switch_cost_ns.launch_medians.truncate(2);
    let change = &compare(&old, &profile_with(1100.0)).changes[0];
    assert_eq!((change.ratio, change.verdict), (None, Verdict::CannotDecide));
    assert_eq!(change.reason.as_deref(), Some("fewer than 3 processes"));
}

#[test]
fn figures_of_one_side_and_circumstances_are_named() {
    let old = profile_with(1000.0);
    let mut new = profile_with(1000.0);
    new.direct[0].class = crate::vocabulary::Class::Fifo;
    new.host.kernel.release = "6.18".to_owned();
    new.clock.source = "clock_gettime".to_owned();
    let found = compare(&old, &new);
    assert!(found.changes.is_empty());
    assert_eq!(found.only_old, ["switch, pipe, thread, same-cpu, normal"]);
    assert_eq!(found.only_new, ["switch, pipe, thread, same-cpu, fifo"]);
    assert_eq!(found.circumstances, ["kernel: unknown -> 6.18", "clock: tsc -> clock_gettime"]);
}

#[test]
fn each_kind_of_core_is_compared_with_its_own() {
    let hybrid = |fast_ns: f64, slow_ns: f64| {
        let mut profile = profile_with(fast_ns);
        let mut slow = profile_with(slow_ns).direct.remove(0);
        slow.cpus = vec![2];
        profile.direct.push(slow);
        let core = |id, kind| Cpu { id, kind, ..Cpu::default() };
        profile.host.cpus = vec![core(1, CoreKind::Performance), core(2, CoreKind::Efficiency)];
        profile
    };
    let changes = compare(&hybrid(1000.0, 2000.0), &hybrid(1000.0, 3000.0)).changes;
    assert_eq!(changes[0].verdict, Verdict::NoDifference);
    assert_eq!(changes[1].what, "switch, pipe, thread, same-cpu (efficiency core), normal");
    assert_eq!(changes[1].verdict, Verdict::Slower);
}

#[test]
fn the_same_files_always_give_the_same_intervals() {
    let (old, new) = (profile_with(1000.0), profile_with(1020.0));
    assert_eq!(compare(&old, &new), compare(&old, &new));
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
        assert_eq!((change.verdict, change.reason.as_deref()), (Verdict::CannotDecide, Some(reason)));
        assert_eq!((change.ratio, change.ratio_low, change.ratio_high), (None, None, None));
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
            switch_cost_ns: crate::tests::estimate(1000.0),
            baseline_ns: 100.0,
            switches_per_hop: None,
        };
        profile.direct.clear();
        profile.ring = (2..102).map(row).collect();
        profile.ring[7].switch_cost_ns = crate::tests::estimate(changed_ns);
        profile
    };
    let verdict = |new_ns: f64| {
        let found = compare(&many(1000.0), &many(new_ns));
        (found.changes[7].verdict, found.changes[0].verdict, found.summary())
    };
    let (seven, other, text) = verdict(1014.0);
    assert_eq!((seven, other), (Verdict::PerhapsSlower, Verdict::NoDifference), "{text}");
    assert_eq!(
        text,
        "0 of 100 figures changed (95 %, corrected for 100 figures by Holm's method); 1 more may have (95 % each, not corrected)."
    );
    assert_eq!(verdict(1200.0).0, Verdict::Slower);
}

#[test]
fn a_change_of_a_few_instructions_is_printed_with_the_digits_that_show_it() {
    let counted = |ns: f64| {
        let mut profile = profile_with(ns);
        profile.direct[0].switch_cost_ns.launch_medians = vec![ns; 5];
        profile
    };
    let change = compare(&counted(5700.0), &counted(5701.0)).changes.remove(0);
    assert_eq!((change.verdict, change.ratio_decimals()), (Verdict::Slower, 4));
    let same = compare(&counted(5700.0), &counted(5700.0)).changes.remove(0);
    assert_eq!((same.verdict, same.ratio_decimals()), (Verdict::NoDifference, 2));
}

#[test]
fn a_verdict_that_contradicts_its_figures_is_refused() {
    let good = compare(&profile_with(1000.0), &profile_with(1600.0));
    assert_eq!((good.check(), good.changes[0].verdict), (Ok(()), Verdict::Slower));
    let refused = |change: fn(&mut Change)| {
        let mut bad = good.clone();
        change(&mut bad.changes[0]);
        bad.check().unwrap_err().to_string()
    };
    assert!(
        refused(|change| change.verdict = Verdict::NoDifference).contains("no difference of an interval")
    );
    assert!(refused(|change| change.old_ns = 6.58).contains("ratio: 1.6 is not 1600 / 6.58"));
    assert!(refused(|change| change.ratio_low = Some(-22.14)).contains("is not within -22.14"));
    assert!(refused(|change| change.ratio_high = None).contains("only a part"));
    assert!(refused(|change| change.reason = Some("why".to_owned())).contains("verdict"));
}
