//! Quantities with the notations people type and read: [`Bytes`], [`CpuId`], [`CpuList`], and times ([`parse_ns`], [`format_ns`]).
//!
//! Fields are private, so that a number cannot lose its unit by accident. The crate has no dependencies; whoever stores a
//! quantity writes the primitive under a name that ends in its unit (`array_bytes`, `switch_cost_ns`).
#![forbid(unsafe_code)]

mod bytes;
mod cpu;
mod time;

pub use bytes::{Bytes, ParseBytesError};
pub use cpu::{CpuId, CpuList, ParseCpuListError};
pub use time::{ParseTimeError, format_ns, parse_ns};
