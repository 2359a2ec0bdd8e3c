//! Quantities with the notations people type and read. They are [`Bytes`], [`CpuId`], [`CpuList`], times ([`parse_ns`], [`format_ns`]),
//! text in columns ([`TextTable`]), digits in groups ([`grouped`]) and text that is cut ([`shortened`]). There are closed vocabularies
//! ([`words!`]), JSON documents that name their schema ([`input_error`]), inequalities and units of figures ([`Inequality`], [`Unit`]). The
//! [`Observer`] follows long work, and [`last_lines`] has the last complaint of a command.
//!
//! Fields are private, so that a number cannot lose its unit by accident. A document that stores a
//! quantity writes the primitive under a name that ends in its unit (`array_bytes`, `switch_cost_ns`).
//!
//! Modules: `bytes`, `cpu`, `time`, `table`, `inequality`, `words` (closed vocabularies), `observer`, `last_lines`.
#![forbid(unsafe_code)]

mod bytes;
mod cpu;
mod inequality;
pub mod input_error;
mod last_lines;
mod observer;
mod table;
mod time;
mod words;

/// The parameter on its kernel's command line by which a guest of `swtch vm` tells that software executes its instructions, where its CPUs do
/// not tell: QEMU gives an Arm CPU the numbers of the real one.
pub const EMULATED_PARAMETER: &str = "swtch.emulated";

pub use bytes::{Bytes, ParseBytesError};
pub use cpu::{CpuId, CpuList, ParseCpuListError, number_list};
pub use inequality::{Inequality, Unit, percent};
pub use last_lines::last_lines;
pub use observer::{Observer, Silent};
pub use table::{TextTable, grouped, shortened};
pub use time::{ParseTimeError, format_ns, parse_duration, parse_ns, utc};
pub use words::{UnknownWord, Word, parse_word};
