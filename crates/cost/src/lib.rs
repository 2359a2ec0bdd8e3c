//! Prices a Trace: what its context switches cost, as a range that holds the truth, never a single invented number.
//!
//! [`CostModel`] is a price list, taken from a machine's Profile; [`bill()`] applies it to a Trace's header and tasks.
//!
//! Modules: `model` (the price list), `refill` (caches), `in_place` (switches that were measured), `money`; `waits` (how long tasks
//! waited, and behind what); `spinning` (threads that wait on CPUs that others need); `advice` (what stands out, and what to try) with `front` (the tasks that had the CPU while others waited)
//! and `caveat` (what else explains a Trace); `why` (what made some spans slow).
#![forbid(unsafe_code)]

mod advice;
mod bill;
mod caveat;
mod front;
mod in_place;
mod model;
mod money;
mod refill;
mod spinning;
mod waits;
mod why;

pub use advice::{Advice, advise, stands_out};
pub use bill::{Bill, Cause, CauseKind, Inputs, TaskBill, bill, is_over};
pub use caveat::{Caveat, caveats, profile_caveats};
pub use in_place::InPlace;
pub use model::{CostModel, HandOver, MeasuredOn, Range, Refill};
pub use money::{MONTH_HOURS, Money, ParsePriceError, Price};
pub use refill::IndirectFrom;
pub use spinning::{SpinningProcess, spinning_processes};
pub use waits::{ProgramWaits, WaitPart, Waits};
pub use why::{
    Behind, CauseShare, DividedSpan, SlowSpan, SpanCause, SpanGroup, SpanName, SpanPart, Why, WhyError,
    divided, has_switches, why, whys,
};
