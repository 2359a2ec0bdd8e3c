//! The rules for shares, from outside.
#![allow(missing_docs, reason = "a test")]

mod core_types;
mod properties;
mod worked_examples;
