//! The Trace: what ran where and when, recorded, imported or simulated.
//!
//! On disk a Trace is a directory `NAME.swtch/` with `header.json` (schema `swtch/trace/3`) and Parquet tables that DuckDB, pandas,
//! Polars and Spark read. [`model`] holds the header's types, [`tables`] the rows, [`writer`] writes a Trace while it is being
//! recorded, [`reader`] reads one. A recorder or a simulator, which sees [`event`]s, builds the tables with [`accumulate`].
//!
//! The header is the truth: a file that it does not name is not part of the Trace. Every file appears whole or not at all. A recorder may
//! therefore be killed at any moment, and what it wrote before can be read.
//!
//! [`spans`] reads the spans of programs, such as requests, beside a Trace. [`timeline`] says what had a CPU while tasks waited for it.
//!
//! Modules: `cgroup_name` (containers, pods, units and jobs by their cgroups), `check` (figures that cannot be true), `figures` (each defined once), `fields` (names of figures that may be missing), `source`
//! (the table of recorders), `snapshot` (of a watch without end, and the difference between two), `files`, `error`.
#![forbid(unsafe_code)]

pub mod accumulate;
mod cgroup_name;
pub mod check;
mod error;
pub mod event;
pub mod fields;
pub mod figures;
mod files;
pub mod model;
pub mod reader;
mod snapshot;
mod source;
pub mod spans;
pub mod tables;
pub mod timeline;
pub mod writer;

pub use cgroup_name::{CgroupKind, CgroupName, PodNames};
pub use error::TraceError;
pub use model::Header;
pub use reader::Trace;
pub use snapshot::{Delta, Snapshot};
pub use source::{SourceFacts, SourceKind};
pub use swtch_columns::growth;
pub use tables::{Tables, TraceView};
pub use writer::{Destination, Writer};

/// The JSON Schema of the header, `swtch/trace/3`, generated from the types.
///
/// ```
/// let schema = swtch_trace::json_schema();
/// assert_eq!(schema["properties"]["tables"]["type"], "array");
/// ```
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Header).to_value()
}
