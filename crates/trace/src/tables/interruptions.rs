//! Time in interrupts, CPU by CPU.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::table;

table! {
    /// What interrupts, hard and soft ones, took of the time of a CPU in an interval. Only intervals in which they took notable time have a row;
    /// only a source that sees their handlers has this table.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct InterruptionRow in "interruptions" of FORMATS;
    {
        /// When it began, ns since the start.
        pub at_ns: u64 [ns, Key],
        /// The CPU.
        pub cpu: u32 [id, Key],
        /// How long it was, ns.
        pub length_ns: u64 [ns, Last],
        /// Time in interrupts, ns.
        pub ns: u64 [ns, Sum],
    }
}
