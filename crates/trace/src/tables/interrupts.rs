//! Interrupts.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::{column_of_words, table};
use swtch_units::words;

table! {
    /// An interrupt line or a kind of soft interrupt, on one CPU or in all. Every line has a row for all CPUs, and in a recording one for
    /// each CPU where it counted something. Only one of the two kinds of rows may be summed.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct InterruptRow in "interrupts" of FORMATS;
    {
        /// Hardware or software.
        pub kind: InterruptKind [none, Key],
        /// As `/proc/interrupts` or `/proc/softirqs` names it: `24`, `LOC`, `TIMER`.
        pub line: String [none, Key],
        /// What is behind it, such as the device.
        pub name: String [none, Last],
        /// The CPU; absent for the sum over all.
        pub cpu: Option<u32> [id, Key],
        /// How often.
        pub count: u64 [count, Sum],
        /// Time in its handler, ns.
        pub ns: Option<u64> [ns, Sum],
    }
}

words! {
    /// The kind of an interrupt.
    pub enum InterruptKind("kind") {
        /// From hardware.
        Hard = "hard",
        /// Deferred work of the kernel (softirq).
        Soft = "soft",
    }
}
column_of_words!(InterruptKind);
