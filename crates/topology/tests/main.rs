//! Machines as trees of fixtures.
#![allow(missing_docs, reason = "a test")]

mod boards;
mod capabilities;
mod machines;
mod malformed;
