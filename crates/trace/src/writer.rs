//! Writes a Trace while it is being recorded: at any moment, what is on the disk can be read.

mod claim;

use crate::error::TraceError;
use crate::files::{self, HEADER, table_file};
use crate::model::{Ended, Header, SCHEMA, Table};
use crate::spans::beside;
use crate::tables::{Columns, Row, SwitchRow, TableSink};
use claim::TracePath;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use swtch_columns::{GROUP_ROWS, encode};
use tempfile::TempDir;

/// Writes a Trace.
///
/// Small tables are written whole, with [`put`](TableSink::put) or [`Tables::put_all`](crate::tables::Tables::put_all), as often as wanted;
/// the header names them from the next [`save`](Self::save) on. Switches are appended and go into files (segments) of a million rows. [`flush`](Self::flush) and [`save`](Self::save) bring the directory up to date; until then a reader
/// sees it as it was before. A writer that is dropped without [`finish`](Self::finish) leaves what a killed recorder leaves.
///
/// Waiting for the disk would disturb the workload, so only [`finish`](Self::finish) does it. A killed process loses nothing
/// that was flushed; a power failure before the end may.
///
/// ```
/// use swtch_trace::model::{Ended, Header, Provenance, Scope};
/// use swtch_trace::tables::SwitchRow;
/// use swtch_trace::{Trace, Writer};
///
/// let place = tempfile::tempdir()?;
/// let directory = place.path().join("run.swtch");
/// let mut header = Header::new(Provenance::default(), swtch_topology::Host::default(), Scope::Machine);
/// let mut writer = Writer::create(&directory, &header)?;
/// writer.append_switches(&[SwitchRow { at_ns: 5, next_tid: 7, ..SwitchRow::default() }])?;
/// header.provenance.ended = Ended::Complete;
/// writer.finish(&header)?;
///
/// let trace = Trace::open(&directory)?;
/// assert_eq!(trace.switches().next().unwrap()?.next_tid, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    /// The directory's device and inode: another writer may take its name.
    identity: (u64, u64),
    header: Header,
    /// Switches of the segment that is being filled.
    buffer: Vec<SwitchRow>,
    /// How many of them are already in that segment's file.
    stored: usize,
    /// Segments that are full.
    segments: u64,
    /// Rows in those.
    segments_rows: u64,
    segment_rows: usize,
    /// Where the directory goes when it is whole, if it is not there yet.
    aside: Option<(TracePath, TempDir)>,
}

/// Switches in a segment: some ten megabytes on the disk, some seventy in memory.
pub const SEGMENT_ROWS: usize = 1 << 20;

impl Writer {
    /// Creates the directory with `header` in it, without tables. An older Trace of that name is replaced, once the new one has its
    /// header; anything else of that name is left alone.
    ///
    /// # Errors
    /// [`Occupied`](TraceError::Occupied) when something other than a Trace is there, or a Trace with others' files in it;
    /// [`Write`](TraceError::Write) when the place cannot be written to. The old contents are then still there.
    pub fn create(folder: &Path, header: &Header) -> Result<Self, TraceError> {
        let header = beginning(header);
        Self::of(claim::claim(folder, &header)?, header, None)
    }

    /// As [`create`](Self::create), but what is at `directory` stays there until [`finish`](Self::finish) has the whole new Trace; a
    /// writer that is dropped before leaves nothing. For a conversion, which can be repeated, and not for a recording, which cannot.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_aside(folder: &Path, header: &Header) -> Result<Self, TraceError> {
        let header = beginning(header);
        let (place, new) = claim::beside(folder, &header)?;
        Self::of(new.path().to_owned(), header, Some((place, new)))
    }

    fn of(folder: PathBuf, header: Header, aside: Option<(TracePath, TempDir)>) -> Result<Self, TraceError> {
        let identity =
            identity(&folder).map_err(|source| TraceError::Read { path: folder.clone(), source })?;
        Ok(Self {
            folder,
            identity,
            header,
            buffer: Vec::new(),
            stored: 0,
            segments: 0,
            segments_rows: 0,
            segment_rows: SEGMENT_ROWS,
            aside,
        })
    }

    /// Makes segments of `rows` switches, at least one, instead of [`SEGMENT_ROWS`].
    #[must_use]
    pub fn with_segment_rows(self, rows: usize) -> Self {
        Self { segment_rows: rows.max(1), ..self }
    }

    /// The directory, as an absolute path where that could be found out.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes switches and writes every segment that they fill.
    ///
    /// # Errors
    /// When a full segment cannot be written. All rows are kept for the next attempt nevertheless: a recorder then either frees
    /// space and goes on, or ends with [`abandon_unwritten`](Self::abandon_unwritten) and [`finish`](Self::finish).
    pub fn append_switches(&mut self, rows: &[SwitchRow]) -> Result<(), TraceError> {
        self.buffer.extend_from_slice(rows);
        if self.buffer.len() < self.segment_rows {
            return Ok(());
        }
        while self.buffer.len() >= self.segment_rows {
            self.write_segment()?;
        }
        self.write_header(false)
    }

    /// Brings the directory up to date with all switches taken so far. To be called every few seconds.
    ///
    /// # Errors
    /// When something cannot be written; the rows are kept for the next attempt.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        while self.buffer.len() > self.stored {
            self.write_segment()?;
        }
        self.write_header(false)
    }

    /// Writes the header, with the tables as they are on the disk; `schema` and `tables` of `header` are ignored.
    ///
    /// # Errors
    /// When it cannot be written; the older header is then still there.
    pub fn save(&mut self, header: &Header) -> Result<(), TraceError> {
        self.take(header);
        self.write_header(false)
    }

    /// Writes what is left and the header, and waits until all of it is on the disk.
    ///
    /// # Errors
    /// The first failure. What could be written was written, and the header does not claim more.
    pub fn finish(mut self, header: &Header) -> Result<(), TraceError> {
        let mut rest = Ok(());
        while rest.is_ok() && self.buffer.len() > self.stored {
            rest = self.write_segment();
        }
        let tables = &self.header.tables;
        for file in tables.iter().flat_map(|table| &table.files) {
            rest = rest.and(files::sync(self.folder.join(file)));
        }
        self.take(header);
        let header = self.write_header(true).and_then(|()| files::sync(self.folder.clone()));
        rest.and(header)?;
        self.aside.take().map_or(Ok(()), |(place, new)| place.take(new).map(drop))
    }

    /// As [`finish`](Self::finish), for a Trace with a figure that cannot be true. What [`create_aside`](Self::create_aside) began goes to
    /// a free name next to its place, `NAME-refused.swtch`. So a Trace at its place stays. Says where the Trace is.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_refused(mut self, header: &Header) -> Result<PathBuf, TraceError> {
        let folder = match &mut self.aside {
            Some((place, _)) => place.elsewhere("refused")?,
            None => self.folder.clone(),
        };
        self.finish(header).map(|()| folder)
    }

    /// Drops the switches that could not be written, and says how many they were: they belong into
    /// [`Header::lost`](crate::Header::lost).
    pub fn abandon_unwritten(&mut self) -> u64 {
        let lost = self.buffer.len() - self.stored;
        self.buffer.truncate(self.stored);
        self.close_segment(self.stored);
        lost as u64
    }

    /// Writes the segment that is being filled. It is closed when it is full, or large enough to be read efficiently. A smaller
    /// one stays open, so a quiet machine's flushes do not leave a thousand small files.
    fn write_segment(&mut self) -> Result<(), TraceError> {
        let rows = self.buffer.len().min(self.segment_rows);
        // The stable sort of what is nearly sorted costs next to nothing; CPUs' events arrive a little out of order.
        self.buffer[..rows].sort_by_key(|row| row.at_ns);
        let name = table_file(SwitchRow::TABLE, Some(self.segments + 1));
        self.write_table(&name, &self.buffer[..rows])?;
        self.stored = rows;
        let mut names: Vec<String> = match self.header.tables.iter_mut().find(|t| t.name == SwitchRow::TABLE)
        {
            Some(table) => std::mem::take(&mut table.files),
            None => Vec::new(),
        };
        if names.last() != Some(&name) {
            names.push(name);
        }
        self.note(SwitchRow::TABLE, self.segments_rows + rows as u64, names);
        if rows >= GROUP_ROWS.min(self.segment_rows) {
            self.close_segment(rows);
        }
        Ok(())
    }

    fn close_segment(&mut self, rows: usize) {
        if rows > 0 {
            self.buffer.drain(..rows);
            self.segments += 1;
            self.segments_rows += rows as u64;
        }
        self.stored = 0;
    }

    fn note(&mut self, name: &str, rows: u64, files: Vec<String>) {
        let table = Table { name: name.to_owned(), rows, files };
        match self.header.tables.iter_mut().find(|table| table.name == name) {
            Some(older) => *older = table,
            None => self.header.tables.push(table),
        }
    }

    fn take(&mut self, header: &Header) {
        let tables = std::mem::take(&mut self.header.tables);
        self.header = Header { schema: SCHEMA.to_owned(), tables, ..header.clone() };
    }

    fn write_table<R: Columns>(&self, name: &str, rows: &[R]) -> Result<(), TraceError> {
        self.check_identity()?;
        files::replace(&self.folder, name, false, |sink| encode(rows, sink))
    }

    fn write_header(&self, durable: bool) -> Result<(), TraceError> {
        self.check_identity()?;
        files::replace(&self.folder, HEADER, durable, |sink| files::write_header(&self.header, sink))
    }

    /// Another recorder may have replaced the directory by its own: its Trace must not get our rows.
    fn check_identity(&self) -> Result<(), TraceError> {
        if identity(&self.folder).ok() == Some(self.identity) {
            return Ok(());
        }
        Err(TraceError::Replaced { path: self.folder.clone() })
    }
}

impl TableSink for Writer {
    fn put<R: Row>(&mut self, rows: &[R]) -> Result<(), TraceError> {
        let name = table_file(R::TABLE, None);
        self.write_table(&name, rows)?;
        self.note(R::TABLE, rows.len() as u64, vec![name]);
        Ok(())
    }
}

/// Where a new Trace goes, so that none that is there is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Where it is written.
    pub folder: PathBuf,
    /// The older Trace that it replaces when it is whole.
    pub replaces: Option<PathBuf>,
}

impl Destination {
    /// Of a Trace whose name was not asked for: the first free one of `NAME.swtch`, `NAME-2.swtch` and so on.
    ///
    /// # Errors
    /// When it cannot be found out what is there.
    pub fn free(folder: &Path) -> Result<Self, TraceError> {
        let free = claim::free(folder);
        let folder = free.map_err(|source| TraceError::Create { path: folder.to_owned(), source })?;
        Ok(Self { folder, replaces: None })
    }

    /// Of a Trace whose name was asked for. One that is there is replaced only with `force`, and when the new one is whole: until
    /// [`take`](Self::take) that is written next to it.
    ///
    /// # Errors
    /// [`Occupied`](TraceError::Occupied) when something is there that may not be replaced.
    pub fn named(folder: &Path, force: bool) -> Result<Self, TraceError> {
        let fail = |source| TraceError::Create { path: folder.to_owned(), source };
        if claim::is_free(folder).map_err(fail)? {
            return Ok(Self { folder: folder.to_owned(), replaces: None });
        }
        claim::check_replaceable(folder)?;
        if !force {
            let why = "a Trace is there, which --force replaces".to_owned();
            return Err(TraceError::Occupied { path: folder.to_owned(), why });
        }
        Ok(Self { replaces: Some(folder.to_owned()), ..Self::free(folder)? })
    }

    /// The file for the spans of a recorded command. An older one of this name is removed: its spans are not of this recording.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn spans(&self) -> Result<PathBuf, TraceError> {
        let path = beside(&self.folder);
        let fail = |source| TraceError::Write { path: path.clone(), source };
        let whole = std::path::absolute(&path).map_err(fail)?;
        gone(fs::remove_file(&whole)).map_err(fail)?;
        Ok(whole)
    }

    /// Puts a Trace that has ended in the place of the one that it replaces; of one that was cut short, both stay. Says where it is.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn settle(self, ended: Ended) -> Result<PathBuf, TraceError> {
        let cut_short = matches!(ended, Ended::DiskFull | Ended::Failed);
        let folder = if cut_short { self.folder } else { self.take()? };
        Ok(fs::canonicalize(&folder).unwrap_or(folder))
    }

    /// Puts the Trace that is whole now in its place, and its spans beside it. Says where it is.
    ///
    /// # Errors
    /// When the older one cannot be replaced; both are then still there.
    pub fn take(self) -> Result<PathBuf, TraceError> {
        let Some(old) = self.replaces else { return Ok(self.folder) };
        claim::replace(&self.folder, &old)?;
        let (new, place) = (beside(&self.folder), beside(&old));
        let fail = |source| TraceError::Write { path: place.clone(), source };
        gone(fs::remove_file(&place)).map_err(fail)?;
        gone(fs::rename(&new, &place)).map_err(fail)?;
        Ok(old)
    }
}

/// A file that does not exist needs no change.
fn gone(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// The header of a Trace that has no table yet.
fn beginning(header: &Header) -> Header {
    Header { schema: SCHEMA.to_owned(), tables: Vec::new(), ..header.clone() }
}

fn identity(folder: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(folder)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests;
