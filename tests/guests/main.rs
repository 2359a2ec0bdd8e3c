//! What runs in virtual machines: `swtch vm` itself, schedulers, and comparisons between them.
#![allow(missing_docs, unreachable_pub, clippy::print_stderr, clippy::print_stdout)]

mod architectures;
mod check;
#[path = "../cli/common/mod.rs"]
#[allow(dead_code)]
mod common;
mod examples;
mod fair;
mod guest;
mod sched;
mod schedulers;
mod vm;
