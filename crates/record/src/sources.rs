//! The ways to see what single threads do.

pub mod procfs;
