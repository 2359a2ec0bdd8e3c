//! Context switches, one by one.

use crate::columns::{Cell, Column, Columns, Scalar, column, table};
use parquet::data_type::Int32Type;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

table! {
    /// One context switch. Only a source that sees every event has this table; sorted by time within a file.
    pub struct SwitchRow in "switches" earlier earlier {
        /// When, ns since the start.
        pub at_ns: u64,
        /// The processor.
        pub cpu: u32,
        /// The task that left it; 0 for the idle task.
        pub prev_tid: u32,
        /// The task that came; 0 for the idle task.
        pub next_tid: u32,
        /// What the task that left does now.
        pub prev_state: PrevState,
        /// Time it was on the processor, ns; absent where its coming was not observed, and for the idle task.
        pub ran_ns: Option<u64>,
        /// Time the task that came had waited in the run queue, ns.
        pub waited_ns: Option<u64>,
        /// Direct cost of this switch, measured in place, ns.
        pub cost_ns: Option<u32>,
        /// The task that woke the one that came, when it was woken.
        pub waker_tid: Option<u32>,
    }
}

/// In earlier files `ran_ns` is never absent: it is 0 where it was not known.
fn earlier() -> Vec<Vec<Box<dyn Column<SwitchRow>>>> {
    let columns = SwitchRow::columns().into_iter().map(|new| match new.name() {
        "ran_ns" => column::<SwitchRow, u64>(
            "ran_ns",
            |row| row.ran_ns.as_ref().unwrap_or(&0),
            |row, ran_ns| row.ran_ns = (ran_ns > 0).then_some(ran_ns),
        ),
        _ => new,
    });
    vec![columns.collect()]
}

/// What a task does that has just left the processor (`prev_state` of the tracepoint `sched_switch`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrevState {
    /// It could go on: it was preempted, its slice was over, or it yielded. The switch was involuntary. Stored as 0.
    #[default]
    Runnable,
    /// It waits for something, a signal included (`TASK_INTERRUPTIBLE`). Stored as 1.
    Sleeping,
    /// It waits for something, whatever comes (`TASK_UNINTERRUPTIBLE`), such as a disk. Stored as 2.
    Uninterruptible,
    /// Stopped, traced, parked, ended. Stored as 3.
    Other,
}

impl PrevState {
    /// The word for it, as in JSON.
    ///
    /// ```
    /// assert_eq!(swtch_trace::tables::PrevState::Sleeping.name(), "sleeping");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Runnable => "runnable",
            Self::Sleeping => "sleeping",
            Self::Uninterruptible => "uninterruptible",
            Self::Other => "other",
        }
    }
}

impl Scalar for PrevState {
    type Physical = Int32Type;
    const KIND: &'static str = "state";

    fn to_stored(&self) -> Result<i32, &'static str> {
        Ok(*self as i32)
    }

    fn to_cell(&self) -> Cell<'_> {
        Cell::Text(self.name())
    }

    fn from_stored(stored: i32) -> Result<Self, &'static str> {
        match stored {
            0 => Ok(Self::Runnable),
            1 => Ok(Self::Sleeping),
            2 => Ok(Self::Uninterruptible),
            3 => Ok(Self::Other),
            _ => Err("a state is not one of 0 to 3"),
        }
    }
}
