//! Who woke whom.

use crate::columns::table;

table! {
    /// A pair of threads of which one woke the other.
    pub struct WakeRow in "wakes" {
        /// The one that woke; 0 when it was done in an interrupt that found the processor idle.
        pub waker_tid: u32,
        /// The one that was woken.
        pub wakee_tid: u32,
        /// How often.
        pub count: u64,
        /// Of those, how often the one that was woken then ran on the waker's processor.
        pub same_cpu: Option<u64>,
    }
}
