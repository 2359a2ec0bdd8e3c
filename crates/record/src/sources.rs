//! The ways to see what single threads do.

pub mod bpf;
pub mod counts;
mod mapping;
pub mod perf;
pub(crate) mod privileges;
pub mod procfs;
mod ring;
