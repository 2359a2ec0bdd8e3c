//! A study: workloads run under many settings, as the Python package writes it (`swtch ai run`).
//!
//! A folder holds `study.json` and the Traces of the runs. [`model`] holds the types of `swtch/study/1`, [`mod@file`] reads them. The schema
//! is published as `docs/schemas/study-1.json`.
#![forbid(unsafe_code)]

pub mod file;
pub mod model;

pub use file::{is_study, read};
pub use model::Study;
