//! Which code gives up its CPU, is interrupted, or wakes others: from addresses to names.
//!
//! Modules: `processes` (which file lies where in which process), `unwind` (callers by `.eh_frame`), `symbols` (names).

pub(crate) mod processes;
pub(crate) mod symbols;
pub(crate) mod unwind;
