//! Streams the switches.

use super::Files;
use crate::error::TraceError;
use crate::model::{Ended, Table};
use crate::tables::{Columns, SwitchRow};
use swtch_columns::TableFile;

/// The switches of a Trace, one by one; see [`Trace::switches`](super::Trace::switches).
pub struct Switches<'a> {
    files: Files<'a>,
    /// Absent when there is no such table, and after the end.
    table: Option<&'a Table>,
    next_file: usize,
    file: Option<TableFile<SwitchRow>>,
    rows: std::vec::IntoIter<SwitchRow>,
    seen: u64,
}

impl<'a> Switches<'a> {
    pub(super) fn new(files: Files<'a>) -> Self {
        let table = files.header.table(SwitchRow::TABLE);
        Self { files, table, next_file: 0, file: None, rows: Vec::new().into_iter(), seen: 0 }
    }

    /// Reads the next row group; false after the last.
    fn read_more(&mut self, table: &Table) -> Result<bool, TraceError> {
        loop {
            if let Some(file) = &mut self.file {
                if let Some(rows) = file.next_group()? {
                    self.seen += rows.len() as u64;
                    self.rows = rows.into_iter();
                    return Ok(true);
                }
                self.file = None;
            }
            let Some(name) = table.files.get(self.next_file) else {
                // A recorder that was killed between a segment and the header leaves more rows than the header counts.
                let unfinished = self.files.header.provenance.ended == Ended::Recording;
                if !(unfinished && self.seen > table.rows) {
                    self.files.check_count(table, self.seen)?;
                }
                return Ok(false);
            };
            self.file = Some(self.files.open(name)?);
            self.next_file += 1;
        }
    }
}

impl Iterator for Switches<'_> {
    type Item = Result<SwitchRow, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            match self.read_more(self.table?) {
                Ok(true) => {}
                Ok(false) => self.table = None,
                Err(error) => {
                    self.table = None;
                    return Some(Err(error));
                }
            }
        }
    }
}
