//! The ways to see what single threads do.

pub mod bpf;
pub mod procfs;
