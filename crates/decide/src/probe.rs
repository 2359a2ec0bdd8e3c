//! The bill of a program by intervention: what one interruption costs it, without and with its caches displaced.
//!
//! The command runs on one CPU. A thread of the real-time class interrupts it there in blocks: at several rates or not at all, touching
//! memory of several sizes or none. The blocks of a round have every treatment once, in random order. So whatever changes slowly (the
//! machine's speed, the program's phase) is the same for all of them. The cost of an interruption comes from two blocks of one round. It is
//! the difference of their CPU time for a unit of the program's progress, divided by the interruptions for such a unit. The median over the
//! rounds is the figure.
//!
//! Where the program marks short spans, those right after an interruption tell what refilling took. Whole blocks lose more than that, later on.
//! Such a program is also started again every few seconds: where its memory lies in the caches is chance, and each launch draws it anew.
//!
//! Modules: `estimate` (blocks to figures), `marked` (its spans), `session` (running it), `kept` (the file that `swtch record` looks for).

mod estimate;
mod kept;
mod marked;
mod session;

pub use kept::{keep, kept};
pub use session::probe;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::time::Duration;
use swtch_cost::{CostModel, Range};
use swtch_measure::InterruptError;
use swtch_record::RecordError;
use swtch_topology::TopologyError;
use swtch_units::format_ns;

/// The document's version.
pub const SCHEMA: &str = "swtch/probe/1";

/// What is probed, and how.
#[derive(Clone, Debug, Default)]
pub struct ProbePlan {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The CPU that it is confined to; the last one that may be used when absent.
    pub cpu: Option<u32>,
    /// Memory that is displaced, bytes; by the machine's caches when absent.
    pub sizes_bytes: Option<Vec<u64>>,
    /// What tells its progress; the best there is when absent.
    pub progress: Option<ProgressBy>,
    /// When it stops, however wide the intervals are then.
    pub time_limit: Duration,
    /// Seed of the random order.
    pub seed: u64,
    /// Prices of this machine, for the switches themselves.
    pub model: Option<CostModel>,
}

swtch_units::words! {
    /// What tells how far a program has come.
    pub enum ProgressBy("progress") {
        /// Its instructions in user mode, where the machine counts them.
        Instructions = "instructions",
        /// The ends of the spans that it marks.
        Spans = "spans",
        /// Its system calls.
        SystemCalls = "system-calls",
        /// Whole runs.
        Runs = "runs",
    }
}

impl ProgressBy {
    /// A number of them, in words.
    pub fn units(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Spans => "spans",
            Self::SystemCalls => "system calls",
            Self::Runs => "runs",
        }
    }
}

/// What one interruption costs a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// `swtch/probe/1`.
    pub schema: String,
    /// Version of swtch.
    pub swtch_version: String,
    /// When it began, seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// How long it took, s.
    pub elapsed_s: f64,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The CPU's model, where the machine says it.
    pub cpu_model: Option<String>,
    /// The CPU it ran on.
    pub cpu: u32,
    /// What told its progress.
    pub progress: ProgressBy,
    /// How much of it there was in a second of its CPU time.
    pub progress_per_cpu_s: f64,
    /// How often the command was started.
    pub runs: u64,
    /// Rounds of blocks.
    pub rounds: u64,
    /// Length of a block, ns; absent where whole runs were compared.
    pub block_ns: Option<u64>,
    /// Why it ended.
    pub ended: ProbeEnded,
    /// What an interruption costs, by the memory that is touched in it: the interrupt, the switch away and back, and what the program then lost.
    pub interruption_ns: Vec<InterruptionCost>,
    /// The part of it that refilling the program's caches took: beyond an interruption at the same rate that touches nothing.
    pub refill_ns: Vec<InterruptionCost>,
    /// The program's own switches in a second of its CPU time.
    pub switches_per_cpu_s: f64,
    /// Share of the program's CPU time that its switches take.
    pub bill_share: Range,
    /// How many seconds more it would take until every interval is narrow; absent when they are.
    pub further_s: Option<f64>,
}

/// The cost of one interruption, ns: the median over the rounds and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterruptionCost {
    /// Memory that was touched in it, bytes.
    pub displaced_bytes: u64,
    /// Interruptions a second.
    pub rate_per_s: f64,
    /// The median; below zero where noise is larger than the cost.
    pub median: f64,
    /// The lower end.
    pub ci_low: f64,
    /// The upper end.
    pub ci_high: f64,
}

swtch_units::words! {
    /// Why a probe ended.
    pub enum ProbeEnded("end") {
        /// Every interval is narrow.
        Precise = "precise",
        /// The time limit.
        TimeLimit = "time-limit",
        /// A signal.
        Interrupted = "interrupted",
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeProgress {
    /// Rounds so far.
    pub rounds: u64,
    /// The share of the time limit that is over.
    pub fraction: f64,
    /// At most this long it takes.
    pub at_most: Duration,
}

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The command cannot be interrupted.
    #[error(transparent)]
    Interrupt(#[from] InterruptError),
    /// The machine's facts could not be read.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The command cannot be started.
    #[error(transparent)]
    Start(#[from] RecordError),
    /// It failed.
    #[error("'{command}' ended with status {status}{said}; a probe takes a command that succeeds")]
    Failed {
        /// The program.
        command: String,
        /// Its exit status.
        status: i32,
        /// Its last lines.
        said: String,
    },
    /// It ends at once.
    #[error("'{command}' ends after {}; a run has to take at least 0.1 s: give it more work", format_ns(*ns))]
    TooShort {
        /// The program.
        command: String,
        /// How long it ran.
        ns: f64,
    },
    /// Nothing tells how far it is.
    #[error(
        "nothing tells how far '{command}' comes: {why}; mark its work by spans ('swtch book workload-contract'), or let it end within {}",
        format_ns(*needed_ns)
    )]
    NoProgress {
        /// The program.
        command: String,
        /// What was looked for.
        why: String,
        /// How short a run would have to be.
        needed_ns: f64,
    },
    /// Too few rounds for an interval.
    #[error(
        "too few rounds of '{command}' for an interval, which takes {needed} in which it runs and comes forward: of {rounds} too few were such; try --time-limit {} or a CPU with less to do",
        format_ns(*needed_ns)
    )]
    TooFew {
        /// The program.
        command: String,
        /// How many there were.
        rounds: u64,
        /// How many it takes.
        needed: u64,
        /// How long those take.
        needed_ns: f64,
    },
    /// Stopped before the first figure.
    #[error("interrupted before there was a figure")]
    Interrupted,
    /// A file for spans or complaints cannot be made.
    #[error("cannot make a temporary file: {0}; TMPDIR names another directory")]
    Scratch(std::io::Error),
}
