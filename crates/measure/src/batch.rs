//! One batch: an interval of switching rounds and the paired interval of the baseline, in nanoseconds.

/// What one batch measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Batch {
    /// When it began, CLOCK_MONOTONIC, ns.
    pub started_ns: u64,
    /// Rounds (round trips, laps, calls) in it.
    pub rounds: u32,
    /// Time of a round with switches, ns.
    pub round_ns: f64,
    /// Time of one baseline operation, ns; 0 for a reference, which has none.
    pub baseline_ns: f64,
    /// Baseline operations that a round contains.
    pub baseline_per_round: f64,
    /// Voluntary switches of all tasks per round, as counted.
    pub voluntary_per_round: f64,
    /// Involuntary switches of all tasks per round, as counted.
    pub involuntary_per_round: f64,
    /// Share of the switching interval in which none of the tasks ran; only tasks on one CPU never wait for each other.
    pub off_cpu_share: Option<f64>,
    /// Share of the baseline interval in which its task did not run.
    pub baseline_off_cpu_share: f64,
    /// Time of a fixed spin just before, ns.
    pub spin_ns: f64,
    /// Of messages that one task writes and reads: the part of the time that is writing, of the round before.
    pub write_share: Option<f64>,
    /// Whether the leader ended on another CPU than it began on.
    pub migrated: bool,
}

impl Batch {
    /// Switches of all tasks per round, as counted.
    pub(crate) fn switches_per_round(&self) -> f64 {
        self.voluntary_per_round + self.involuntary_per_round
    }

    /// Time of the baseline's share of a round, ns.
    pub(crate) fn baseline_per_round_ns(&self) -> f64 {
        self.baseline_ns * self.baseline_per_round
    }

    /// Time per switch with the baseline subtracted, ns: `(round - baseline) / switches`.
    pub(crate) fn net_ns(&self, switches_per_round: f64) -> f64 {
        (self.round_ns - self.baseline_per_round_ns()) / switches_per_round
    }
}
