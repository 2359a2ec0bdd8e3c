//! Did it get worse, what to change, did it help: what two recordings, commands or builds differ in, and what to do about it.
//!
//! Documents come out of here, and `report` prints them.
//!
//! Modules: `check` (budgets: a regression guard), `metric` (the figures that decisions are about), `verdict` (how two sides differ, and what that means), `limit` (expressions such as
//! `switches > +5%`), `runs` (commands run again and again, each run recorded), `compare` (commands by their runs).
#![forbid(unsafe_code)]

pub mod check;
pub mod compare;
mod limit;
mod metric;
pub mod runs;
mod verdict;

pub use limit::{Bound, Limit, LimitError};
pub use metric::{Figure, METRICS, Metric, PricedTrace, UnknownFigure};
pub use verdict::{Change, RunOrder, Verdict, judge};
