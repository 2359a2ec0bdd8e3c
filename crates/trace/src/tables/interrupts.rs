//! Interrupts.

use super::FORMATS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_columns::{Word, table};

table! {
    /// An interrupt line or a kind of soft interrupt, on one CPU or in all. Every line has a row for all, and in a recording one for each
    /// CPU where it counted something: only one of the two kinds of rows may be summed.
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

/// The kind of an interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptKind {
    /// From hardware. Stored as `hard`.
    #[default]
    Hard,
    /// Deferred work of the kernel (softirq). Stored as `soft`.
    Soft,
}

impl Word for InterruptKind {
    const KIND: &'static str = "kind";
    const ALL: &'static [Self] = &[Self::Hard, Self::Soft];

    fn word(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
        }
    }
}
