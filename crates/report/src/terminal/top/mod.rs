//! `swtch top`: the rates of events since the last snapshot, their selection and order, and their output on a screen or as text.
//!
//! A [`Window`] has the rates between two [snapshots](swtch_trace::Snapshot). [`State`] has what the user has chosen, and [`Key`]s change it.
//! [`draw`] puts both on a screen of any size, and [`text()`] and [`json()`] print a window. All of it is pure: no clock, no terminal.

mod cells;
mod columns;
mod details;
mod groups;
mod header;
mod json;
mod keys;
mod rates;
mod screen;
mod spinning;
mod spinning_lines;
mod state;
mod text;
mod window;

#[cfg(test)]
mod tests;

pub use columns::{ParseTopColumnError, TopColumn};
pub use groups::Grouping;
pub use json::json;
pub use keys::{Action, Key};
pub use rates::{Behind, Rates, TaskPair, TopRow};
pub use screen::{Look, draw};
pub use spinning::TopSpinning;
pub use state::{Settings, State};
pub use text::text;
pub use window::{CostSource, CpuRates, Totals, Window};
