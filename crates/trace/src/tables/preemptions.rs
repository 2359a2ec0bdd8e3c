//! Who preempted whom.

use crate::columns::table;

table! {
    /// A pair of threads of which one took the processor from the other, which could have gone on.
    pub struct PreemptionRow in "preemptions" {
        /// The one that took it.
        pub by_tid: u32,
        /// The one that lost it.
        pub of_tid: u32,
        /// How often.
        pub count: u64,
        /// Time the one that lost it then waited in all, ns.
        pub ns: Option<u64>,
    }
}
