//! The scheduler's constants, and how they are written.

use crate::error::SimError;
use swtch_fairness::{Parameters, Policy as Rule};

/// The original's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AsymmetricOptions {
    /// A round, ns.
    pub round_ns: u64,
    /// Time between computations of the shares, ns.
    pub interval_ns: u64,
    /// Speeds are sampled, not known: every application spends at least [`least_share`](Self::least_share) on every kind of core.
    pub sampled: bool,
    /// That least share.
    pub least_share: f64,
    /// A sample is off by at most this part of it, evenly distributed.
    pub noise: f64,
    /// What computing the shares takes each time, ns, on the first CPU.
    pub controller_ns: u64,
    /// While the speeds of one application are not known, all have what they are entitled to, as in the original. Otherwise only that one has,
    /// and the others share what it leaves by the rule.
    pub waits: bool,
}

impl Default for AsymmetricOptions {
    /// 30 ms, 2 s, sampled with at least 4 %, and 0.17 ms for the controller: as published. The noise of 10 % is calibrated: estimates
    /// are then off by some 2.7 % on average, as published.
    fn default() -> Self {
        Self {
            round_ns: 30_000_000,
            interval_ns: 2_000_000_000,
            sampled: true,
            least_share: 0.04,
            noise: 0.1,
            controller_ns: 170_000,
            waits: false,
        }
    }
}

/// A rule and the scheduler's constants, from a text such as `min-fair` or `min-fair:min-fairness=0.9,sampled=false`.
///
/// # Errors
/// When there is no such rule or parameter, or a value cannot be.
pub(super) fn parse(text: &str) -> Result<(Rule, AsymmetricOptions), SimError> {
    let (name, given) = text.split_once(':').unwrap_or((text, ""));
    let fail = |problem: String| super::super::fault(name, problem);
    let mut parameters = Parameters::default();
    let mut options = AsymmetricOptions::default();
    for pair in given.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let number = || {
            let number = value.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
            number.ok_or_else(|| fail(format!("{key} is \"{value}\", expected a number of at least 0")))
        };
        let truth = || {
            let truth = value.trim().parse::<bool>();
            truth.map_err(|_| fail(format!("{key} is \"{value}\", expected true or false")))
        };
        match key.trim() {
            "min-fairness" => parameters.min_fairness = Some(number()?),
            "similarity" => parameters.similarity = Some(number()?),
            "published" => parameters.published = Some(truth()?),
            "uniformity" => parameters.uniformity = Some(number()?),
            "r" => parameters.r = Some(number()?),
            "threshold" => parameters.threshold = Some(number()?),
            "variant" => {
                let variant = swtch_fairness::Variant::from_name(value.trim());
                parameters.variant = Some(variant.map_err(|error| fail(error.to_string()))?);
            }
            "sampled" => options.sampled = truth()?,
            "waits" => options.waits = truth()?,
            "noise" => options.noise = number()?.min(0.99),
            "round-ms" => options.round_ns = ((number()? * 1e6) as u64).max(1),
            "interval-ms" => options.interval_ns = ((number()? * 1e6) as u64).max(1),
            "controller-us" => options.controller_ns = (number()? * 1e3) as u64,
            other => {
                return Err(fail(format!(
                    "there is no parameter \"{other}\"; there are those of `swtch shares`, and sampled, waits, noise, round-ms, interval-ms, controller-us"
                )));
            }
        }
    }
    let rule = Rule::from_name(name).and_then(|rule| rule.with(&parameters));
    Ok((rule.map_err(|error| fail(error.to_string()))?, options))
}
