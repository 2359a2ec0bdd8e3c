//! Preemptions by preempting and preempted task.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::table;

table! {
    /// A pair of threads of which one took the CPU from the other, which could have gone on.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct PreemptionRow in "preemptions" of FORMATS;
    {
        /// The one that took it.
        pub by_tid: u32 [id, Key],
        /// The one that lost it.
        pub of_tid: u32 [id, Key],
        /// How often.
        pub count: u64 [count, Sum],
        /// Time the one that lost it then waited in all, ns.
        pub ns: Option<u64> [ns, Sum],
    }
}
