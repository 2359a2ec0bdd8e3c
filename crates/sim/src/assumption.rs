//! What a simulation was not given and had to assume.

use serde::Serialize;

/// A figure that no measurement gave. A summary prints them all: a missing capability is data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// What the figure is, such as `fork_ns`.
    pub what: String,
    /// What was taken for it, with its unit.
    pub value: String,
    /// Why it had to be assumed, and where the value comes from.
    pub why: String,
}

impl Assumption {
    pub(crate) fn new(what: &str, value: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.to_owned(), value: value.into(), why: why.into() }
    }
}
