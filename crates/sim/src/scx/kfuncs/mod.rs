//! The kernel's functions that schedulers call, and the table by which they find them.
//!
//! Every function here is called by the scheduler's code only, from inside a callback; see [`current`](super::core::current).

mod cpus;
mod maps;
mod plain;
mod queues;
mod table;
mod tasks;

pub(super) use table::KfuncTable;
