//! Figures of a Profile that cannot be true. Code that prints, writes or reads a Profile makes these checks first.

use crate::model::{Direct, Estimate, Knee, Profile, Region};
use crate::samples::Sample;
use crate::vocabulary::Flag;
use swtch_units::input_error::{Checks, Refused};

/// Two figures that are computed from the same numbers differ by rounding only.
const ROUNDING: f64 = 1e-6;
/// A deviation of the counted from the expected switches that is flagged, as a share of the expected ones.
pub const UNEXPECTED_SWITCHES_SHARE: f64 = 0.05;
/// Stray switches in a batch that do not count as a deviation: one, and half of another.
pub const STRAY_SWITCHES: f64 = 1.5;
/// What a Profile that was measured says of its source; an invented one need not agree with itself.
const MEASURED: &str = "measured";

/// Whether an estimate may be below zero.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// Of times as they were measured.
    Gross,
    /// Of times less a baseline. `undisturbed` is then a difference of two quantiles, and has no order with the batches' differences.
    Net,
}

/// Whether counted switches deviate from the expected ones by so much that the figure says so: `unexpected-switch-count`. The answer is the same for a hop
/// and for a lap of a ring.
///
/// ```
/// use swtch_profile::check::is_unexpected;
/// assert!(!is_unexpected(1.05, 1.0, 1000) && !is_unexpected(24.0 * 1.05, 24.0, 1000));
/// assert!(is_unexpected(1.06, 1.0, 1000));
/// ```
pub fn is_unexpected(counted: f64, expected: f64, batch_length: u32) -> bool {
    let stray = STRAY_SWITCHES / f64::from(batch_length.max(1));
    (counted - expected).abs() > (UNEXPECTED_SWITCHES_SHARE * expected).max(stray) * (1.0 + ROUNDING)
}

/// Checks a Profile by itself.
///
/// # Errors
/// [`Refused`] when a figure cannot be true.
pub fn check(profile: &Profile) -> Result<(), Refused> {
    let mut checks = Checks::default();
    let measured = profile.provenance.source == MEASURED;
    circumstances(&mut checks, profile);
    for row in &profile.direct {
        let name = format!("direct {} {} {} {}", row.method, row.tasks, row.placement, row.class);
        direct(&mut checks, &name, row, measured);
    }
    total(&mut checks, profile, measured);
    ring(&mut checks, profile, measured);
    for row in &profile.messages {
        let name = row.name();
        estimate(&mut checks, &name, &row.message_ns, Sign::Gross);
        let counts = row.channels > 0 && row.depth > 0 && row.message_bytes > 0;
        checks.require(counts, &name, || "no message in a round".to_owned());
        if let Some(ns) = row.one_cpu_ns {
            checks.finite(&format!("{name} one_cpu_ns"), ns);
        }
        share(&mut checks, &format!("{name} write_share"), row.write_share);
    }
    let references = &profile.references;
    let named = [
        ("references.syscall_ns", &references.syscall_ns),
        ("references.fork_ns", &references.fork_ns),
        ("references.thread_create_ns", &references.thread_create_ns),
    ];
    for (name, found) in named {
        if let Some(found) = found {
            estimate(&mut checks, name, found, Sign::Gross);
        }
    }
    regions(&mut checks, &profile.regions);
    for row in &profile.knees {
        knee(&mut checks, row);
    }
    noise(&mut checks, profile, measured);
    checks.finish()
}

/// Checks a Profile that was just measured together with its batches.
///
/// # Errors
/// [`Refused`] when a figure cannot be true.
pub fn check_with_samples(profile: &Profile, samples: &[Sample]) -> Result<(), Refused> {
    check(profile)?;
    let mut checks = Checks::default();
    let batches = u64::from(profile.noise.batches);
    checks.equal("noise.batches", batches, samples.len() as u64, "the number of samples");
    for (index, row) in samples.iter().enumerate() {
        let name = |column: &str| format!("samples[{index}].{column}");
        checks.require(row.rounds > 0, &name("rounds"), || "a batch without a round".to_owned());
        positive(&mut checks, &name("round_ns"), row.round_ns);
        positive(&mut checks, &name("spin_ns"), row.spin_ns);
        for (column, value) in [
            ("baseline_ns", row.baseline_ns),
            ("baseline_per_round", row.baseline_per_round),
            ("voluntary_per_round", row.voluntary_per_round),
            ("involuntary_per_round", row.involuntary_per_round),
        ] {
            checks.finite(&name(column), value);
        }
        let share = row.off_cpu_share.unwrap_or(0.0);
        checks.require(share.is_finite() && share <= 1.0, &name("off_cpu_share"), || {
            format!("{share} is not a share of the batch's time")
        });
    }
    checks.finish()
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn positive(checks: &mut Checks, figure: &str, value: f64) {
    checks.require(is_positive(value), figure, || format!("{value} is not a number above 0"));
}

fn share(checks: &mut Checks, figure: &str, value: Option<f64>) {
    if let Some(value) = value {
        checks.require((0.0..=1.0).contains(&value), figure, || format!("{value} is not between 0 and 1"));
    }
}

fn circumstances(checks: &mut Checks, profile: &Profile) {
    let (run, clock) = (&profile.provenance, &profile.clock);
    checks.finite("provenance.elapsed_s", run.elapsed_s);
    share(checks, "provenance.precision", Some(run.precision));
    positive(checks, "clock.resolution_ns", clock.resolution_ns);
    checks.finite("clock.overhead_ns", clock.overhead_ns);
    if let Some(hz) = clock.frequency_hz {
        positive(checks, "clock.frequency_hz", hz);
    }
    if let Some(ppm) = clock.calibration_ppm {
        checks.finite("clock.calibration_ppm", ppm);
    }
}

fn estimate(checks: &mut Checks, name: &str, found: &Estimate, kind: Sign) {
    let numbers = [
        ("median", found.median),
        ("ci_low", found.ci_low),
        ("ci_high", found.ci_high),
        ("mean", found.mean),
        ("min", found.min),
        ("undisturbed", found.undisturbed),
    ];
    for (field, value) in numbers {
        checks.require(value.is_finite(), &format!("{name} {field}"), || format!("{value} is not a number"));
    }
    let slack = ROUNDING * found.median.abs();
    let mut ordered = |low: (&str, f64), high: (&str, f64)| {
        checks.require(low.1 <= high.1 + slack, &format!("{name} {}", low.0), || {
            format!("{} is more than {}, {}", low.1, high.0, high.1)
        });
    };
    ordered(("ci_low", found.ci_low), ("median", found.median));
    ordered(("median", found.median), ("ci_high", found.ci_high));
    ordered(("min", found.min), ("ci_low", found.ci_low));
    if kind == Sign::Gross {
        ordered(("min", found.min), ("undisturbed", found.undisturbed));
        ordered(("undisturbed", found.undisturbed), ("median", found.median));
        ordered(("0", 0.0), ("min", found.min));
    }
    let smallest = found.launch_medians.iter().copied().fold(f64::INFINITY, f64::min);
    ordered(("min", found.min), ("the smallest of launch_medians", smallest));
    let quantile = found.undisturbed_quantile;
    checks.require(0.0 < quantile && quantile < 1.0, &format!("{name} undisturbed_quantile"), || {
        format!("{quantile} is not between 0 and 1")
    });
    let (figure, launches) = (format!("{name} launches"), u64::from(found.launches));
    let medians = found.launch_medians.len() as u64;
    checks.equal(&figure, launches, medians, "the number of launch_medians");
    checks.at_most(&figure, launches, u64::from(found.batches), "the number of batches");
    checks
        .require(found.batches > 0, &format!("{name} batches"), || "an estimate without a batch".to_owned());
    checks.require(found.batch_length > 0, &format!("{name} batch_length"), || {
        "batches without a round".to_owned()
    });
    let p = found.normality_p.filter(|p| !p.is_nan());
    share(checks, &format!("{name} normality_p"), p);
    let lag1 = found.lag1_autocorrelation.unwrap_or(0.0);
    checks.require((-1.0..=1.0).contains(&lag1), &format!("{name} lag1_autocorrelation"), || {
        format!("{lag1} is not between -1 and 1")
    });
    let flagged = found.flags.contains(&Flag::Negative);
    checks.require(flagged || found.median.min(found.undisturbed) >= 0.0, &format!("{name} flags"), || {
        format!(
            "median {} or undisturbed {} is below 0 without the flag `negative`",
            found.median, found.undisturbed
        )
    });
}

/// Counted switches: a number above 0, and a deviation from the expected ones is flagged.
fn switches(
    checks: &mut Checks,
    name: &str,
    counted: Option<f64>,
    expected: f64,
    found: &Estimate,
    measured: bool,
) {
    let Some(counted) = counted else { return };
    positive(checks, name, counted);
    if !measured || !is_positive(counted) || !is_positive(expected) {
        return;
    }
    let flagged = found.flags.contains(&Flag::UnexpectedSwitchCount);
    checks.require(flagged || !is_unexpected(counted, expected, found.batch_length), name, || {
        format!(
            "{counted} switches where {expected} are expected, without the flag `unexpected-switch-count`"
        )
    });
}

fn direct(checks: &mut Checks, name: &str, row: &Direct, measured: bool) {
    estimate(checks, &format!("{name} switch_cost_ns"), &row.switch_cost_ns, Sign::Net);
    estimate(checks, &format!("{name} round_trip_ns"), &row.round_trip_ns, Sign::Gross);
    checks.finite(&format!("{name} baseline_ns"), row.baseline_ns);
    share(checks, &format!("{name} involuntary_share"), row.involuntary_share);
    let expected = row.expected_switches_per_round_trip;
    positive(checks, &format!("{name} expected_switches_per_round_trip"), expected);
    let counted = row.switches_per_round_trip;
    let figure = format!("{name} switches_per_round_trip");
    switches(checks, &figure, counted, expected, &row.switch_cost_ns, measured);
}

fn total(checks: &mut Checks, profile: &Profile, measured: bool) {
    let c1 = profile.direct.iter().find(|row| row.is_c1()).map(|row| row.switch_cost_ns.median);
    for row in &profile.total {
        let name = format!("total {} B stride {} {}", row.array_bytes, row.stride_bytes, row.access);
        estimate(checks, &format!("{name} total_cost_ns"), &row.total_cost_ns, Sign::Net);
        checks.finite(&format!("{name} baseline_ns"), row.baseline_ns);
        let within = 0 < row.stride_bytes && row.stride_bytes <= row.array_bytes;
        checks.require(within, &format!("{name} stride_bytes"), || "it leaves the array at once".to_owned());
        // A pipe's round trip is two switches.
        let figure = format!("{name} switches_per_round_trip");
        switches(checks, &figure, row.switches_per_round_trip, 2.0, &row.total_cost_ns, measured);
        let indirect = &row.indirect_cost_ns;
        let figure = format!("{name} indirect_cost_ns");
        let held = indirect.ci_low <= indirect.median && indirect.median <= indirect.ci_high;
        checks.require(held && indirect.undisturbed.is_finite(), &figure, || {
            format!("{} is not within {} to {}", indirect.median, indirect.ci_low, indirect.ci_high)
        });
        let c2 = row.total_cost_ns.median;
        if let Some(c1) = c1.filter(|_| measured) {
            let off = (c2 - c1 - indirect.median).abs();
            checks.require(off <= ROUNDING * c2.abs().max(c1.abs()), &figure, || {
                format!("{} is not c2 - c1, {c2} - {c1}", indirect.median)
            });
        }
    }
}

fn ring(checks: &mut Checks, profile: &Profile, measured: bool) {
    for row in &profile.ring {
        let name = format!("ring of {} with {} B", row.processes, row.array_bytes);
        estimate(checks, &format!("{name} switch_cost_ns"), &row.switch_cost_ns, Sign::Net);
        checks.finite(&format!("{name} baseline_ns"), row.baseline_ns);
        checks.require(row.processes > 1, &name, || "one process is not a ring".to_owned());
        let per_lap = row.switches_per_hop.map(|hop| hop * f64::from(row.processes));
        let figure = format!("{name} switches_per_hop");
        switches(checks, &figure, per_lap, f64::from(row.processes), &row.switch_cost_ns, measured);
    }
}

fn regions(checks: &mut Checks, regions: &[Region]) {
    let mut end = 0;
    for (index, region) in regions.iter().enumerate() {
        let ordered = end < region.from_bytes && region.from_bytes <= region.to_bytes;
        checks.require(ordered, &format!("regions[{index}]"), || {
            format!("{} to {} B does not come after {end} B", region.from_bytes, region.to_bytes)
        });
        end = region.to_bytes;
    }
}

/// Whether it agrees with its cache follows from both sizes.
fn knee(checks: &mut Checks, row: &Knee) {
    let name = format!("knees {} B", row.array_bytes);
    let whole = row.predicted_bytes.is_some() == row.cache_bytes.is_some()
        && row.cache_bytes.is_some() == row.cache_level.is_some();
    checks.require(whole, &name, || "only a part of its cache is stated".to_owned());
    let octaves = row.predicted_bytes.map(|bytes| (bytes as f64 / row.array_bytes as f64).log2().abs());
    let near = octaves.is_some_and(|octaves| octaves <= 1.0 + ROUNDING);
    checks.require(near == row.agrees, &name, || {
        format!("agrees: {}, but the cache predicts {:?} B", row.agrees, row.predicted_bytes)
    });
}

fn noise(checks: &mut Checks, profile: &Profile, measured: bool) {
    let noise = &profile.noise;
    let (batches, rejected) = (u64::from(noise.batches), u64::from(noise.rejected));
    checks.at_most("noise.rejected", rejected, batches, "all batches");
    let by_reason = noise.reasons.iter().map(|row| u64::from(row.batches)).sum();
    checks.equal("noise.rejected", rejected, by_reason, "the sum of its reasons");
    share(checks, "noise.steal_share", noise.steal_share);
    share(checks, "noise.foreign_share", noise.foreign_share);
    if let Some(cov) = noise.spin_cov {
        checks.finite("noise.spin_cov", cov);
    }
    if measured {
        let of = |found: &Estimate| u64::from(found.batches) + u64::from(found.rejected);
        let all = profile.direct.iter().map(|row| of(&row.switch_cost_ns)).sum::<u64>()
            + profile.total.iter().map(|row| of(&row.total_cost_ns)).sum::<u64>()
            + profile.ring.iter().map(|row| of(&row.switch_cost_ns)).sum::<u64>()
            + profile.messages.iter().map(|row| of(&row.message_ns)).sum::<u64>();
        checks.at_most("noise.batches", all, batches, "the batches that were measured");
    }
}

#[cfg(test)]
mod tests;
