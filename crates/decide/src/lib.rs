//! Did it get worse, what to change, did it help: what two recordings, commands or builds differ in, and what to do about it.
//!
//! Documents come out of here, and `report` prints them.
//!
//! Modules: `diff` (what differs between two sides of Traces, Profiles or studies), `check` (budgets: a regression guard), `compare` (commands by their
//! runs), `policies` (schedulers by their runs), `bench` (schedulers on many loads), `accuracy` (how far the simulator is off), `remedies` (settings that are predicted, run and kept), `probe` (the bill by intervention), `runs` (commands run again and again, each run recorded), `metric` (the figures that
//! decisions are about), `pairs` (which programs switch because of which), `verdict` (how two sides differ, and what that means), `limit` (expressions such as `switches > +5%`), `files` (what a file is).
#![forbid(unsafe_code)]

mod accuracy;
mod bench;
pub mod check;
pub mod compare;
mod diff;
mod files;
mod limit;
mod metric;
mod pairs;
mod policies;
pub mod probe;
pub mod remedies;
pub mod runs;
mod verdict;

pub use accuracy::{
    ACCURACY_SCHEMA, AccuracyDocument, AccuracyError, AccuracyRow, ErrorFigures, Errors, GUEST_PROFILE,
    HostJob, LatencyRow, RealAndSimulated, Reference, SEEDS_A_RUN, accuracy, accuracy_on_host,
    simulate_again,
};
pub use bench::{Against, BenchDocument, Cell, RunReasons, judge_bench};
pub use diff::{
    Diff, DiffError, DiffOptions, DiffSide, Difference, LimitResult, diff, diff_profiles, diff_traces, words,
};
pub use files::{FileKind, NoDocument};
pub use limit::{Bound, FailIf, Limit, LimitError};
pub use metric::{Figure, METRICS, Metric, PricedTrace, UnknownFigure};
pub use policies::{ComparedPolicies, MetricChange, PolicyChanges, compare_policies};
pub use verdict::{Change, RunOrder, Verdict, judge, show};

/// The JSON Schema of `swtch sched accuracy --json`, `swtch/accuracy/1`, generated from the types.
///
/// ```
/// let schema = swtch_decide::accuracy_schema();
/// assert_eq!(schema["properties"]["rows"]["type"], "array");
/// ```
pub fn accuracy_schema() -> serde_json::Value {
    schemars::schema_for!(AccuracyDocument).to_value()
}

/// The JSON Schema of `swtch diff --json`, `swtch/diff/1`, generated from the types.
///
/// ```
/// let schema = swtch_decide::diff_schema();
/// assert_eq!(schema["properties"]["changes"]["type"], "array");
/// ```
pub fn diff_schema() -> serde_json::Value {
    schemars::schema_for!(Diff).to_value()
}

/// The JSON Schema of `swtch probe --json`, `swtch/probe/1`, generated from the types.
///
/// ```
/// let schema = swtch_decide::probe_schema();
/// assert_eq!(schema["properties"]["interruption_ns"]["type"], "array");
/// ```
pub fn probe_schema() -> serde_json::Value {
    schemars::schema_for!(probe::Probe).to_value()
}
