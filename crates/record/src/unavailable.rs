/// A figure that this machine does not give, and why. It stands in the place of a zero that nobody counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unavailable {
    /// The figure: `machine.context_switches`, `tasks.wait_ns`.
    pub what: String,
    /// Why it is missing, and where there is one, what to do about it.
    pub why: String,
}

impl Unavailable {
    /// A row from its two parts.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}
