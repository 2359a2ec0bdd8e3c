//! What `swtch/faas-tiers/3` has of functions of the user's own: their switches, latencies of two kinds, variants against each other, and load.

use crate::Estimate;
use serde::Deserialize;
use swtch_units::input_error::Checks;

/// Shares of parts make a whole, but for rounding.
const CLOSE: f64 = 1e-9;

/// How often the tasks of a function were switched out in an invocation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Switches {
    /// Because they waited.
    pub voluntary: i64,
    /// Because the kernel gave the CPU to others, or a quota was used up.
    pub involuntary: i64,
    /// `getrusage` (the function itself, with threads that ended) or `proc` (from outside, without them).
    pub counted_by: String,
    /// Threads that ended meanwhile and whose switches are not in it.
    pub ended: u32,
}

/// The same over the invocations of a row, with what that takes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct OwnSwitches {
    /// In an invocation.
    pub voluntary: Estimate,
    /// In an invocation.
    pub involuntary: Estimate,
    /// As of [`Switches`].
    pub counted_by: Option<String>,
    /// As many switches as swtch's handler measured in the tier, reads and writes included.
    pub time_ns: Option<f64>,
    /// What the tier costs for so long.
    pub usd: Option<f64>,
}

/// One of the two latencies of a tier whose quota only a part of the invocations fits into.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Mode {
    /// Of its invocations.
    pub latency_ns: Estimate,
    /// Its share of the invocations, 0 to 1.
    pub share: f64,
    /// The share of those that the quota stopped.
    pub stopped_share: f64,
}

/// A function against another one of the same study, in a tier, round by round.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Comparison {
    /// The tier.
    pub tier: String,
    /// The work, ms of CPU time; 0 of functions that bring their own.
    pub work_ms: f64,
    /// Which function.
    pub function: String,
    /// Against which one.
    pub against: String,
    /// The latency of that one over the function's.
    pub times_as_fast: Estimate,
    /// Of the sign test.
    pub p_value: f64,
    /// After Holm's correction for all comparisons of the study.
    pub p_adjusted: f64,
    /// `faster`, `slower`, `not distinguishable` or `too few rounds`.
    pub verdict: String,
}

/// How invocations were made that were not one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Load {
    /// Requests a second of an open loop; absent where callers waited for their answers.
    pub rate_per_s: Option<f64>,
    /// Invocations that may be under way at once.
    pub concurrency: u32,
    /// Invocations of a tier and work in a round.
    pub requests_per_round: u32,
    /// How many processes took them, each with the limits of the tier to itself.
    pub instances: u32,
}

/// The two latencies are ordered and make up all invocations.
pub(crate) fn check_modes(checks: &mut Checks, modes: &[Mode], place: &str) {
    let sum: f64 = modes.iter().map(|mode| mode.share).sum();
    checks.require((sum - 1.0).abs() < CLOSE, "rows.modes", || {
        format!("shares make {sum} and not all invocations {place}")
    });
    let ordered = modes.is_sorted_by(|one, other| one.latency_ns.median < other.latency_ns.median);
    checks.require(ordered, "rows.modes", || format!("the faster is not first {place}"));
    let shares = modes.iter().all(|mode| (0.0..=1.0).contains(&mode.stopped_share));
    checks.require(shares, "rows.modes", || format!("a share is not from 0 to 1 {place}"));
}

/// A verdict is that of its test and of its ratio.
pub(crate) fn check_comparison(checks: &mut Checks, one: &Comparison) {
    let place = format!("of {} against {} at {}", one.function, one.against, one.tier);
    let possible = (0.0..=1.0).contains(&one.p_value) && (one.p_value..=1.0).contains(&one.p_adjusted);
    checks.require(possible, "comparisons.p_adjusted", || {
        format!("{} after the correction of {} {place}", one.p_adjusted, one.p_value)
    });
    let told = match &*one.verdict {
        "faster" => one.times_as_fast.median > 1.0,
        "slower" => one.times_as_fast.median < 1.0,
        _ => true,
    };
    checks.require(told, "comparisons.verdict", || {
        format!("{} with a ratio of {} {place}", one.verdict, one.times_as_fast.median)
    });
}
