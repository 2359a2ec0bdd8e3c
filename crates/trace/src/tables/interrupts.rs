//! Interrupts.

use crate::columns::{Cell, Scalar, table};
use parquet::data_type::{ByteArray, ByteArrayType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

table! {
    /// An interrupt line or a kind of soft interrupt, on one processor or in all. Every line has a row for all, and in a recording one for each
    /// processor where it counted something: only one of the two kinds of rows may be summed.
    pub struct InterruptRow in "interrupts" {
        /// Hardware or software.
        pub kind: InterruptKind,
        /// As `/proc/interrupts` or `/proc/softirqs` names it: `24`, `LOC`, `TIMER`.
        pub line: String,
        /// What is behind it, such as the device.
        pub name: String,
        /// The processor; absent for the sum over all.
        pub cpu: Option<u32>,
        /// How often.
        pub count: u64,
        /// Time in its handler, ns.
        pub ns: Option<u64>,
    }
}

/// The kind of an interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptKind {
    /// From hardware. Stored as `hard`.
    #[default]
    Hard,
    /// Deferred work of the kernel (softirq). Stored as `soft`.
    Soft,
}

impl InterruptKind {
    fn name(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
        }
    }
}

impl Scalar for InterruptKind {
    type Physical = ByteArrayType;
    const KIND: &'static str = "kind";

    fn to_stored(&self) -> Result<ByteArray, &'static str> {
        Ok(ByteArray::from(self.name()))
    }

    fn to_cell(&self) -> Cell<'_> {
        Cell::Text(self.name())
    }

    fn from_stored(stored: ByteArray) -> Result<Self, &'static str> {
        match stored.data() {
            b"hard" => Ok(Self::Hard),
            b"soft" => Ok(Self::Soft),
            _ => Err("a kind is neither hard nor soft"),
        }
    }
}
