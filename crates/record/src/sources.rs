//! The ways to see what single threads do.

pub(crate) mod bpf;
pub(crate) mod counts;
mod mapping;
pub(crate) mod perf;
pub(crate) mod privileges;
pub(crate) mod procfs;
mod ring;
pub(crate) mod stacks;
