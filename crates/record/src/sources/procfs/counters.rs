//! What a thread counted, as its files give it.

/// The counters of a thread since its birth, or the difference or sum of such. Missing is what no file gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) voluntary: Option<u64>,
    pub(crate) involuntary: Option<u64>,
    pub(crate) migrations: Option<u64>,
    pub(crate) run_ns: Option<u64>,
    pub(crate) wait_ns: Option<u64>,
    pub(crate) timeslices: Option<u64>,
    pub(crate) user_ns: Option<u64>,
    pub(crate) system_ns: Option<u64>,
}

impl Counters {
    /// At the birth of a thread.
    pub(super) const ZERO: Self = Self {
        voluntary: Some(0),
        involuntary: Some(0),
        migrations: Some(0),
        run_ns: Some(0),
        wait_ns: Some(0),
        timeslices: Some(0),
        user_ns: Some(0),
        system_ns: Some(0),
    };

    /// What was counted since `earlier`, of what both have.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        self.combined(earlier, |later, earlier| Some(later?.saturating_sub(earlier?)))
    }

    /// The sum of what either has.
    pub(super) fn plus(&self, other: &Self) -> Self {
        self.combined(other, |one, other| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        })
    }

    fn combined(&self, other: &Self, f: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        Self {
            voluntary: f(self.voluntary, other.voluntary),
            involuntary: f(self.involuntary, other.involuntary),
            migrations: f(self.migrations, other.migrations),
            run_ns: f(self.run_ns, other.run_ns),
            wait_ns: f(self.wait_ns, other.wait_ns),
            timeslices: f(self.timeslices, other.timeslices),
            user_ns: f(self.user_ns, other.user_ns),
            system_ns: f(self.system_ns, other.system_ns),
        }
    }

    /// Time on a CPU from either accounting.
    pub(super) fn any_run_ns(&self) -> u64 {
        self.run_ns.unwrap_or(0).max(self.ticked_ns().unwrap_or(0))
    }

    /// Time on a CPU in ticks.
    pub(super) fn ticked_ns(&self) -> Option<u64> {
        Some(self.user_ns?.saturating_add(self.system_ns?))
    }
}
