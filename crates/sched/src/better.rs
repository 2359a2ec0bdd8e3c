//! Which values of a figure are better.

use serde::{Deserialize, Serialize};

/// Which values of a figure are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// As of a time.
    Smaller,
    /// As of a rate.
    Larger,
}

impl Better {
    /// Of two values.
    pub(crate) fn worst(self, one: f64, other: f64) -> f64 {
        match self {
            Self::Smaller => one.max(other),
            Self::Larger => one.min(other),
        }
    }

    /// In a word, as in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smaller => "smaller",
            Self::Larger => "larger",
        }
    }
}
