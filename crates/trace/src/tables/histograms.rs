//! Distributions.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::table;

/// The layout of the classes of all values and of kinds of switches. There are 64 an octave, so that a quantile is off by 0.8 % at most.
/// Those of the simulator's own histograms are the same ones.
pub const CLASS_BITS: u32 = 6;
/// The layout of the classes of single tasks, of which there are many: 4 an octave.
pub const TASK_CLASS_BITS: u32 = 2;

table! {
    /// A class of a histogram. Classes without a count are left out.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct HistogramRow in "histograms" of FORMATS;
    {
        /// What is distributed: `wait`, `slice` or `cost`.
        pub metric: String [none, Key],
        /// Of what: `all`, `cpu 3`, `task 1234`, `kind thread`, `kind process`, `kind idle`, and `kind interrupted`: switches of
        /// any kind in which an interrupt was served.
        pub of: String [none, Key],
        /// Smallest value in the class, ns.
        pub from_ns: u64 [ns, Key],
        /// First value above the class, ns.
        pub to_ns: u64 [ns, Key],
        /// Values in it.
        pub count: u64 [count, Sum],
    }
}

impl HistogramRow {
    /// The rows of a distribution, of classes from, to (exclusive), count.
    pub fn of<'a>(
        metric: &'a str,
        of: &'a str,
        classes: impl IntoIterator<Item = (u64, u64, u64)> + 'a,
    ) -> impl Iterator<Item = Self> + 'a {
        classes.into_iter().map(move |(from_ns, to_ns, count)| Self {
            metric: metric.to_owned(),
            of: of.to_owned(),
            from_ns,
            to_ns,
            count,
        })
    }
}
