//! The policies, by name.

use crate::error::FairnessError;
use crate::metrics::Ddof;
use std::mem::discriminant;

/// A policy's name, what it does in one line, and the policy with its published parameters: 85 % for guarantees, similar within 0.2,
/// half shared alike.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRow {
    /// The name, here and everywhere else.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// With the published parameters.
    pub policy: Policy,
}

/// All policies.
pub const POLICIES: [PolicyRow; 10] = [
    row("max-fair", "equal shares of the fast cores", Policy::MaxFair),
    row("max-perf", "fast cores to the applications that gain most", Policy::MaxPerf),
    row(
        "min-fair",
        "each application keeps 85 % of its performance under max-fair; the rest goes to those that gain most",
        Policy::MinFair { min_fairness: 0.85 },
    ),
    row(
        "similar-min-fair",
        "as min-fair, with equal shares for similar speedups",
        Policy::SimilarMinFair { min_fairness: 0.85, similarity: 0.2, published: false },
    ),
    row(
        "uni-fair",
        "as much throughput as a uniformity of 85 % allows",
        Policy::UniFair { uniformity: 0.85, min_fairness: 0.0, ddof: Ddof::One },
    ),
    row(
        "r-fair",
        "half of the fast cores in equal shares; the rest goes to the applications that gain most",
        Policy::RFair { r: 0.5, variant: Variant::Greedy },
    ),
    row(
        "guaranteed",
        "max-perf while the uniformity is above 85 %, else max-fair",
        Policy::Guaranteed { threshold: 0.85, ddof: Ddof::One },
    ),
    row("scaled-load", "load in proportion to the cores' power", Policy::ScaledLoad),
    row("equal-speedup", "the same speedup over a slow core for all", Policy::EqualSpeedup),
    row("equal-slowdown", "the same slowdown against a fast core for all", Policy::EqualSlowdown),
];

const fn row(name: &'static str, meaning: &'static str, policy: Policy) -> PolicyRow {
    PolicyRow { name, meaning, policy }
}

/// How R%-fair hands out what is not shared alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// To the highest speedups, until each has all it can use.
    #[default]
    Greedy,
    /// By a mix in time of max-fair and max-perf.
    Mix,
}

/// Parameters of policies, as the caller gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters {
    /// What each keeps of its performance under max-fair.
    pub min_fairness: Option<f64>,
    /// Speedups that differ by less are similar.
    pub similarity: Option<f64>,
    /// Share alike among similar ones as published, which may break the guarantee.
    pub published: Option<bool>,
    /// The least uniformity of uni-fair.
    pub uniformity: Option<f64>,
    /// The part that is shared alike.
    pub r: Option<f64>,
    /// How the rest is handed out.
    pub variant: Option<Variant>,
    /// The least uniformity of guaranteed fairness.
    pub threshold: Option<f64>,
    /// How deviations are computed; of every policy.
    pub ddof: Option<Ddof>,
}

impl Parameters {
    /// Those that are given and not of every policy.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("min-fairness", self.min_fairness.is_some()),
            ("similarity", self.similarity.is_some()),
            ("published", self.published.is_some()),
            ("uniformity", self.uniformity.is_some()),
            ("r", self.r.is_some()),
            ("variant", self.variant.is_some()),
            ("threshold", self.threshold.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name)
    }
}

fn set<T: Copy>(parameter: &mut T, given: Option<T>) {
    *parameter = given.unwrap_or(*parameter);
}

/// How the fast cores are shared.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Policy {
    /// All alike.
    MaxFair,
    /// All to those who gain most.
    MaxPerf,
    /// To each what keeps it at `min_fairness` of its performance under max-fair, the rest to those who gain most.
    MinFair {
        /// The guarantee, 0 to 1.
        min_fairness: f64,
    },
    /// The same; then those with similar speedups share what they have alike.
    SimilarMinFair {
        /// The guarantee, 0 to 1.
        min_fairness: f64,
        /// Speedups that differ by less are similar.
        similarity: f64,
        /// Alike as published, which may break the guarantee; otherwise never below it.
        published: bool,
    },
    /// As much throughput as the uniformity allows: a mix with max-fair.
    UniFair {
        /// The least uniformity, 0 to 1.
        uniformity: f64,
        /// What is mixed with max-fair keeps this guarantee (min-fair); 0 for max-perf.
        min_fairness: f64,
        /// How the deviation is computed.
        ddof: Ddof,
    },
    /// A part of the fast cores is shared alike, the rest goes to those who gain most. Guarantees no metric.
    RFair {
        /// The part that is shared alike, 0 to 1.
        r: f64,
        /// How the rest is handed out.
        variant: Variant,
    },
    /// Max-perf while the uniformity so far allows it, max-fair otherwise; in the long run a mix of the two. [`Guaranteed`](crate::Guaranteed)
    /// decides interval by interval.
    Guaranteed {
        /// The least uniformity, 0 to 1.
        threshold: f64,
        /// How the deviation is computed.
        ddof: Ddof,
    },
    /// Load in proportion to a fixed power of the cores, whatever the applications. Over all ways to place them each has the equal share; where
    /// nothing moves them, those on fast cores stay there.
    ScaledLoad,
    /// The same speedup over a slow core for all, as far as that can be.
    EqualSpeedup,
    /// The same slowdown against a fast core for all, as far as that can be.
    EqualSlowdown,
}

impl Variant {
    /// The variant of a name, `greedy` or `mix`.
    ///
    /// # Errors
    /// When there is none.
    pub fn from_name(name: &str) -> Result<Self, FairnessError> {
        match name {
            "greedy" => Ok(Self::Greedy),
            "mix" => Ok(Self::Mix),
            _ => Err(FairnessError::UnknownVariant { name: name.to_owned() }),
        }
    }
}

impl Policy {
    /// Its name.
    pub fn name(&self) -> &'static str {
        let row = POLICIES.iter().find(|row| discriminant(&row.policy) == discriminant(self));
        row.map_or("unknown", |row| row.name)
    }

    /// Whether it is defined for more than two kinds of cores too ([`CoreTypes::allocate`](crate::CoreTypes::allocate)).
    pub fn is_for_any_kinds(&self) -> bool {
        !matches!(self, Self::EqualSpeedup | Self::EqualSlowdown)
    }

    /// The policy of a name, with the published parameters: 85 % for guarantees, similar within 0.2, half shared alike.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// ```
    /// use swtch_fairness::{POLICIES, Policy};
    /// assert_eq!(Policy::from_name("min-fair"), Ok(Policy::MinFair { min_fairness: 0.85 }));
    /// assert!(POLICIES.iter().all(|row| Policy::from_name(row.name).unwrap().name() == row.name));
    /// ```
    pub fn from_name(name: &str) -> Result<Self, FairnessError> {
        POLICIES.iter().find(|row| row.name == name).map(|row| row.policy).ok_or_else(|| {
            let known = POLICIES.map(|row| row.name).join(", ");
            FairnessError::UnknownPolicy { name: name.to_owned(), known }
        })
    }

    /// The policy with these parameters instead of the published ones.
    ///
    /// # Errors
    /// When one is given that the policy does not have.
    ///
    /// ```
    /// use swtch_fairness::{Parameters, Policy};
    /// let given = Parameters { min_fairness: Some(0.9), ..Parameters::default() };
    /// assert_eq!(Policy::from_name("min-fair")?.with(&given), Ok(Policy::MinFair { min_fairness: 0.9 }));
    /// assert!(Policy::MaxFair.with(&given).is_err());
    /// # Ok::<(), swtch_fairness::FairnessError>(())
    /// ```
    pub fn with(mut self, given: &Parameters) -> Result<Self, FairnessError> {
        let own: &[&str] = match &mut self {
            Self::MinFair { min_fairness } => {
                set(min_fairness, given.min_fairness);
                &["min-fairness"]
            }
            Self::SimilarMinFair { min_fairness, similarity, published } => {
                set(min_fairness, given.min_fairness);
                set(similarity, given.similarity);
                set(published, given.published);
                &["min-fairness", "similarity", "published"]
            }
            Self::UniFair { uniformity, min_fairness, ddof } => {
                set(uniformity, given.uniformity);
                set(min_fairness, given.min_fairness);
                set(ddof, given.ddof);
                &["uniformity", "min-fairness"]
            }
            Self::RFair { r, variant } => {
                set(r, given.r);
                set(variant, given.variant);
                &["r", "variant"]
            }
            Self::Guaranteed { threshold, ddof } => {
                set(threshold, given.threshold);
                set(ddof, given.ddof);
                &["threshold"]
            }
            _ => &[],
        };
        match given.names().find(|name| !own.contains(name)) {
            None => Ok(self),
            Some(parameter) => {
                let own = if own.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("it has {}", own.join(", "))
                };
                Err(FairnessError::NotOfPolicy { parameter, policy: self.name(), own })
            }
        }
    }

    /// # Errors
    /// When a parameter is outside of its range, or no number.
    pub(crate) fn check(&self) -> Result<(), FairnessError> {
        let within = |name, value: f64, most: f64| {
            if (0.0..=most).contains(&value) {
                Ok(())
            } else {
                Err(FairnessError::Parameter { name, value, least: 0.0, most })
            }
        };
        match *self {
            Self::MinFair { min_fairness } => within("the minimum fairness", min_fairness, 1.0),
            Self::SimilarMinFair { min_fairness, similarity, .. } => {
                within("the minimum fairness", min_fairness, 1.0)?;
                within("the similarity", similarity, f64::MAX)
            }
            Self::UniFair { uniformity, min_fairness, .. } => {
                within("the uniformity", uniformity, 1.0)?;
                within("the minimum fairness", min_fairness, 1.0)
            }
            Self::RFair { r, .. } => within("the part that is shared alike", r, 1.0),
            Self::Guaranteed { threshold, .. } => within("the threshold", threshold, 1.0),
            _ => Ok(()),
        }
    }
}
