//! A study: workloads run under many settings, as the Python package writes it (`swtch ai run`).
//!
//! A directory holds `study.json` and the Traces of the runs. [`model`] holds the types of `swtch/study/2`, [`mod@file`] reads them,
//! [`mod@check`] finds figures that cannot be true. The schema is published as `docs/schemas/study-2.json`.
#![forbid(unsafe_code)]

pub mod check;
pub mod file;
pub mod model;

pub use check::{check, check_run};
pub use file::{StudyError, is_study, read};
pub use model::{Run, Study};
