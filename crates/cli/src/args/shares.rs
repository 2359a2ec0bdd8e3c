//! Arguments of `swtch shares`.

use super::JsonArgs;
use super::words::{NameAndMeaning, NamesOf};
use clap::Args;
use clap::builder::TypedValueParser;
use std::path::PathBuf;
use swtch_fairness::{Ddof, Demand, FairnessError, POLICIES, Parameters, Policy, Variant};
use swtch_sim::policies::weight_of;

/// What a thread of nice 0 weighs.
const NICE_0: f64 = 1024.0;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    swtch shares --fast 2 --slow 4 --speedups 3,2.5,2,1.5,1.2,1 --policy min-fair --min-fairness 0.85\n  \
    swtch shares --fast 1 --slow 2 --speedups 3,2.9,1.5 --policy similar-min-fair --similarity 0.2\n  \
    swtch shares --fast 2 --slow 4 --speedups 3,2.5,2,1.5 --policy guaranteed --threshold 0.85 --json\n  \
    swtch shares --fast 2 --slow 4 --speedups 3,2,1.5 --nice 0,-5,5 --threads 1,1,4\n  \
    swtch shares --types kinds.json --min-fairness 0.85\n\n\
    A share is the part of an application's own CPU time on fast cores; performance is relative to max-fair.\n\
    With weights or threads, max-fair is what each application is entitled to by its weight.\n\
    The file of --types: {\"types\": [{\"name\": \"big\", \"cores\": 1}, ...], \"speeds\": [[3, 2, 1], ...]}\n\
    with a row of speeds for each application.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage.")]
pub(crate) struct SharesArgs {
    /// Fast cores
    #[arg(long, value_name = "N", required_unless_present = "types")]
    pub(crate) fast: Option<u32>,
    /// Slow cores
    #[arg(long, value_name = "N", required_unless_present = "types")]
    pub(crate) slow: Option<u32>,
    /// Speed of each application on a fast core over that on a slow one
    #[arg(long, value_name = "S,...", value_delimiter = ',', required_unless_present = "types")]
    pub(crate) speedups: Vec<f64>,
    /// Weight of each application, which its threads share [default: its threads]
    #[arg(long, value_name = "W,...", value_delimiter = ',', conflicts_with = "nice")]
    pub(crate) weights: Vec<f64>,
    /// Nice value of each application's threads, -20 to 19; an application weighs what its threads weigh together
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_hyphen_values = true, value_parser = clap::value_parser!(i8).range(-20..20))]
    pub(crate) nice: Vec<i8>,
    /// Threads of each application [default: 1]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(crate) threads: Vec<u32>,
    /// The policy that shares the cores; with --types all but equal-speedup and equal-slowdown
    #[arg(long, value_name = "POLICY", default_value = "min-fair", value_parser = NamesOf(policies).try_map(|name| Policy::from_name(&name)))]
    pub(crate) policy: Policy,
    /// Least performance of each application, relative to max-fair (min-fair, similar-min-fair, uni-fair) [default: 0.85; uni-fair: 0]
    #[arg(long, value_name = "M")]
    pub(crate) min_fairness: Option<f64>,
    /// Speedups that differ by less are similar (similar-min-fair) [default: 0.2]
    #[arg(long, value_name = "D")]
    pub(crate) similarity: Option<f64>,
    /// Give similar applications equal shares as published, which may break the guarantee (similar-min-fair)
    #[arg(long)]
    pub(crate) published: bool,
    /// Least uniformity (uni-fair) [default: 0.85]
    #[arg(long, value_name = "U")]
    pub(crate) uniformity: Option<f64>,
    /// The part of the fast cores that is shared equally (r-fair) [default: 0.5]
    #[arg(long, value_name = "R")]
    pub(crate) r: Option<f64>,
    /// How the rest is shared (r-fair)
    #[arg(long, value_name = "greedy|mix", value_parser = variant)]
    pub(crate) variant: Option<Variant>,
    /// Least uniformity (guaranteed) [default: 0.85]
    #[arg(long, value_name = "U")]
    pub(crate) threshold: Option<f64>,
    /// Number of first intervals to print (guaranteed) [default: 20]
    #[arg(long, value_name = "N")]
    pub(crate) intervals: Option<usize>,
    /// Deviations divided by n (0, as the published controller) or by n - 1 (1, as the published figures)
    #[arg(long, value_name = "0|1", default_value = "1", value_parser = ddof)]
    pub(crate) ddof: Ddof,
    /// Read a machine with any number of core kinds from this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fast", "slow", "speedups"])]
    pub(crate) types: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

impl SharesArgs {
    /// Weights and threads of this number of applications, where any are given.
    pub(crate) fn demands(&self, applications: usize) -> Result<Option<Vec<Demand>>, FairnessError> {
        if !self.nice.is_empty() && self.nice.len() != applications {
            let (what, found) = ("nice values", self.nice.len());
            return Err(FairnessError::Length { what, found, expected: applications });
        }
        let by_nice = |(place, nice): (usize, &i8)| {
            let threads = self.threads.get(place).copied().unwrap_or(1);
            f64::from(weight_of(*nice)) / NICE_0 * f64::from(threads.max(1))
        };
        let by_nice: Vec<f64> = self.nice.iter().enumerate().map(by_nice).collect();
        let weights = if self.nice.is_empty() { &self.weights } else { &by_nice };
        let weights = (!weights.is_empty()).then_some(&weights[..]);
        Demand::of_each(applications, weights, (!self.threads.is_empty()).then_some(&self.threads))
    }

    /// The policy with what was given for it.
    pub(crate) fn chosen(&self) -> Result<Policy, FairnessError> {
        if self.intervals.is_some() && self.policy.name() != "guaranteed" {
            let (parameter, own) = ("intervals", "guaranteed has it".to_owned());
            return Err(FairnessError::NotOfPolicy { parameter, policy: self.policy.name(), own });
        }
        self.policy.with(&Parameters {
            min_fairness: self.min_fairness,
            similarity: self.similarity,
            published: self.published.then_some(true),
            uniformity: self.uniformity,
            r: self.r,
            variant: self.variant,
            threshold: self.threshold,
            ddof: Some(self.ddof),
        })
    }
}

fn policies() -> Vec<NameAndMeaning> {
    POLICIES.iter().map(|row| (row.name, row.meaning)).collect()
}

fn variant(name: &str) -> Result<Variant, String> {
    Variant::from_name(name).map_err(|error| error.to_string())
}

fn ddof(text: &str) -> Result<Ddof, String> {
    match text {
        "0" => Ok(Ddof::Zero),
        "1" => Ok(Ddof::One),
        _ => Err(format!("'{text}' is neither 0 nor 1")),
    }
}
