//! Damaged Traces, and how large one is.
#![allow(missing_docs, reason = "a test")]

mod damage;
mod size;
