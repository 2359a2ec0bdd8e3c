//! Cgroups.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::table;

table! {
    /// A cgroup over the whole run: the sums of its own tasks, without those of groups below it. A task that moved counts in its last
    /// group. Of very many groups, those with fewest switches share one row.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct CgroupRow in "cgroups" of FORMATS;
    {
        /// Its path below the hierarchy's root; of a group that was gone before it could be named, its number.
        pub path: String [none, Key],
        /// Voluntary switches.
        pub voluntary: u64 [count, Sum],
        /// Involuntary switches.
        pub involuntary: u64 [count, Sum],
        /// Time on CPUs, ns.
        pub run_ns: u64 [ns, Sum],
        /// Time in run queues, ns.
        pub wait_ns: u64 [ns, Sum],
        /// Threads seen in it.
        pub tasks: u64 [count, Sum],
        /// Periods in which its quota stopped it; absent without a quota.
        pub throttled_periods: Option<u64> [count, Sum],
        /// Time its quota stopped it, ns, summed over CPUs; absent without a quota.
        pub throttled_ns: Option<u64> [ns, Sum],
    }
}
