//! Simulations from outside: schedules by hand, properties, errors, foreign schedulers.
#![allow(missing_docs, reason = "a test")]

mod asymmetric;
mod errors;
mod foreign_scheduler;
mod properties;
mod schedules;
mod seeds;
mod workloads;
