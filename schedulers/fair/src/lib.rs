//! The user-space half of `scx_fair`. It finds which cores are of which kind, how much faster applications are on the faster ones, and what
//! share of each kind each gets.
//!
//! The [`Controller`] is pure: usage in, shares out. Where speedups come from is behind [`SpeedupSource`].
//!
//! Modules: `controller`, `sharing` (two kinds by the published rules, more by a linear program), `source` (where speedups come from),
//! `estimate`, `usage`, `kinds` (which CPUs are of which kind), `apps`, `events`,
//! `maps` (of the BPF half, read and written in every interval), `worker` (what is done when).

mod apps;
mod controller;
mod estimate;
mod events;
mod kinds;
mod maps;
mod sharing;
mod source;
mod usage;
mod worker;

pub use apps::Apps;
pub use controller::{AppId, Controller, Decision};
pub use estimate::Estimate;
pub use kinds::{ByKind, KINDS, Kinds, KindsError};
pub use maps::{ORDER_BYTES, applications_at_most, give, usages};
pub use sharing::SharingError;
pub use source::{Counted, Given, SpeedupSource};
pub use usage::Usage;
pub use worker::{Fair, Plan, Work};
