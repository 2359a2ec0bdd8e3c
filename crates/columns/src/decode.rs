//! Reads rows from a Parquet file that may be damaged: everything is checked before it is believed.
//!
//! The file's own schema is skipped and ours is used. Ranges, counts and encodings are checked, so that no count takes more
//! memory than a row group may. The parquet crate still panics on some nonsense; that is caught and reported as damage.

use super::encode::schema;
use super::{About, Column, Columns, GROUP_ROWS, SIGNATURE_KEY, signature};
use parquet::basic::{Compression, Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a table could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; check the path", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is damaged, or holds another table.
    #[error("{} is damaged: {why}; write it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        why: String,
    },
}

/// A table's file, read a row group at a time.
pub struct TableFile<R> {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    next_group: usize,
    /// Those of this version, or of the earlier one that wrote the file.
    columns: Vec<Box<dyn Column<R>>>,
}

impl<R: Columns> TableFile<R> {
    /// Opens the file and checks what its footer says.
    ///
    /// # Errors
    /// When it cannot be read, or is not a file of this table.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let fail = |source| TableError::Read { path: path.to_owned(), source };
        // Asked before opening: opening a named pipe would wait for a writer.
        if !std::fs::metadata(path).map_err(fail)?.is_file() {
            return Err(fail(io::Error::other("it is not a file")));
        }
        let file = File::open(path).map_err(fail)?;
        let length = file.metadata().map_err(fail)?.len();
        let (reader, columns) = guarded(path, || {
            let mut failure = None;
            for columns in std::iter::once(R::columns()).chain(R::earlier()) {
                let about: Vec<&About> = columns.iter().map(|column| column.about()).collect();
                // A file of an earlier version may have fewer columns; the first error is that of this version.
                let reader = match reader(&file, R::TABLE, &about) {
                    Ok(reader) => reader,
                    Err(error) => {
                        failure.get_or_insert(error);
                        continue;
                    }
                };
                let signed = pair(&reader, SIGNATURE_KEY);
                if R::FORMATS.iter().any(|format| signed == Some(&signature(format, &columns))) {
                    check_footer(&reader, length)?;
                    return Ok((reader, columns));
                }
            }
            failure.map_or_else(
                || damage(format!("it does not have the columns of '{}' in this version", R::TABLE)),
                Err,
            )
        })?;
        Ok(Self { path: path.to_owned(), reader, next_group: 0, columns })
    }

    /// The rows of the next row group; `None` after the last.
    ///
    /// # Errors
    /// When they are damaged.
    pub fn next_group(&mut self) -> Result<Option<Vec<R>>, TableError> {
        let index = self.next_group;
        if index >= groups(&self.reader) {
            return Ok(None);
        }
        self.next_group += 1;
        guarded(&self.path, || read_group(&self.reader, index, &self.columns)).map(Some)
    }

    /// All rows that are left.
    ///
    /// # Errors
    /// When they are damaged.
    pub fn rows(mut self) -> Result<Vec<R>, TableError> {
        let mut rows = Vec::new();
        while let Some(more) = self.next_group()? {
            rows.extend(more);
        }
        Ok(rows)
    }
}

/// Runs `read`; what it finds wrong, by error or by panic, becomes damage of the file.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, TableError> {
    let why = match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "its contents cannot be decoded".to_owned(),
    };
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(TableError::Damaged { path: path.to_owned(), why })
}

fn damage<T>(why: impl Into<String>) -> Result<T, ParquetError> {
    Err(ParquetError::General(why.into()))
}

/// A text in the file.
fn pair<'a>(reader: &'a SerializedFileReader<File>, key: &str) -> Option<&'a String> {
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    pairs?.iter().find(|pair| pair.key == key)?.value.as_ref()
}

/// The text under `key` in any Parquet file; see [`Layout::note`](crate::Layout). Absent where the file has none, or is not Parquet.
pub fn note(file: File, key: &str) -> Option<String> {
    pair(&SerializedFileReader::new(file).ok()?, key).cloned()
}

fn check_footer(reader: &SerializedFileReader<File>, length: u64) -> Result<(), ParquetError> {
    let file = reader.metadata().file_metadata();
    let mut sum: i64 = 0;
    for group in reader.metadata().row_groups() {
        let rows = group.num_rows();
        if !(1..=GROUP_ROWS as i64).contains(&rows) {
            return damage(format!("a row group claims {rows} rows"));
        }
        sum += rows;
        for chunk in group.columns() {
            check_chunk(chunk, rows, length)?;
        }
    }
    if sum != file.num_rows() {
        return damage(format!("it claims {} rows and has {sum}", file.num_rows()));
    }
    Ok(())
}

fn check_chunk(chunk: &ColumnChunkMetaData, rows: i64, length: u64) -> Result<(), ParquetError> {
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    let end = u64::try_from(start)
        .ok()
        .zip(u64::try_from(chunk.compressed_size()).ok())
        .and_then(|(start, size)| start.checked_add(size));
    if end.is_none_or(|end| end > length) {
        return damage("a column lies outside the file");
    }
    if chunk.num_values() != rows || chunk.compression() != Compression::UNCOMPRESSED {
        return damage("a column's description is wrong");
    }
    Ok(())
}

/// A reader that believes our schema instead of the file's.
fn reader(file: &File, table: &str, columns: &[&About]) -> Result<SerializedFileReader<File>, ParquetError> {
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema(table, columns, false)?)));
    let options = ReadOptionsBuilder::new().with_parquet_schema(schema).build();
    SerializedFileReader::new_with_options(file.try_clone()?, options)
}

fn groups(reader: &SerializedFileReader<File>) -> usize {
    reader.num_row_groups()
}

fn read_group<R: Columns>(
    reader: &SerializedFileReader<File>,
    index: usize,
    columns: &[Box<dyn Column<R>>],
) -> Result<Vec<R>, ParquetError> {
    let mut rows = Vec::new();
    let about: Vec<&About> = columns.iter().map(|column| column.about()).collect();
    each_column(reader, index, &about, &mut |column, description, pages, count| {
        columns[column].read(description, pages, count, &mut rows)
    })?;
    Ok(rows)
}

/// Gets a column's index, description, pages and the number of its rows.
type ReadColumn<'r> =
    dyn FnMut(usize, ColumnDescPtr, Box<dyn PageReader>, usize) -> Result<(), ParquetError> + 'r;

/// Hands each column of a row group to `read`.
fn each_column(
    reader: &SerializedFileReader<File>,
    index: usize,
    columns: &[&About],
    read: &mut ReadColumn<'_>,
) -> Result<(), ParquetError> {
    let group = reader.get_row_group(index)?;
    let count = group.metadata().num_rows() as usize;
    for (index, about) in columns.iter().enumerate() {
        let pages = CheckedPages {
            pages: group.get_column_page_reader(index)?,
            physical: about.physical,
            values_left: count,
            has_dictionary: false,
        };
        let description = group.metadata().schema_descr().column(index);
        read(index, description, Box::new(pages), count)?;
    }
    Ok(())
}

/// Hands on the pages of a column, after a look at what they claim.
struct CheckedPages {
    pages: Box<dyn PageReader>,
    physical: PhysicalType,
    /// Values that the row group still lacks.
    values_left: usize,
    has_dictionary: bool,
}

impl CheckedPages {
    fn check(&mut self, page: &Page) -> Result<(), ParquetError> {
        match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                let smallest_bytes = match self.physical {
                    PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
                    // A text has its length before it.
                    PhysicalType::INT32 | PhysicalType::BYTE_ARRAY => 4,
                    _ => return damage("a dictionary where none can be"),
                };
                if (*num_values as usize).saturating_mul(smallest_bytes) > buf.len() {
                    return damage("a dictionary claims more values than it has");
                }
                self.has_dictionary = true;
            }
            Page::DataPage { num_values, encoding, def_level_encoding, .. } => {
                let Some(left) = self.values_left.checked_sub(*num_values as usize) else {
                    return damage("a page claims more values than there are rows");
                };
                self.values_left = left;
                if !self.may_have(*encoding) || *def_level_encoding != Encoding::RLE {
                    return damage(format!("a page has the unexpected encoding {encoding}"));
                }
            }
            Page::DataPageV2 { .. } => return damage("a page of a kind that no table has"),
        }
        Ok(())
    }

    fn may_have(&self, encoding: Encoding) -> bool {
        match encoding {
            Encoding::PLAIN => true,
            Encoding::RLE => self.physical == PhysicalType::BOOLEAN,
            Encoding::DELTA_BINARY_PACKED => {
                matches!(self.physical, PhysicalType::INT32 | PhysicalType::INT64)
            }
            Encoding::RLE_DICTIONARY => self.has_dictionary,
            _ => false,
        }
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }
}
