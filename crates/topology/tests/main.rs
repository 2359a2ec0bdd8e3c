//! Machines as trees of fixtures.
#![allow(missing_docs, reason = "a test")]

mod capabilities;
mod machines;
mod malformed;
