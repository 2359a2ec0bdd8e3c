//! One self-contained page from Profiles, or from Traces.
//!
//! [`html::render`] and [`html::render_traces`] write the page: charts as inline SVG with their numbers as tables, readable
//! without a network, without a script and on paper. [`perfetto`] and [`tables`] put a Trace into other programs' formats.
//!
//! Modules: `files` (reads files and writes their page), `recording`, `shares` and `why` (documents), `compared` (repeated runs and recordings side by
//! side), `tried` (settings that were tried), `bench` (loads under schedulers), `check` (a regression guard's result in many formats), `stacks` with `stack_weight` (which code switches), `terminal` (text), `wording` (words
//! of terminal and page), `intervals` (what is shown over time), `export` (formats: one row each), `prometheus` and `otlp` (metrics), `proto` (protobuf).
#![forbid(unsafe_code)]

pub mod bench;
pub mod check;
mod compared;
pub mod export;
pub mod files;
pub mod html;
mod intervals;
pub mod otlp;
pub mod perfetto;
pub mod prometheus;
mod proto;
pub mod recording;
pub mod shares;
pub mod stack_weight;
mod stacks;
pub mod tables;
pub mod terminal;
mod tried;
pub mod why;
mod wording;

use export::Exporter;

/// The formats that a Trace is exported to. A new one is a module of this crate and a row here.
pub static EXPORTERS: [Exporter; 8] = [
    perfetto::EXPORTER,
    tables::PARQUET,
    tables::CSV,
    prometheus::EXPORTER,
    stacks::FOLDED,
    stacks::PPROF,
    stacks::SPEEDSCOPE,
    stacks::FIREFOX,
];
