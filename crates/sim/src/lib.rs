//! A deterministic simulator of Linux schedulers: the same input and seed give the same bytes on any machine.
//!
//! A [`Machine`](machine::Machine) with its [`Costs`](costs::Costs) runs a [`Workload`](workload::Workload) under a
//! [`Policy`](policy::Policy), which has the hooks of the kernel's scheduling classes. [`Engine`] does it.
//!
//! Modules: `spec` and `quantity` (files) make a `plan` with its `assumption`s; `machine`, `cpu_set`, `costs`, `jitter`,
//! `workload`, `workloads`, `program`, `cgroups` and `period` are what is simulated, and `what_if` changes it; `engine` takes events in order and asks a `policy` (by `hook`s) of `policies`
//! or `scx` what the kernel would ask it, over the state in `kernel` (`prefetch` hides memory, `slabs` are that of messages); `sink` and `stats` see what happens; `run`,
//! `simulate`, `ensemble`, `trace_writer`, `summary`, `recorded` and `sweep` (`fingerprint`: what changed) make Traces and documents of it; `error`.
#![deny(unsafe_code)]

mod assumption;
mod cgroups;
pub mod costs;
mod cpu_set;
mod engine;
pub mod ensemble;
mod error;
mod fingerprint;
pub mod hook;
mod jitter;
mod kernel;
pub mod machine;
mod period;
pub mod plan;
pub mod policies;
pub mod policy;
mod prefetch;
pub mod program;
mod quantity;
pub mod recorded;
pub mod run;
pub mod scx;
mod simulate;
pub mod sink;
mod slabs;
pub mod spec;
pub mod stats;
pub mod summary;
pub mod sweep;
mod trace_writer;
mod what_if;
pub mod workload;
pub mod workloads;

pub use assumption::Assumption;
pub use engine::{Engine, EngineOutcome, Options};
pub use error::SimError;
pub use jitter::Jitter;
pub use simulate::{Progress, SimulateError, simulate};
pub use swtch_units::input_error::Refused;
pub use what_if::WhatIf;
