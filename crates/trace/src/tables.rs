//! The tables, one struct a row, and [`Tables`], all small ones together. Times are in nanoseconds and count from the start of the
//! recording; `None` is unavailable.

mod cgroups;
mod cpus;
mod histograms;
mod interruptions;
mod interrupts;
mod intervals;
mod merge;
mod preemptions;
mod stacks;
mod switches;
mod tasks;
mod waits;
mod wakes;

pub use cgroups::CgroupRow;
pub use cpus::CpuRow;
pub use histograms::{CLASS_BITS, HistogramRow, TASK_CLASS_BITS};
pub use interruptions::InterruptionRow;
pub use interrupts::{InterruptKind, InterruptRow};
pub use intervals::IntervalRow;
pub use preemptions::PreemptionRow;
pub use stacks::{StackReason, StackRow};
pub use switches::{PrevState, SwitchRow};
pub use swtch_columns::rules::{Merge, merge_equal};
pub use swtch_columns::{Cell, Column, Columns};
pub use tasks::{SchedPolicy, TaskRow};
pub use waits::{InFront, WaitRow, WaitStart};
pub use wakes::WakeRow;

use crate::error::TraceError;
use crate::model::{Header, SCHEMA, SCHEMA_1, SCHEMA_2};
use std::ops::Deref;

/// The formats of a Trace's tables, the latest first.
const FORMATS: [&str; 3] = [SCHEMA, SCHEMA_2, SCHEMA_1];

/// A row of a table that is small enough to be written and read whole: all but [`SwitchRow`]. Nothing else can implement it.
pub trait Row: Merge {}

/// What is done with a table, whatever its rows.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Takes the rows of a table, those that cannot be read as errors.
    fn visit<R: Columns>(self, rows: impl Iterator<Item = Result<R, TraceError>>) -> Self::Output;
}

/// Where tables are written: a [`Writer`](crate::Writer).
pub trait TableSink {
    /// Writes a small table whole, in place of what it held before.
    ///
    /// # Errors
    /// When it cannot be written; its older rows are then still there.
    fn put<R: Row>(&mut self, rows: &[R]) -> Result<(), TraceError>;
}

/// Where tables are read: the files of a Trace.
pub(crate) trait TableSource {
    /// All rows of a small table.
    fn rows<R: Row>(&self) -> Result<Vec<R>, TraceError>;
}

/// How the page of the columns begins.
const PAGE: &str = "# Columns of a Trace

The tables of a [Trace](formats.md), from the program's own list of their columns. Times are in nanoseconds and count from the start. A value that
is absent has its reason in the header; it is never zero instead. How two parts of one recording merge is in the last
column: rows of one key become one row.
";

/// Declares [`Tables`], and what is done with each table in turn.
macro_rules! tables {
    ($($(#[$meaning:meta])* $name:ident: $row:ident,)+) => {
        /// The small tables of a Trace. A table without rows is one that is not there.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Tables {
            $($(#[$meaning])* pub $name: Vec<$row>,)+
        }

        $(impl Row for $row {})+

        /// The tables' names.
        pub const TABLES: &[&str] = &[SwitchRow::TABLE, $($row::TABLE),+];

        impl Tables {
            /// Writes all tables.
            ///
            /// # Errors
            /// When one cannot be written; its older rows are then still there.
            pub fn put_all(&self, sink: &mut impl TableSink) -> Result<(), TraceError> {
                $(sink.put(&self.$name)?;)+
                Ok(())
            }

            /// Reads all tables.
            pub(crate) fn read_all(source: &impl TableSource) -> Result<Self, TraceError> {
                Ok(Self { $($name: source.rows()?,)+ })
            }

            /// Shows a table, by its name, to `visitor`; absent when no small table has this name.
            pub fn visit<V: Visitor>(&self, name: &str, visitor: V) -> Option<V::Output> {
                match name {
                    $($row::TABLE => Some(visitor.visit(self.$name.iter().cloned().map(Ok))),)+
                    _ => None,
                }
            }

            /// The number of rows of each table.
            pub fn row_counts(&self) -> Vec<(&'static str, usize)> {
                vec![$(($row::TABLE, self.$name.len())),+]
            }
        }

        /// The page that explains all columns, in Markdown.
        pub fn reference() -> String {
            let tables = [swtch_columns::reference::<SwitchRow>(), $(swtch_columns::reference::<$row>()),+];
            format!("{PAGE}\n{}", tables.join("\n"))
        }
    };
}

tables! {
    /// Tasks.
    tasks: TaskRow,
    /// CPUs.
    cpus: CpuRow,
    /// Cgroups.
    cgroups: CgroupRow,
    /// Wake-ups by waker and woken task, the most frequent first.
    wakes: WakeRow,
    /// Preemptions by preempting and preempted task, the most frequent first.
    preemptions: PreemptionRow,
    /// What had the CPU while tasks waited, the longest first.
    waits: WaitRow,
    /// Interrupts.
    interrupts: InterruptRow,
    /// Time in interrupts, CPU by CPU and over time.
    interruptions: InterruptionRow,
    /// The run over time.
    intervals: IntervalRow,
    /// Stacks of switches and wake-ups, the most frequent first.
    stacks: StackRow,
    /// Distributions.
    histograms: HistogramRow,
}

/// A header and the tables it is about, wherever they are.
#[derive(Clone, Copy, Debug)]
pub struct TraceView<'a> {
    /// What is known about the whole run.
    pub header: &'a Header,
    /// The small tables.
    pub tables: &'a Tables,
}

impl Tables {
    /// The tasks that were to be recorded.
    pub fn in_scope(&self) -> impl Iterator<Item = &TaskRow> {
        self.tasks.iter().filter(|task| task.in_scope)
    }

    /// These tables with their header.
    pub fn view<'a>(&'a self, header: &'a Header) -> TraceView<'a> {
        TraceView { header, tables: self }
    }
}

impl Deref for TraceView<'_> {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        self.tables
    }
}

#[cfg(test)]
mod tests;
