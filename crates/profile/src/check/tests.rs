use super::*;
use crate::model::{Indirect, NoiseReason, RegionKind, Ring, Total};
use crate::tests::{estimate as estimate_of, profile as small};
use crate::vocabulary::{Access, Rejection, Tasks};
use std::path::Path;

/// A Profile with a row of every kind.
fn whole() -> Profile {
    let mut profile = small();
    profile.noise.batches = 2_000;
    let row = &mut profile.direct[0];
    row.tasks = Tasks::Process;
    let mut c2 = estimate_of(1_500.0);
    c2.undisturbed = 1_400.0;
    profile.total.push(Total {
        array_bytes: 4096,
        stride_bytes: 8,
        access: Access::Read,
        total_cost_ns: c2,
        indirect_cost_ns: Indirect { median: 500.0, ci_low: 480.0, ci_high: 520.0, undisturbed: 480.0 },
        baseline_ns: 900.0,
        switches_per_round_trip: Some(2.0),
    });
    profile.ring.push(Ring {
        processes: 8,
        array_bytes: 0,
        switch_cost_ns: estimate_of(1_100.0),
        baseline_ns: 500.0,
        switches_per_hop: Some(1.0),
    });
    let region = |from_bytes, to_bytes, kind| Region { from_bytes, to_bytes, kind };
    profile.regions = vec![region(1024, 4096, RegionKind::Fits), region(8192, 16384, RegionKind::Interferes)];
    profile.knees.push(Knee {
        array_bytes: 4096,
        kind: "rise".to_owned(),
        cache_level: Some(1),
        cache_bytes: Some(16384),
        predicted_bytes: Some(8192),
        agrees: true,
    });
    profile.references.syscall_ns = Some(estimate_of(100.0));
    profile
}

#[test]
fn every_fixture_is_possible() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles");
    for name in ["vm.json", "server.json"] {
        // Not by the file's reader, which makes the same checks.
        let profile: Profile = serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap();
        assert_eq!(check(&profile), Ok(()), "{name}");
    }
    assert_eq!(check(&whole()), Ok(()));
    assert_eq!(check(&small()), Ok(()));
}

/// A change to a Profile, the figure that is then refused, and what its reason contains.
type Violation = (fn(&mut Profile), String, &'static str);

const COST: &str = "direct pipe process same-cpu normal switch_cost_ns";
const TRIP: &str = "direct pipe process same-cpu normal round_trip_ns";

fn violations_of_estimates() -> Vec<Violation> {
    fn of(field: &str) -> String {
        format!("{COST} {field}")
    }
    vec![
        (|p| p.direct[0].switch_cost_ns.mean = f64::NAN, of("mean"), "NaN"),
        (|p| p.direct[0].switch_cost_ns.ci_low = 1_005.0, of("ci_low"), "1005 is more than median, 1000"),
        (|p| p.direct[0].switch_cost_ns.ci_high = 995.0, of("median"), "1000 is more than ci_high, 995"),
        (|p| p.direct[0].switch_cost_ns.ci_low = 800.0, of("min"), "900 is more than ci_low, 800"),
        (|p| p.direct[0].switch_cost_ns.launch_medians[3] = 1.0, of("min"), "more than the smallest"),
        (
            |p| p.direct[0].switch_cost_ns.undisturbed_quantile = 1.0,
            of("undisturbed_quantile"),
            "not between",
        ),
        (
            |p| p.direct[0].switch_cost_ns.launches = 9,
            of("launches"),
            "9 is not the number of launch_medians, 10",
        ),
        (
            |p| p.direct[0].switch_cost_ns.batches = 9,
            of("launches"),
            "10 is more than the number of batches, 9",
        ),
        (|p| p.direct[0].switch_cost_ns.batch_length = 0, of("batch_length"), "without a round"),
        (|p| p.direct[0].switch_cost_ns.normality_p = Some(1.1), of("normality_p"), "1.1"),
        (
            |p| p.direct[0].switch_cost_ns.lag1_autocorrelation = Some(-1.1),
            of("lag1_autocorrelation"),
            "-1.1",
        ),
        (|p| p.direct[0].switch_cost_ns.undisturbed = -3.0, of("flags"), "below 0 without the flag"),
        (
            |p| p.direct[0].round_trip_ns.undisturbed = 2_000.0,
            format!("{TRIP} min"),
            "2700 is more than undisturbed, 2000",
        ),
        (
            |p| p.direct[0].round_trip_ns.undisturbed = 3_001.0,
            format!("{TRIP} undisturbed"),
            "3001 is more than median, 3000",
        ),
        (
            |p| p.references.syscall_ns.as_mut().unwrap().min = -1.0,
            "references.syscall_ns 0".to_owned(),
            "0 is more than min, -1",
        ),
    ]
}

fn violations_of_rows() -> Vec<Violation> {
    let direct = "direct pipe process same-cpu normal";
    let total = "total 4096 B stride 8 read";
    vec![
        (
            |p| p.direct[0].switches_per_round_trip = Some(f64::INFINITY),
            format!("{direct} switches_per_round_trip"),
            "not a number above 0",
        ),
        (
            |p| p.direct[0].switches_per_round_trip = Some(2.2),
            format!("{direct} switches_per_round_trip"),
            "2.2 switches where 2 are expected",
        ),
        (|p| p.direct[0].involuntary_share = Some(1.2), format!("{direct} involuntary_share"), "1.2"),
        (
            |p| p.direct[0].expected_switches_per_round_trip = 0.0,
            format!("{direct} expected_switches_per_round_trip"),
            "above 0",
        ),
        (|p| p.total[0].baseline_ns = -1.0, format!("{total} baseline_ns"), "-1"),
        (
            |p| p.total[0].switches_per_round_trip = Some(2.2),
            format!("{total} switches_per_round_trip"),
            "2.2",
        ),
        (
            |p| p.total[0].indirect_cost_ns.ci_high = 499.0,
            format!("{total} indirect_cost_ns"),
            "500 is not within 480 to 499",
        ),
        (
            |p| p.total[0].indirect_cost_ns.median = 510.0,
            format!("{total} indirect_cost_ns"),
            "510 is not c2 - c1, 1500 - 1000",
        ),
        (
            |p| p.ring[0].switches_per_hop = Some(0.5),
            "ring of 8 with 0 B switches_per_hop".to_owned(),
            "4 switches where 8",
        ),
        (|p| p.ring[0].baseline_ns = f64::NAN, "ring of 8 with 0 B baseline_ns".to_owned(), "NaN"),
        (|p| p.regions.swap(0, 1), "regions[1]".to_owned(), "1024 to 4096 B does not come after 16384 B"),
        (|p| p.regions[0].to_bytes = 512, "regions[0]".to_owned(), "1024 to 512 B"),
        (|p| p.knees[0].agrees = false, "knees 4096 B".to_owned(), "agrees: false"),
        (|p| p.knees[0].cache_level = None, "knees 4096 B".to_owned(), "only a part"),
        (
            |p| p.noise.batches = 100,
            "noise.batches".to_owned(),
            "609 is more than the batches that were measured, 100",
        ),
        (|p| p.noise.rejected = 3, "noise.rejected".to_owned(), "3 is not the sum of its reasons, 0"),
        (
            |p| p.noise.reasons = vec![NoiseReason { reason: Rejection::Migrated, batches: 1 }],
            "noise.rejected".to_owned(),
            "0 is not the sum of its reasons, 1",
        ),
        (|p| p.noise.steal_share = Some(1.5), "noise.steal_share".to_owned(), "1.5"),
        (|p| p.noise.foreign_share = Some(-0.1), "noise.foreign_share".to_owned(), "-0.1"),
        (|p| p.noise.spin_cov = Some(f64::INFINITY), "noise.spin_cov".to_owned(), "inf"),
        (|p| p.clock.resolution_ns = 0.0, "clock.resolution_ns".to_owned(), "above 0"),
        (|p| p.clock.overhead_ns = -1.0, "clock.overhead_ns".to_owned(), "-1"),
        (|p| p.provenance.elapsed_s = f64::NAN, "provenance.elapsed_s".to_owned(), "NaN"),
        (|p| p.provenance.precision = 2.0, "provenance.precision".to_owned(), "2"),
    ]
}

#[test]
fn each_check_refuses_exactly_what_it_is_for() {
    for (violate, figure, reason) in violations_of_estimates().into_iter().chain(violations_of_rows()) {
        let mut profile = whole();
        violate(&mut profile);
        let refused = check(&profile).unwrap_err();
        assert_eq!(refused.figures.len(), 1, "{figure}: {:?}", refused.figures);
        assert_eq!(refused.figures[0].figure, figure);
        assert!(refused.figures[0].reason.contains(reason), "{figure}: {}", refused.figures[0].reason);
    }
}

#[test]
fn a_flag_says_that_a_deviation_is_known() {
    let mut profile = whole();
    let row = &mut profile.direct[0];
    row.switches_per_round_trip = Some(2.2);
    row.switch_cost_ns.flags.push(Flag::UnexpectedSwitchCount);
    assert_eq!(check(&profile), Ok(()));
    let cost = &mut profile.direct[0].switch_cost_ns;
    cost.undisturbed = -3.0;
    cost.flags.push(Flag::Negative);
    assert_eq!(check(&profile), Ok(()));
    // One stray switch in a batch of ten rounds does not count as a deviation.
    assert!(!is_unexpected(2.14, 2.0, 10) && is_unexpected(2.16, 2.0, 10) && is_unexpected(2.2, 2.0, 1000));
}

#[test]
fn batches_are_checked_with_the_profile_that_comes_from_them() {
    let good = Sample { rounds: 10, round_ns: 2_000.0, spin_ns: 5.0, ..Sample::default() };
    let mut profile = whole();
    profile.noise.batches = 1_000;
    let with = |change: fn(&mut Sample)| {
        let mut samples = vec![good.clone(); 1_000];
        change(&mut samples[4]);
        check_with_samples(&profile, &samples).unwrap_err().to_string()
    };
    assert_eq!(check_with_samples(&profile, &vec![good.clone(); 1_000]), Ok(()));
    let few = check_with_samples(&profile, std::slice::from_ref(&good)).unwrap_err().to_string();
    assert_eq!(few, "noise.batches: 1000 is not the number of samples, 1");
    assert_eq!(with(|row| row.rounds = 0), "samples[4].rounds: a batch without a round");
    assert!(with(|row| row.round_ns = -1.0).starts_with("samples[4].round_ns: -1"));
    assert!(with(|row| row.spin_ns = 0.0).starts_with("samples[4].spin_ns"));
    assert!(with(|row| row.baseline_ns = f64::NAN).starts_with("samples[4].baseline_ns"));
    assert!(with(|row| row.voluntary_per_round = -1.0).starts_with("samples[4].voluntary_per_round"));
    assert!(with(|row| row.off_cpu_share = Some(1.5)).starts_with("samples[4].off_cpu_share"));
}
