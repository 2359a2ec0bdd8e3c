//! Wake-ups by waker and woken task.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::table;

table! {
    /// A pair of threads of which one woke the other.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct WakeRow in "wakes" of FORMATS;
    {
        /// The one that woke; 0 when it was done in an interrupt that found the CPU idle.
        pub waker_tid: u32 [id, Key],
        /// The one that was woken.
        pub wakee_tid: u32 [id, Key],
        /// How often.
        pub count: u64 [count, Sum],
        /// Of those, how often the one that was woken then ran on the waker's CPU.
        pub same_cpu: Option<u64> [count, Sum],
    }
}
