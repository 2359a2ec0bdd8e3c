//! What must hold in every study of tiers: figures that cannot be true are refused before anything is written or printed.

use crate::Estimate;
use crate::own::{check_comparison, check_modes};
use crate::tiers::{CgroupDelta, Ending, Invocation, Tier, TierRow, Tiers};
use swtch_units::input_error::{Checks, Refused};

/// Two clocks of the kernel may be apart by a tick on each CPU: the longest there is.
const TICK_NS: f64 = 10e6;
/// What sums of the same figures may differ by.
const CLOSE: f64 = 1e-6;

/// Checks a study.
///
/// # Errors
/// [`Refused`] with the figures that cannot be true.
pub fn check(tiers: &Tiers) -> Result<(), Refused> {
    let mut checks = Checks::default();
    let cpus = (!tiers.function.deployed).then(|| tiers.host.cpus.len().max(1) as f64);
    let stopped_ns = tiers.tiers.iter().filter_map(longest_stop_ns).fold(0.0, f64::max);
    for one in tiers.invocations.iter().filter(|one| one.outcome == Ending::Complete) {
        invocation(&mut checks, one, cpus, stopped_ns);
    }
    for one in &tiers.rows {
        row(&mut checks, one, tiers);
    }
    let compared = tiers.invocations.iter().map(|one| (one.work_ms, &*one.tier, one.iterations));
    same_work(&mut checks, compared);
    for one in &tiers.comparisons {
        check_comparison(&mut checks, one);
    }
    let compared = tiers.rows.iter().filter(|row| row.n > 0);
    same_work(&mut checks, compared.map(|row| (row.work_ms, &*row.tier, row.iterations)));
    checks.finish()
}

/// How long a stop that began before an invocation may last into it. A quota that was exceeded by a tick is paid back in later periods.
fn longest_stop_ns(tier: &Tier) -> Option<f64> {
    let (period_us, quota_us) = tier.period_us.zip(tier.quota_us)?;
    Some(period_us * 1e3 * (2.0 + (TICK_NS / (quota_us * 1e3)).ceil()))
}

fn invocation(checks: &mut Checks, one: &Invocation, cpus: Option<f64>, stopped_ns: f64) {
    let place = format!("{}, round {}", one.tier, one.repeat);
    let done = one.response.as_ref().and_then(|response| response.work.as_ref()?.iterations);
    if let Some((done, asked)) = done.zip(one.iterations) {
        let what = format!("the number that was asked for at {place}");
        checks.equal("invocations.response.work.iterations", done, asked, &what);
    }
    let Some((latency_ns, cpus)) = one.latency_ns.zip(cpus) else { return };
    checks.require(latency_ns > 0, "invocations.latency_ns", || format!("0 at {place}"));
    let slack_ns = cpus * TICK_NS;
    let bound_ns = cpus * latency_ns as f64 + slack_ns;
    let mut at_most = |figure: &str, value: f64, bound: f64, what: &str| {
        checks
            .require(value <= bound, figure, || format!("{value} is more than {what}, {bound}, at {place}"));
    };
    // A function of one's own may end children here that ran before.
    let own_ns = one.function_cpu_ns.filter(|_| one.iterations.is_some());
    if let Some(own_ns) = own_ns {
        at_most("invocations.function_cpu_ns", own_ns as f64, bound_ns, "latency times CPUs");
    }
    let Some(group) = one.group else { return };
    let CgroupDelta { periods, periods_throttled, throttled_ns, cpu_ns } = group;
    if let Some((own_ns, cpu_ns)) = own_ns.zip(cpu_ns) {
        let bound = cpu_ns as f64 * 1.01 + slack_ns;
        at_most("invocations.function_cpu_ns", own_ns as f64, bound, "the CPU time of its cgroup");
    }
    if let Some(throttled_ns) = throttled_ns {
        let bound = bound_ns + cpus * stopped_ns;
        at_most("invocations.group.throttled_ns", throttled_ns as f64, bound, "latency times CPUs");
    }
    if let Some((stopped, all)) = periods_throttled.zip(periods) {
        // The kernel reads the two one after the other.
        at_most(
            "invocations.group.periods_throttled",
            stopped as f64,
            all as f64 + 1.0,
            "the periods and one",
        );
    }
    let counters = [
        ("throttled_ns", throttled_ns),
        ("cpu_ns", cpu_ns),
        ("periods", periods),
        ("periods_throttled", periods_throttled),
    ];
    for (name, value) in counters {
        let figure = format!("invocations.group.{name}");
        checks.require(value.is_none_or(|value| value >= 0), &figure, || {
            format!("{} at {place}: the counter went backwards", value.unwrap_or_default())
        });
    }
}

fn row(checks: &mut Checks, row: &TierRow, tiers: &Tiers) {
    let place = format!("of {} ms at {}", row.work_ms, row.tier);
    let estimates = [
        ("latency_ns", row.latency_ns),
        ("cpu_ns", row.cpu_ns),
        ("overhead_cpu_ns", row.overhead_cpu_ns),
        ("throttled_cpu_ns", row.throttled_cpu_ns),
        ("throttled_periods_share", row.throttled_periods_share),
        ("slowdown", row.slowdown),
        ("cost_usd", row.cost_usd),
    ];
    for (name, estimate) in estimates {
        let Some(Estimate { median, ci_low, ci_high, n, .. }) = estimate else { continue };
        let figure = format!("rows.{name}");
        checks.require(ci_low <= median && median <= ci_high, &figure, || {
            format!("median {median} is not within {ci_low} to {ci_high} {place}")
        });
        checks.require(n.is_none_or(|n| n <= row.n), &figure, || {
            format!("of {} values for {} invocations {place}", n.unwrap_or_default(), row.n)
        });
    }
    if let Some(latency) = row.latency_ns {
        let ordered = [Some(latency.median), row.p90_ns, row.p99_ns];
        checks.require(ordered.iter().flatten().is_sorted(), "rows.p90_ns", || {
            format!("median, p90 and p99 are {ordered:?} {place}")
        });
        mean_of_invocations(checks, row, &latency, tiers, &place);
    }
    if let Some(share) = row.throttled_periods_share {
        checks.require(share.ci_high <= 1.0, "rows.throttled_periods_share", || {
            format!("{} is more than all periods, 1, {place}", share.ci_high)
        });
    }
    if let Some(modes) = &row.modes {
        check_modes(checks, modes, &place);
    }
    money(checks, row, &place);
}

/// A row is of its invocations: their number and their mean.
fn mean_of_invocations(checks: &mut Checks, row: &TierRow, latency: &Estimate, tiers: &Tiers, place: &str) {
    let of: Vec<&Invocation> = tiers
        .invocations
        .iter()
        .filter(|one| one.tier == row.tier && one.work_ms == row.work_ms)
        .filter(|one| one.outcome == Ending::Complete && !one.measured())
        .collect();
    let warm = of.iter().any(|one| one.cold != Some(true));
    let of = of.iter().filter(|one| !warm || one.cold != Some(true));
    let seen: Vec<f64> = of.filter_map(|one| one.latency_ns).map(|ns| ns as f64).collect();
    if seen.is_empty() {
        return;
    }
    let n = seen.len() as u64;
    checks.equal("rows.n", row.n.into(), n, &format!("the number of invocations {place}"));
    let mean = seen.iter().sum::<f64>() / n as f64;
    checks.require(latency.mean.is_none_or(|said| close(said, mean, mean)), "rows.latency_ns.mean", || {
        format!("{:?} is not that of the invocations, {mean}, {place}", latency.mean)
    });
}

/// The fee for the request is in the bill, the difference of two bills is that of their means, and no quota makes the same work cheaper.
fn money(checks: &mut Checks, row: &TierRow, place: &str) {
    if let Some((request, cost)) = row.request_usd.zip(row.cost_usd) {
        checks.require((0.0..=cost.ci_low * (1.0 + CLOSE)).contains(&request), "rows.request_usd", || {
            format!("{request} is more than the whole bill, {}, {place}", cost.ci_low)
        });
    }
    let Some(extra) = row.extra_usd.as_ref().and_then(|extra| extra.usd) else { return };
    checks.require(extra.n.is_some_and(|n| n < 2) || extra.ci_high >= 0.0, "rows.extra_usd", || {
        format!("throttling saves {} {place}", -extra.ci_high)
    });
    let Some((cost, free)) = row.cost_usd.zip(row.cost_unthrottled_usd) else { return };
    let (Some(cost_mean), Some(free_mean), Some(mean)) = (cost.mean, free.mean, extra.mean) else { return };
    if cost.n == extra.n && free.n == extra.n {
        let difference = cost_mean - free_mean;
        checks.require(close(mean, difference, cost_mean), "rows.extra_usd", || {
            format!("{mean} is not the difference of both bills, {difference}, {place}")
        });
    }
}

fn close(one: f64, other: f64, scale: f64) -> bool {
    (one - other).abs() <= CLOSE * scale.abs().max(one.abs())
}

/// What is compared did the same: one number of iterations for each work.
fn same_work<'a>(checks: &mut Checks, compared: impl Iterator<Item = (f64, &'a str, Option<u64>)>) {
    let mut first: Vec<(f64, &str, Option<u64>)> = Vec::new();
    // A function that brings its own work, and a measurement, have no work here.
    for one in compared.filter(|(work_ms, ..)| *work_ms > 0.0) {
        let same = first.iter().find(|same| same.0 == one.0).copied().unwrap_or_else(|| {
            first.push(one);
            one
        });
        checks.require(one.2.is_some() && one.2 == same.2, "iterations", || {
            let said = |of: (f64, &str, Option<u64>)| {
                let count = of.2.map_or_else(|| "an unknown number of".to_owned(), |count| count.to_string());
                format!("{count} iterations at {}", of.1)
            };
            format!("{} ms of work is {} and {}: they cannot be compared", one.0, said(same), said(one))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::path::Path;

    fn fixture() -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/faas/gcf/tiers.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    /// Every figure that is refused once the one at that place has another value.
    fn refused(place: &str, value: &Value) -> String {
        let mut study = fixture();
        *study.pointer_mut(place).unwrap_or_else(|| panic!("nothing is at {place}")) = value.clone();
        let tiers: Tiers = serde_json::from_value(study).unwrap();
        let refused = check(&tiers).unwrap_err();
        assert!(!refused.to_string().contains('\n'), "{refused}");
        let said: Vec<String> = refused.figures.iter().map(ToString::to_string).collect();
        said.join("\n")
    }

    /// Where the first invocation that worked is.
    fn worked() -> usize {
        let study = fixture();
        let works = |one: &Value| one["work_ms"].as_f64().unwrap() > 0.0;
        study["invocations"].as_array().unwrap().iter().position(works).unwrap()
    }

    #[test]
    fn the_recorded_study_holds() {
        let tiers: Tiers = serde_json::from_value(fixture()).unwrap();
        check(&tiers).unwrap();
    }

    #[test]
    fn tiers_that_did_different_work_are_refused() {
        let iterations = format!("/invocations/{}/iterations", worked());
        let said = refused(&iterations, &json!(3_415_277));
        assert!(said.contains("3415277 iterations at") && said.contains("they cannot be compared"), "{said}");
        assert!(refused(&iterations, &Value::Null).contains("an unknown number of iterations"));
        assert!(refused("/rows/1/iterations", &json!(7_374_930)).contains("7374930 iterations at"));
        let done = format!("/invocations/{}/response/work/iterations", worked());
        assert!(refused(&done, &json!(1)).contains("1 is not the number that was asked for"));
    }

    #[test]
    fn what_the_kernel_cannot_have_counted_is_refused() {
        let place = |name: &str| format!("/invocations/{}/{name}", worked());
        for (name, value, words) in [
            ("group/throttled_ns", json!(90_000_000_000_i64), "invocations.group.throttled_ns: 90000000000"),
            ("group/periods_throttled", json!(1000), "invocations.group.periods_throttled: 1000"),
            ("group/cpu_ns", json!(-1), "the counter went backwards"),
            ("function_cpu_ns", json!(90_000_000_000_i64), "invocations.function_cpu_ns: 90000000000"),
            ("latency_ns", json!(0), "invocations.latency_ns: 0"),
        ] {
            let said = refused(&place(name), &value);
            assert!(said.contains(words), "{name}: {said}");
        }
    }

    #[test]
    fn rows_that_contradict_themselves_or_their_invocations_are_refused() {
        for (place, value, words) in [
            ("/rows/0/throttled_periods_share/ci_high", json!(1.17), "rows.throttled_periods_share: 1.17"),
            ("/rows/0/p90_ns", json!(1.0), "rows.p90_ns: median, p90 and p99"),
            ("/rows/0/latency_ns/mean", json!(1.0), "rows.latency_ns.mean"),
            ("/rows/0/latency_ns/ci_low", json!(1e12), "rows.latency_ns: median"),
            ("/rows/0/n", json!(7), "rows.n: 7 is not the number of invocations"),
            ("/rows/0/request_usd", json!(1.0), "rows.request_usd: 1 is more than the whole bill"),
            ("/rows/0/extra_usd/usd/mean", json!(-1.98e-6), "rows.extra_usd: -0.00000198 is not"),
            ("/rows/0/extra_usd/usd/ci_high", json!(-1e-6), "rows.extra_usd: throttling saves"),
        ] {
            let said = refused(place, &value);
            assert!(said.contains(words), "{place}: {said}");
        }
    }
}
