//! The tables, one struct a row. Times are in nanoseconds and count from the start of the recording; `None` is unavailable.

mod cgroups;
mod cpus;
mod histograms;
mod interrupts;
mod intervals;
mod preemptions;
mod switches;
mod tasks;
mod wakes;

pub use crate::columns::{Cell, Column, Columns};
pub use cgroups::CgroupRow;
pub use cpus::CpuRow;
pub use histograms::{CLASS_BITS, HistogramRow, TASK_CLASS_BITS};
pub use interrupts::{InterruptKind, InterruptRow};
pub use intervals::IntervalRow;
pub use preemptions::PreemptionRow;
pub use switches::{PrevState, SwitchRow};
pub use tasks::TaskRow;
pub use wakes::WakeRow;

/// A row of a table that is small enough to be written and read whole: all but [`SwitchRow`]. Nothing else can implement it.
pub trait Row: Columns {}

impl Row for TaskRow {}
impl Row for CpuRow {}
impl Row for CgroupRow {}
impl Row for WakeRow {}
impl Row for PreemptionRow {}
impl Row for InterruptRow {}
impl Row for IntervalRow {}
impl Row for HistogramRow {}

/// The tables' names.
pub const TABLES: [&str; 9] = [
    SwitchRow::TABLE,
    TaskRow::TABLE,
    CpuRow::TABLE,
    CgroupRow::TABLE,
    WakeRow::TABLE,
    PreemptionRow::TABLE,
    InterruptRow::TABLE,
    IntervalRow::TABLE,
    HistogramRow::TABLE,
];
