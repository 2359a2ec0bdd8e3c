//! The rules for shares, from outside.
#![allow(missing_docs, reason = "a test")]

mod core_types;
mod properties;
mod weights;
mod worked_examples;
