//! The program `swtch` as a user runs it, one module a command or a promise.
#![allow(missing_docs, unreachable_pub, clippy::print_stderr, clippy::print_stdout)]

mod advised;
mod bad_input;
mod checking;
mod common;
mod compared;
mod comparing;
mod completing;
mod confined;
mod counts;
mod delays;
mod disturbed;
mod documentation;
mod examples;
mod exchange;
mod flight;
mod golden;
mod groups;
mod limits;
mod measuring;
mod one_trace;
mod recording;
mod recording_perf;
mod reporting;
mod rights;
mod sched;
mod scraping;
mod serve;
mod sharing;
mod shown;
mod simulating;
mod slow_spans;
mod stacks;
mod terminal;
mod top;
mod waits;
