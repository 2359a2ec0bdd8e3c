//! Reads a Trace, whole or damaged, finished or not.

mod switches;

pub use switches::Switches;

use crate::check::check;
use crate::error::TraceError;
use crate::files::{self, HEADER};
use crate::model::{Ended, Header, Table};
use crate::tables::{Columns, Row, SwitchRow, TableSource, Tables, TraceView};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use swtch_columns::{TableError, TableFile};

/// A Trace: the header and the small tables in memory, the switches streamed from the disk. A table that the header does not name
/// is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// What is known about the whole run.
    pub header: Header,
    /// The small tables.
    pub tables: Tables,
    folder: PathBuf,
}

impl Deref for Trace {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.tables
    }
}

impl Trace {
    /// Reads the Trace in `directory`. While it is still being recorded ([`Ended::Recording`]) that shows the state of the last flush,
    /// and its small tables may be newer than its header.
    ///
    /// # Errors
    /// [`NotATrace`](TraceError::NotATrace), [`Foreign`](TraceError::Foreign) when another version wrote it,
    /// [`Damaged`](TraceError::Damaged), [`Read`](TraceError::Read), or [`Impossible`](TraceError::Impossible) when a figure cannot be true.
    pub fn open(folder: &Path) -> Result<Self, TraceError> {
        let trace = Self::open_unchecked(folder)?;
        check(trace.view()).map_err(|source| TraceError::Impossible { path: folder.to_owned(), source })?;
        Ok(trace)
    }

    /// As [`open`](Self::open), whatever its figures: to look into a Trace that is refused.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for [`Impossible`](TraceError::Impossible).
    pub fn open_unchecked(folder: &Path) -> Result<Self, TraceError> {
        let header = files::read_header(folder)?;
        let tables = Tables::read_all(&Files { folder, header: &header })?;
        Ok(Self { header, tables, folder: folder.to_owned() })
    }

    /// The header and the small tables.
    pub fn view(&self) -> TraceView<'_> {
        TraceView { header: &self.header, tables: &self.tables }
    }

    /// The directory it was read from.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether its recorder did not finish: it is still running, or was killed.
    pub fn is_unfinished(&self) -> bool {
        self.header.provenance.ended == Ended::Recording
    }

    /// The switches, in the order of their files and sorted by time within each. At most 65,536 are in memory at a time. After an
    /// error nothing follows.
    pub fn switches(&self) -> Switches<'_> {
        Switches::new(Files { folder: &self.folder, header: &self.header })
    }

    /// How many switches there are; `None` when they were not recorded one by one.
    pub fn switch_rows(&self) -> Option<u64> {
        self.header.table(SwitchRow::TABLE).map(|table| table.rows)
    }
}

/// A header and where its files are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files<'a> {
    folder: &'a Path,
    header: &'a Header,
}

impl Files<'_> {
    fn open<R: Columns>(&self, file: &str) -> Result<TableFile<R>, TraceError> {
        if !files::is_table_file(R::TABLE, file) {
            return self.damaged(format!("it names a file that table '{}' cannot have", R::TABLE));
        }
        TableFile::open(&self.folder.join(file)).map_err(|error| match error {
            TableError::Read { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
                TraceError::Damaged { path, why: "it is missing".to_owned() }
            }
            other => other.into(),
        })
    }

    fn check_count(&self, table: &Table, found: u64) -> Result<(), TraceError> {
        if found == table.rows {
            return Ok(());
        }
        self.damaged(format!("it claims {} rows of '{}', and the files have {found}", table.rows, table.name))
    }

    fn damaged<T>(&self, why: String) -> Result<T, TraceError> {
        Err(TraceError::Damaged { path: self.folder.join(HEADER), why })
    }
}

impl TableSource for Files<'_> {
    fn rows<R: Row>(&self) -> Result<Vec<R>, TraceError> {
        let Some(table) = self.header.table(R::TABLE) else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        for file in &table.files {
            rows.extend(self.open::<R>(file)?.rows()?);
        }
        // A table is written before the header that counts its rows; a killed recorder did not come to the second.
        if self.header.provenance.ended != Ended::Recording {
            self.check_count(table, rows.len() as u64)?;
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests;
