//! Context switches, one by one.

use super::FORMATS;
use serde::{Deserialize, Serialize};
use swtch_columns::{Cell, Column, Columns, Int32Type, Scalar, column, column_of_words, table};
use swtch_units::words;

table! {
    /// One context switch. Only a source that sees every event has this table; sorted by time within a file.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct SwitchRow in "switches" of FORMATS, earlier earlier;
    {
        /// When, ns since the start.
        pub at_ns: u64 [ns],
        /// The CPU.
        pub cpu: u32 [id],
        /// The task that left it; 0 for the idle task.
        pub prev_tid: u32 [id],
        /// The task that came; 0 for the idle task.
        pub next_tid: u32 [id],
        /// What the task that left does now.
        pub prev_state: PrevState [none],
        /// Time it was on the CPU, ns; absent where its coming was not observed, and for the idle task.
        pub ran_ns: Option<u64> [ns],
        /// Time the task that came had waited in the run queue, ns.
        pub waited_ns: Option<u64> [ns],
        /// Direct cost of this switch, measured in place, ns.
        pub cost_ns: Option<u32> [ns],
        /// The task that woke the one that came, when it was woken.
        pub waker_tid: Option<u32> [id],
        /// Whether the quota of a cgroup stopped the task that left; absent where the source does not see it.
        pub throttled: Option<bool> [none],
    }
}

/// Files of the second version do not say what a quota stopped. In those before, `ran_ns` is never absent, it is 0 where it was not known, and
/// `prev_state` is a number: its place among the words.
fn earlier() -> Vec<Vec<Box<dyn Column<SwitchRow>>>> {
    let second = || SwitchRow::columns().into_iter().filter(|column| column.about().name != "throttled");
    let first = second().map(|new| match new.about().name {
        "ran_ns" => column::<SwitchRow, u64>(
            ["ran_ns", "ns", "", ""],
            |row| row.ran_ns.as_ref().unwrap_or(&0),
            |row, ran_ns| row.ran_ns = (ran_ns > 0).then_some(ran_ns),
        ),
        "prev_state" => column::<SwitchRow, StateNumber>(
            ["prev_state", "none", "", ""],
            |row| &STATE_NUMBERS[row.prev_state as usize],
            |row, number| row.prev_state = number.0,
        ),
        _ => new,
    });
    vec![second().collect(), first.collect()]
}

words! {
    /// What a task does that has just left the CPU (`prev_state` of the tracepoint `sched_switch`).
    pub enum PrevState("word") {
        /// It could go on: it was preempted, its slice was over, or it yielded. The switch was involuntary.
        Runnable = "runnable",
        /// It waits for something, a signal included (`TASK_INTERRUPTIBLE`).
        Sleeping = "sleeping",
        /// It waits for something, whatever comes (`TASK_UNINTERRUPTIBLE`), such as a disk.
        Uninterruptible = "uninterruptible",
        /// Stopped, traced, parked, ended.
        Other = "other",
    }
}
column_of_words!(PrevState);

/// A state in earlier files: its place in [`PrevState::ALL`].
struct StateNumber(PrevState);

static STATE_NUMBERS: [StateNumber; 4] = [
    StateNumber(PrevState::Runnable),
    StateNumber(PrevState::Sleeping),
    StateNumber(PrevState::Uninterruptible),
    StateNumber(PrevState::Other),
];

impl Scalar for StateNumber {
    type Physical = Int32Type;
    const KIND: &'static str = "state";

    fn to_stored(&self) -> Result<i32, String> {
        Ok(self.0 as i32)
    }

    fn to_cell(&self) -> Cell<'_> {
        Cell::Text(self.0.name())
    }

    fn from_stored(stored: i32) -> Result<Self, String> {
        let place = usize::try_from(stored).ok();
        let state = place.and_then(|place| PrevState::ALL.get(place));
        state.map(|state| Self(*state)).ok_or_else(|| "a state is not one of 0 to 3".to_owned())
    }
}
