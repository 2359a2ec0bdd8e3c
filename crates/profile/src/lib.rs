//! The Profile: what a context switch costs on a machine, as data.
//!
//! [`model`] holds the types of `swtch/profile/1`, and [`mod@file`] reads and writes them. [`samples`] is the table of raw batches next
//! to a Profile. [`vocabulary`] has the words in them, and [`fields`] names what may be missing. [`mod@check`] refuses figures that
//! cannot be true. [`compare`] names the figures of two Profiles that are compared, and shows how their machines differ.
#![forbid(unsafe_code)]

pub mod check;
pub mod compare;
pub mod fields;
pub mod file;
pub mod model;
pub mod samples;
#[cfg(test)]
mod tests;
pub mod vocabulary;

pub use file::FileError;
pub use model::Profile;

/// The JSON Schema of `swtch/profile/1`, generated from the types; published as `docs/schemas/profile-1.json`.
///
/// ```
/// let schema = swtch_profile::json_schema();
/// assert_eq!(schema["properties"]["direct"]["type"], "array");
/// ```
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Profile).to_value()
}
