//! A deterministic simulator of Linux schedulers: the same input and seed give the same bytes on any machine.
//!
//! A [`Machine`](machine::Machine) with its [`Costs`](costs::Costs) runs a [`Workload`](workload::Workload) under a
//! [`Policy`](policy::Policy), which has the hooks of the kernel's scheduling classes. [`Engine`] does it.
#![deny(unsafe_code)]

pub mod costs;
pub mod cpu_set;
pub mod engine;
pub mod error;
pub mod histogram;
pub mod kernel;
pub mod machine;
pub mod policies;
pub mod policy;
pub mod program;
pub mod scx;
pub mod sink;
pub mod tally;
pub mod workload;

pub use engine::{Engine, Options, Outcome};
pub use error::SimError;
