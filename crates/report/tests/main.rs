//! Pages, text and exports, from outside.
#![allow(missing_docs, reason = "a test")]

mod exchange;
mod functions;
mod one_trace;
mod page;
mod spoiled;
mod studies;
mod synthetic;
mod traces;
mod visible;
