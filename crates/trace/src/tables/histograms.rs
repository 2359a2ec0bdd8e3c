//! Distributions.

use crate::columns::table;

table! {
    /// A class of a histogram. Classes without a count are left out.
    pub struct HistogramRow in "histograms" {
        /// What is distributed: `wait`, `slice` or `cost`.
        pub metric: String,
        /// Of what: `all`, `cpu 3`, `task 1234`, `kind thread`, `kind process`, `kind idle`, and `kind interrupted`: switches of
        /// any kind in which an interrupt was served.
        pub of: String,
        /// Smallest value in the class, ns.
        pub from_ns: u64,
        /// First value above the class, ns.
        pub to_ns: u64,
        /// Values in it.
        pub count: u64,
    }
}
