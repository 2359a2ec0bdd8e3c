use super::*;
use crate::testing::profile_with;
use swtch_topology::host::{CoreKind, Cpu};

#[test]
fn a_change_larger_than_the_noise_is_told_from_one_within_it() {
    let verdict = |new: f64| compare(&profile_with(1000.0), &profile_with(new)).changes[0].clone();
    let slower = verdict(1100.0);
    assert_eq!(slower.larger_than_noise, Some(true));
    assert!((slower.ratio.unwrap() - 1.1).abs() < 1e-9);
    assert!(slower.ratio_low.unwrap() > 1.05 && slower.ratio_high.unwrap() < 1.15);
    assert_eq!(verdict(1001.0).larger_than_noise, Some(false));
}

#[test]
fn too_few_processes_cannot_be_judged() {
    let mut old = profile_with(1000.0);
    old.direct[0].switch_cost_ns.launch_medians.truncate(2);
    let change = &compare(&old, &profile_with(1100.0)).changes[0];
    assert_eq!((change.ratio, change.larger_than_noise), (None, None));
}

#[test]
fn figures_of_one_side_and_circumstances_are_named() {
    let old = profile_with(1000.0);
    let mut new = profile_with(1000.0);
    new.direct[0].class = "fifo".to_owned();
    new.host.kernel.release = "6.18".to_owned();
    new.clock.source = "clock_gettime".to_owned();
    let found = compare(&old, &new);
    assert!(found.changes.is_empty());
    assert_eq!(found.only_old, ["switch, pipe, thread, same-cpu, normal"]);
    assert_eq!(found.only_new, ["switch, pipe, thread, same-cpu, fifo"]);
    assert_eq!(found.circumstances, ["kernel:  -> 6.18", "clock: tsc -> clock_gettime"]);
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
    assert_eq!(changes[0].larger_than_noise, Some(false));
    assert_eq!(changes[1].what, "switch, pipe, thread, same-cpu (efficiency core), normal");
    assert_eq!(changes[1].larger_than_noise, Some(true));
}

#[test]
fn the_same_files_always_give_the_same_intervals() {
    let (old, new) = (profile_with(1000.0), profile_with(1020.0));
    assert_eq!(compare(&old, &new), compare(&old, &new));
}
