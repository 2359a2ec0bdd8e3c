//! Words that the terminal and the page share, so that the two never say different things.

pub(crate) mod bill;
pub(crate) mod caveats;
pub(crate) mod diff;
pub(crate) mod headline;
pub(crate) mod naming;
pub(crate) mod text;
pub(crate) mod waits;
pub(crate) mod wrap;
