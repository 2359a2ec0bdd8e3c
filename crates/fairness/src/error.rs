//! What cannot be shared.

use thiserror::Error;

/// Why there are no shares.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FairnessError {
    /// A machine without cores.
    #[error("a machine needs a core; 0 fast and 0 slow ones leave nothing to share")]
    NoCores,
    /// There are no applications to share the cores.
    #[error("no speedups: name at least one application's")]
    NoApplications,
    /// A speedup that is none.
    #[error("the speedup of application {index} is {value}; it must be a number above 0, such as 2.5")]
    Speedup {
        /// Which, from 0.
        index: usize,
        /// What was given.
        value: f64,
    },
    /// A weight that is none.
    #[error("the weight of application {index} is {value}; it must be a number above 0, such as 2")]
    Weight {
        /// Which, from 0.
        index: usize,
        /// What was given.
        value: f64,
    },
    /// An application without a thread.
    #[error("application {index} has no threads; it needs at least 1")]
    NoThreads {
        /// Which, from 0.
        index: usize,
    },
    /// A policy that is defined for two kinds of cores only.
    #[error("{policy} is defined for two kinds of cores, and there are {kinds}; use {others}")]
    TwoKindsOnly {
        /// Which.
        policy: &'static str,
        /// How many kinds there are.
        kinds: usize,
        /// Those that are defined for any number of kinds.
        others: String,
    },
    /// A parameter of a policy outside of its range.
    #[error("{name} is {value}; it must be from {least} to {most}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// What was given.
        value: f64,
        /// Least that makes sense.
        least: f64,
        /// Most that makes sense.
        most: f64,
    },
    /// A parameter that the policy does not have.
    #[error("{parameter} is not a parameter of {policy}; {own}")]
    NotOfPolicy {
        /// Which.
        parameter: &'static str,
        /// Of which policy.
        policy: &'static str,
        /// What it has instead.
        own: String,
    },
    /// Two lengths that should be the same differ.
    #[error("{what}: {found} where {expected} are needed")]
    Length {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// No such policy.
    #[error("unknown policy '{name}'; the policies are {known}")]
    UnknownPolicy {
        /// What was given.
        name: String,
        /// All there are.
        known: String,
    },
    /// No such variant of R%-fair.
    #[error("unknown variant '{name}'; the variants are greedy, mix")]
    UnknownVariant {
        /// What was given.
        name: String,
    },
    /// The linear program has no solution, or its solver gave up.
    #[error("no shares satisfy this: {why}")]
    Unsolved {
        /// Why.
        why: String,
    },
}
